// The initial weights of a new run that come from another run or a file (train.init_from).
#pragma once

#include <string>
#include <vector>

#include "nn/module/module.h"
#include "train/config/config.h"

namespace tapeformer {

// Sets the keys of the model that the configuration leaves out: if train.init_from names a run, its family and the keys
// of its shape; otherwise, for parallel text, an encoder-decoder. Returns a line about it; nothing if nothing was left
// out. Throws Error when there is no such run.
std::vector<std::string> imply_model(Config& config);

// If train.init_from names a run, a checkpoint in one or its file of weights, and the configuration names no tokenizer
// file, uses that run's tokenizers, since weights fit only the tokens that they were trained on. Returns whether it
// did. Throws Error when there is no such run.
bool use_initial_tokenizers(Config& config);

// Reads the weights that train.init_from names into the model: from a *.safetensors file, or from a run as
// load_run<TrainedLanguageModel>() takes it. Returns warnings for the user: a line for each tokenizer, and each key of
// the section [model], that differs from the run's although the weights fit; or a line saying that this cannot be
// checked, for a file outside any run. Throws Error when a name or a shape does not fit.
std::vector<std::string> load_initial_weights(const ResolvedConfig& config, const Module& model);

}  // namespace tapeformer
