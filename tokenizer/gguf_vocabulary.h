// The vocabulary in the metadata of a GGUF file, the keys tokenizer.ggml.*, and the tokenizers that it describes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace tapeformer {

struct GgufVocabulary {
  // What a token is. `user_defined` ones are found in every text, `control` ones are special.
  enum Type : std::int64_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

  std::string model;     // "gpt2": byte-level BPE; "llama": BPE over characters, whose merges follow from scores
  std::string pre = {};  // how "gpt2" splits text: "gpt-2", "llama-bpe", "qwen2", "smollm"
  std::vector<std::string> tokens = {};  // as tokenizer.json writes them
  std::vector<std::int64_t> types = {};  // one for each token; empty: all normal
  std::vector<float> scores = {};        // of "llama": one for each token
  std::vector<std::string> merges = {};  // of "gpt2": "a b"
  std::optional<std::int64_t> bos = {}, eos = {}, unknown_id = {};
  std::optional<std::int64_t> eot = {};   // ends an answer, where that is another token than eos; it is written only
  bool add_bos = false, add_eos = false;  // whether they stand around a text
  bool add_space_prefix = true;           // of "llama"
};

// Throws Error that begins with `origin` for what is not supported.
std::unique_ptr<Tokenizer> tokenizer_of(const GgufVocabulary& vocabulary, const std::string& origin);

// The vocabulary of a tokenizer; `warnings` gets a sentence for each text to which llama.cpp, or tokenizer_of(),
// gives other ids. Throws Error for a tokenizer that has no place in GGUF.
GgufVocabulary gguf_vocabulary(const Tokenizer& tokenizer, std::vector<std::string>& warnings);

}  // namespace tapeformer
