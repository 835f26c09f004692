#include "tasks/labels/label_task.h"

#include <algorithm>

#include "core/error.h"

namespace tapeformer {

const LabelTask& find_label_task(std::string_view name) {
  const auto found = std::ranges::find(label_tasks(), name, &LabelTask::name);
  check(found != label_tasks().end(), "no task is called ", name);
  return *found;
}

std::string header_note(const std::string& file, std::string_view header) {
  return str_cat(file, ":1: \"", header, "\" names the columns, and is no example");
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
