// The initial weights of a new run, taken from another run or a file (train.init_from).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nn/module/module.h"
#include "train/config/config.h"
#include "train/run/run_folder.h"

namespace tapeformer {

// Returns the run whose weights train.init_from names (by its folder, a checkpoint in it, or a file of weights in it);
// nullopt for a file outside any run. Throws Error if there is no such run.
std::optional<RunFolder> initial_run(const std::string& init_from);

// Sets keys of the model that the configuration does not give. If train.init_from names a run, the new run gets that
// run's family and the keys of its shape; otherwise, for parallel text without a task.kind, it gets an encoder-decoder.
// Data that only one task reads (TaskRow::implied_by) implies task.kind. A generated corpus counts as the kind of data
// that it has. Returns a line about each change. Throws Error if there is no such run, and UsageError for a corpus of
// images, which models of several kinds read, without model.type.
std::vector<std::string> imply_model(Config& config);

// Makes the new run use the tokenizers of initial_run(), unless the configuration names a tokenizer file: weights fit
// only the tokens that they were trained on. Returns whether it did. Throws Error if there is no such run.
bool use_initial_tokenizers(Config& config);

// Reads the weights that train.init_from names into the model: from a *.safetensors file, or from the folder of a run
// or of a checkpoint. Returns warnings for the user: a line for each tokenizer, and each key of the section [model],
// that differs from the run's although the weights fit; or a line saying that this cannot be checked, for a file
// outside any run. Throws Error if a name or a shape does not fit.
std::vector<std::string> load_initial_weights(const ResolvedConfig& config, const Module& model);

}  // namespace tapeformer
