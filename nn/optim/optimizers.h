// The table of all optimizers, by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nn/optim/optimizer.h"

namespace tapeformer {

// The numbers of all optimizers beside the learning rate. Each optimizer reads those that its row names, and `clip`.
struct OptimizerOptions {
  double beta1 = 0.9, beta2 = 0.98, eps = 1e-9;
  double weight_decay = 0;  // of matrices only
  double momentum = 0.9;
  bool nesterov = false;
  double clip = 0;  // the largest global norm of the gradients; 0: no clipping
};

// All that the program knows of one optimizer.
struct OptimizerRow {
  std::string name;
  std::string help;                  // one line
  std::vector<std::string> options;  // the members of OptimizerOptions that it reads, beside clip
  OptimizerOptions defaults;
  // How many state slabs, each of the size of the parameters, it keeps.
  int (*state_slabs)(const OptimizerOptions&);
  // Keeps a reference to the slab. Throws UsageError when the options contradict each other.
  std::unique_ptr<Optimizer> (*make)(const ParameterSlab&, const OptimizerOptions&);
};

// Adds an optimizer to the table; call it before any thread reads the table. Throws Error when the name is taken.
void register_optimizer(OptimizerRow row);

// The names in the order of the table: adamw, adam, sgd, then those registered.
std::vector<std::string> optimizer_names();
// The names of the optimizers that read an option, e.g. "adamw, adam" for beta1.
std::string optimizers_with_option(std::string_view option);
// Null where there is none of that name.
const OptimizerRow* find_optimizer_row(std::string_view name);

// Throws Error, telling the known names, for an unknown one.
std::unique_ptr<Optimizer> make_optimizer(std::string_view name, const ParameterSlab& slab,
                                          const OptimizerOptions& options);

}  // namespace tapeformer
