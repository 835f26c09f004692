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

// What a new value depends on: the gradient and the state of this element only, or of its whole matrix. With `matrix`,
// the slabs of several ranks must not cut a matrix.
enum class OptimizerUnit { element, matrix };

// The description of one optimizer.
struct OptimizerRow {
  std::string name;
  std::string help;  // one line
  // Its own keys of the section [optimizer]. If several optimizers have the same key, it has the same type in all.
  std::vector<Key> keys;
  // Returns how many numbers the optimizer's state has for each element of a parameter of this kind.
  int (*state_slabs)(const KeyValues& options, ParameterKind kind);
  // Makes the optimizer from the result of optimizer_options(). The optimizer keeps a reference to the slab. Throws
  // UsageError if the options contradict each other.
  std::unique_ptr<Optimizer> (*make)(const ParameterSlab&, const KeyValues& options);
  OptimizerUnit unit = OptimizerUnit::element;
};

// Adds an optimizer to the table; call it before any thread reads the table. Throws Error if the name is taken.
void register_optimizer(OptimizerRow row);

// Returns the table: adamw, adam, sgd, muon, then the registered ones. References stay valid.
const std::deque<OptimizerRow>& optimizer_rows();
std::vector<std::string> optimizer_names();
// Returns null if there is no optimizer of that name.
const OptimizerRow* find_optimizer_row(std::string_view name);

// The given options, by key: {{"beta2", 0.99}, {"clip", 1.0}}.
using OptimizerSettings = std::map<std::string, KeyValue, std::less<>>;

// Returns the values of the optimizer's keys and of two common keys: `lr`, the peak learning rate (0.001), to which
// other rates of the optimizer are relative, and `clip`, the largest global norm of the gradients (0: no clipping).
// Keys that are not given have their defaults. Throws UsageError for a key that the optimizer does not have.
KeyValues optimizer_options(const OptimizerRow& row, const OptimizerSettings& given);

// Throws Error, which lists the known names, for an unknown name, and throws as optimizer_options() does.
std::unique_ptr<Optimizer> make_optimizer(std::string_view name, const ParameterSlab& slab,
                                          const OptimizerSettings& given);

}  // namespace tapeformer
