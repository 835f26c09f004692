#include "train/tasks/task.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/lines.h"
#include "data/text/byte_reader.h"

namespace tapeformer {

const std::vector<Task>& tasks() {
  static const std::vector<Task> table{tag_task(), classify_task()};
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

}  // namespace tapeformer
