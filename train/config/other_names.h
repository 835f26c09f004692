// The names that nanoGPT, llm.c and Hugging Face use for configuration keys of tapeformer, and former names of keys.
#pragma once

#include <string_view>

namespace tapeformer {

// Returns the key "section.key" that these programs call `name` ("n_layer", "max_iters", "num_hidden_layers"); _ and -
// are equal in names. Returns "" for any other name.
std::string_view key_of_other_name(std::string_view name);

// A key that older versions called `former`. Both names work in files and on the command line; files are written with
// the new one.
struct RenamedKey {
  std::string_view former, name;
};
inline constexpr RenamedKey kRenamedKeys[] = {{"train.mask_rate", "train.mlm_probability"}};

}  // namespace tapeformer
