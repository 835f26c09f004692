// The token embeddings of an encoder-decoder.
#pragma once

#include "nn/layers/layers.h"
#include "nn/models/transformer_keys.h"

namespace tapeformer {

struct PairEmbeddingsConfig {
  std::int64_t source_vocab = 0, target_vocab = 0, dim = 0;
  TiedEmbeddings tied = TiedEmbeddings::all;
  Init source_init, target_init;  // target_init is not used if both embeddings are tied
  DType dtype = DType::f32;
};

// The parameters source_embedding.weight (source_vocab, dim) and target_embedding.weight (target_vocab, dim), which are
// the same parameter if all embeddings are tied.
class PairEmbeddings : public Module {
 public:
  // Throws UsageError if both are tied but the vocabularies differ in size.
  explicit PairEmbeddings(const PairEmbeddingsConfig& config);

  Embedding source, target;
};

}  // namespace tapeformer
