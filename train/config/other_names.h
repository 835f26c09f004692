// Names that other programs have for what our configuration keys mean.
#pragma once

#include <string_view>

namespace tapeformer {

// The key "section.key" that means what nanoGPT, llm.c or Hugging Face's Trainer call `name` ("n_layer", "max_iters",
// "num_hidden_layers"), with _ or - between its words; an empty text for any other name.
std::string_view key_of_other_name(std::string_view name);

}  // namespace tapeformer
