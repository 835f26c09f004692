#include "nn/optim/optimizers.h"

#include <algorithm>
#include <deque>

#include "nn/optim/optimizer_rows.h"

namespace tapeformer {
namespace {

// A deque, so that rows stay where they are when others are added.
std::deque<OptimizerRow>& table() {
  static std::deque<OptimizerRow> rows{adamw_row(), adam_row(), sgd_row()};
  return rows;
}

// The names of the rows that `wanted` accepts: "adamw, adam".
template <class Wanted>
std::string joined_names(const Wanted& wanted) {
  std::string names;
  for (const OptimizerRow& row : table()) {
    if (wanted(row)) names += (names.empty() ? "" : ", ") + row.name;
  }
  return names;
}

}  // namespace

void register_optimizer(OptimizerRow row) {
  check(find_optimizer_row(row.name) == nullptr, "register_optimizer: there is an optimizer ", row.name, " already");
  table().push_back(std::move(row));
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const OptimizerRow& row : table()) names.push_back(row.name);
  return names;
}

std::string optimizers_with_option(std::string_view option) {
  return joined_names([&](const OptimizerRow& row) { return std::ranges::count(row.options, option) > 0; });
}

const OptimizerRow* find_optimizer_row(std::string_view name) {
  const auto row = std::ranges::find(table(), name, &OptimizerRow::name);
  return row == table().end() ? nullptr : &*row;
}

std::unique_ptr<Optimizer> make_optimizer(std::string_view name, const ParameterSlab& slab,
                                          const OptimizerOptions& options) {
  const OptimizerRow* row = find_optimizer_row(name);
  check(row != nullptr, "make_optimizer: expected one of ", joined_names([](const auto&) { return true; }), ", got ",
        name);
  return row->make(slab, options);
}

}  // namespace tapeformer
