// Help texts about the defaults that model families give to keys outside [model] (TrainingDefaults).
#pragma once

#include <functional>
#include <string>

#include "nn/models/registry.h"

namespace tapeformer {

// Returns which default each family has: "0.003 for gpt, rnn; 0.001 for bert; 0.001 for task.kind".
std::string family_defaults_help(const std::function<KeyValue(const TrainingDefaults&)>& value_of);
// Returns the defaults that families give to a key of optimizers, "0.99 for gpt, rnn"; "" if none gives one.
std::string optimizer_defaults_help(const std::string& key);

}  // namespace tapeformer
