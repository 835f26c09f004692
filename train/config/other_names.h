// The names that nanoGPT, llm.c and Hugging Face use for configuration keys of tapeformer.
#pragma once

#include <string_view>

namespace tapeformer {

// Returns the key "section.key" that these programs call `name` ("n_layer", "max_iters", "num_hidden_layers"); _ and -
// are equal in names. Returns "" for any other name.
std::string_view key_of_other_name(std::string_view name);

}  // namespace tapeformer
