#include "tasks/common/task_rows.h"

#include <algorithm>

#include "core/error.h"
#include "tasks/labels/label_task_row.h"

namespace tapeformer {
namespace {

std::vector<TaskRow>& table() {
  static std::vector<TaskRow> rows = [] {
    std::vector<TaskRow> all{language_model_task(),
                             translation_task(),
                             masked_language_model_task(),
                             bidirectional_language_model_task(),
                             skip_gram_task(),
                             glove_task(),
                             captioning_task(),
                             sentences_task()};
    for (const LabelTask& task : label_tasks()) all.push_back(label_task_row(task));
    all.push_back(instructions_task());
    all.push_back(multi_task());
    return all;
  }();
  return rows;
}

}  // namespace

const std::vector<LabelTask>& label_tasks() {
  static const std::vector<LabelTask> all{tag_task(), classify_task(), span_task()};
  return all;
}

const std::vector<TaskRow>& task_rows() { return table(); }

void register_task(TaskRow row) {
  check(std::ranges::count(table(), row.name, &TaskRow::name) == 0, "a task called ", row.name, " is there already");
  table().push_back(std::move(row));
}

const TaskRow& find_task_row(std::string_view name) {
  const auto found = std::ranges::find(table(), name, &TaskRow::name);
  check(found != table().end(), "no task is called ", name);
  return *found;
}

}  // namespace tapeformer
