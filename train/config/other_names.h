// Names that other programs use for our configuration keys.
#pragma once

#include <string_view>

namespace tapeformer {

// The key "section.key" that nanoGPT, llm.c or Hugging Face's Trainer call `name` ("n_layer", "max_iters",
// "num_hidden_layers"); _ and - are equal in names. Empty for any other name.
std::string_view key_of_other_name(std::string_view name);

}  // namespace tapeformer
