// The table of all optimizers, by name.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/keys.h"
#include "nn/optim/optimizer.h"

namespace tapeformer {

// What an optimizer works on: the new value of an element follows from the gradient and the state of that element, or
// of its whole matrix, which must then be in one piece wherever the optimizer runs.
enum class OptimizerUnit { element, matrix };

// All that the program knows of one optimizer.
struct OptimizerRow {
  std::string name;
  std::string help;  // one line
  // Its own keys of the section [optimizer]. Keys that several optimizers have are of one type.
  std::vector<Key> keys;
  // How many numbers it keeps for each element of a parameter of this kind.
  int (*state_slabs)(const KeyValues& options, ParameterKind kind);
  // The options are optimizer_options(). Keeps a reference to the slab. Throws UsageError when the options contradict
  // each other.
  std::unique_ptr<Optimizer> (*make)(const ParameterSlab&, const KeyValues& options);
  OptimizerUnit unit = OptimizerUnit::element;
};

// Adds an optimizer to the table; call it before any thread reads the table. Throws Error when the name is taken.
void register_optimizer(OptimizerRow row);

// In the order of the table: adamw, adam, sgd, muon, then those registered. References stay valid.
const std::deque<OptimizerRow>& optimizer_rows();
std::vector<std::string> optimizer_names();
// Null where there is none of that name.
const OptimizerRow* find_optimizer_row(std::string_view name);

// The options that are given, by key: {{"beta2", 0.99}, {"clip", 1.0}}.
using OptimizerSettings = std::map<std::string, KeyValue, std::less<>>;

// The values of the optimizer's keys, and of two that all have: `lr`, the peak learning rate (0.001), to which other
// rates of the optimizer are relative, and `clip`, the largest global norm of the gradients (0: no clipping). Those
// that are not given have their defaults. Throws UsageError for a key that the optimizer does not have.
KeyValues optimizer_options(const OptimizerRow& row, const OptimizerSettings& given);

// Throws Error, telling the known names, for an unknown one; and as optimizer_options() does.
std::unique_ptr<Optimizer> make_optimizer(std::string_view name, const ParameterSlab& slab,
                                          const OptimizerSettings& given);

}  // namespace tapeformer
