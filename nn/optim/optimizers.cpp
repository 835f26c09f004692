#include "nn/optim/optimizers.h"

#include <algorithm>

#include "core/text/joined.h"
#include "nn/optim/optimizer_rows.h"

namespace tapeformer {
namespace {

// A deque keeps references to rows valid when others are added.
std::deque<OptimizerRow>& table() {
  static std::deque<OptimizerRow> rows{adamw_row(), adam_row(), sgd_row(), muon_row()};
  return rows;
}

}  // namespace

void register_optimizer(OptimizerRow row) {
  check(find_optimizer_row(row.name) == nullptr, "register_optimizer: there is an optimizer ", row.name, " already");
  table().push_back(std::move(row));
}

const std::deque<OptimizerRow>& optimizer_rows() { return table(); }

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const OptimizerRow& row : table()) names.push_back(row.name);
  return names;
}

const OptimizerRow* find_optimizer_row(std::string_view name) {
  const auto row = std::ranges::find(table(), name, &OptimizerRow::name);
  return row == table().end() ? nullptr : &*row;
}

KeyValues optimizer_options(const OptimizerRow& row, const OptimizerSettings& given) {
  std::vector<Key> keys{{"lr", 1e-3, "peak learning rate"}, {"clip", 0.0, "largest global norm of the gradient"}};
  keys.insert(keys.end(), row.keys.begin(), row.keys.end());
  KeyValues options(keys);
  for (const auto& [name, value] : given) {
    if (!options.has(name)) {
      fail_usage("optimizer.", name, ": ", row.name, " has no such key; its keys are ", joined(keys, ", ", &Key::name));
    }
    options.set(name, value);
  }
  for (const Key& key : row.keys) {
    if (key.stands_for && options.get(key.name) == key.default_value) options.set(key.name, *key.stands_for);
  }
  return options;
}

std::unique_ptr<Optimizer> make_optimizer(std::string_view name, const ParameterSlab& slab,
                                          const OptimizerSettings& given) {
  const OptimizerRow* row = find_optimizer_row(name);
  check(row != nullptr, "make_optimizer: expected one of ", joined(table(), ", ", &OptimizerRow::name), ", got ", name);
  return row->make(slab, optimizer_options(*row, given));
}

}  // namespace tapeformer
