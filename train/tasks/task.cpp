#include "train/tasks/task.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/lines.h"
#include "data/text/byte_reader.h"

namespace tapeformer {

const std::vector<Task>& tasks() {
  static const std::vector<Task> table{tag_task(), classify_task(), span_task()};
  return table;
}

const Task& find_task(std::string_view name) {
  const auto found = std::ranges::find(tasks(), name, &Task::name);
  check(found != tasks().end(), "no task is called ", name);
  return *found;
}

bool has_json_lines(const std::filesystem::path& path) { return uncompressed_name(path).extension() == ".jsonl"; }

void for_each_json_line(const std::filesystem::path& path, std::string_view text,
                        const std::function<void(const nlohmann::json&, const std::string& where)>& visit) {
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    const std::string where = str_cat(path.string(), ":", number, ": ");
    const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    check(object.is_object(), where, "expected a JSON object, got \"", line, '"');
    visit(object, where);
  });
}

std::string string_field(const nlohmann::json& object, const char* field, const std::string& where) {
  const auto found = object.find(field);
  check(found != object.end() && found->is_string(), where, "expected a string in the field \"", field, '"');
  return found->get<std::string>();
}

std::vector<std::string> split_words(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::vector<std::string> words;
  for (std::size_t begin = 0; (begin = line.find_first_not_of(kSpace, begin)) != line.npos;) {
    const std::size_t end = std::min(line.find_first_of(kSpace, begin), line.size());
    words.emplace_back(line.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

}  // namespace tapeformer
