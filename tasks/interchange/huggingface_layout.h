// The architectures of Hugging Face that are read and written: translates config.json to keys of [model], and back.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "nn/formats/huggingface.h"
#include "train/config/config.h"

namespace tapeformer {

struct HuggingFaceLayout {
  using Json = nlohmann::ordered_json;
  using Options = std::map<std::string, std::string>;  // keys of [model] as one writes them on the command line

  // A number of config.json that is a key of [model]. `missing`: the value where config.json has none. `other`: a
  // second name of the key in config.json, which comes first where both are given; "" for none.
  struct Number {
    std::string theirs, ours;
    Json missing;
    std::string other = {};
  };

  std::string model_type, class_name, text, family;
  const HuggingFaceNames& (*names)();
  std::vector<Number> numbers;
  std::vector<std::pair<std::string, Json>> fixed;  // keys of config.json of which no other value is supported
  Options options;                                  // the values of [model] that all models of the architecture have
  std::int64_t vocab_size;                          // where config.json has none
  bool tied;                                        // whether tie_word_embeddings is true where config.json has none
  // Whether it is one of Llama's and Qwen's layouts, whose feed-forward layers have gates, and whose positions rotate.
  bool is_gated() const { return options.contains("rotary_pairs"); }
  // Read and write the keys that need more than a row of `numbers` or `fixed`. `read` throws Error for what is not
  // supported, naming key and value.
  void (*read)(const Json& config, Options& options);
  void (*write)(const KeyValues& options, Json& config);
};

// Throws Error for an unknown model_type.
const HuggingFaceLayout& layout_of_type(const std::string& model_type);
// Returns the layout that a model fits, or comes closest to. Throws Error for a family that has none.
const HuggingFaceLayout& layout_for(const ResolvedConfig& config);

// Returns the keys of [model] that config.json describes. Throws Error for a value that is not supported.
HuggingFaceLayout::Options options_of(const HuggingFaceLayout& layout, const HuggingFaceLayout::Json& config);
// Returns the size of the vocabulary that config.json gives.
std::int64_t vocab_of(const HuggingFaceLayout& layout, const HuggingFaceLayout::Json& config);
// Returns config.json of a model. Throws Error, which names the key of [model] in the way, if the model does not fit.
HuggingFaceLayout::Json config_json(const HuggingFaceLayout& layout, const ResolvedConfig& config, std::int64_t vocab);

}  // namespace tapeformer
