// The weights that a new run begins with (train.init_from): those of another run, or of a file.
#pragma once

#include <string>
#include <vector>

#include "nn/module.h"
#include "train/config/config.h"

namespace tapeformer {

// Where train.init_from names a run, and the configuration no tokenizer file: makes that run's tokenizers those of the
// configuration, since weights mean nothing with other tokens. Returns whether it did. Throws Error when there is no
// such run.
bool use_initial_tokenizers(Config& config);

// Reads the weights that train.init_from names into the model: a *.safetensors file, or a run as load_language_model()
// takes it. Returns what the user should be told: a line for each key of the section [model] that the run was trained
// with and that is another one here although the weights fit. Throws Error when a name or a shape does not fit.
std::vector<std::string> load_initial_weights(const ResolvedConfig& config, const Module& model);

}  // namespace tapeformer
