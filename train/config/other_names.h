// Names that other programs, and older versions of this one, use for our configuration keys.
#pragma once

#include <string_view>

namespace tapeformer {

// The key "section.key" that nanoGPT, llm.c or Hugging Face's Trainer call `name` ("n_layer", "max_iters",
// "num_hidden_layers"); _ and - are equal in names. Empty for any other name.
std::string_view key_of_other_name(std::string_view name);

// A key that older versions called `former`. Both names work in files and on the command line; files are written with
// the new one.
struct RenamedKey {
  std::string_view former, name;
};
inline constexpr RenamedKey kRenamedKeys[] = {{"train.mask_rate", "train.mlm_probability"}};

}  // namespace tapeformer
