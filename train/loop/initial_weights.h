// The weights that a new run begins with (train.init_from): those of another run, or of a file.
#pragma once

#include <string>
#include <vector>

#include "nn/module/module.h"
#include "train/config/config.h"

namespace tapeformer {

// Sets what a configuration leaves out of its model to what train.init_from and the data imply: the family, and the
// keys of its shape, of the run whose weights it begins with; without one, an encoder-decoder for parallel text.
// Returns a line about it; nothing where nothing was left out. Throws Error when there is no such run.
std::vector<std::string> imply_model(Config& config);

// Where train.init_from names a run, a checkpoint in one or its file of weights, and the configuration no tokenizer
// file: makes that run's tokenizers those of the configuration, since weights mean nothing with other tokens. Returns
// whether it did. Throws Error when there is no such run.
bool use_initial_tokenizers(Config& config);

// Reads the weights that train.init_from names into the model: a *.safetensors file, or a run as
// load_run<TrainedLanguageModel>() takes it. Returns what the user should be told: a line for each tokenizer, and each
// key of the section [model], that the run was trained with and that is another one here although the weights fit; that
// nothing is known of this where the file is in no run. Throws Error when a name or a shape does not fit.
std::vector<std::string> load_initial_weights(const ResolvedConfig& config, const Module& model);

}  // namespace tapeformer
