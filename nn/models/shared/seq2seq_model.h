// The base class of encoder-decoders that translate text: the token embeddings of both sides, and the head.
#pragma once

#include "nn/interfaces/encoder_decoder.h"
#include "nn/layers/layers.h"
#include "nn/layers/lm_head.h"
#include "nn/models/shared/tied_embeddings.h"

namespace tapeformer {

struct Seq2SeqEmbeddingsConfig {
  std::int64_t source_vocab = 0, target_vocab = 0, dim = 0;
  TiedEmbeddings tied = TiedEmbeddings::all;
  Init source_init, target_init;  // target_init is not used if both embeddings are tied
  DType dtype = DType::f32;
};

// The parameters source_embedding.weight (source_vocab, dim) and target_embedding.weight (target_vocab, dim), which are
// the same parameter if all embeddings are tied.
class Seq2SeqEmbeddings : public Module {
 public:
  // Throws UsageError if both are tied but the vocabularies differ in size.
  explicit Seq2SeqEmbeddings(const Seq2SeqEmbeddingsConfig& config);

  Embedding source, target;
};

// The head that predicts target tokens. Seq2SeqEmbeddingsConfig::tied says whether its weight is that of an embedding.
struct Seq2SeqHeadConfig {
  bool with_bias = false;
  Init init;           // of the weight; not used where it is tied
  double softcap = 0;  // the bound of the logits; 0: none
};

// An encoder-decoder with an embedding for each language and one head. A subclass registers both, in its own order.
class Seq2SeqModel : public EncoderDecoder {
 public:
  std::int64_t vocab() const override { return embeddings_.source.weight.size(0); }
  std::int64_t target_vocab() const override { return embeddings_.target.weight.size(0); }
  const Embedding* token_embedding() const override { return &embeddings_.source; }
  Variable logits(const Variable& features) const override { return head_.logits(features); }

 protected:
  // Throws UsageError as Seq2SeqEmbeddings does.
  Seq2SeqModel(const Seq2SeqEmbeddingsConfig& embeddings, const Seq2SeqHeadConfig& head);

  Seq2SeqEmbeddings embeddings_;
  LMHead head_;
};

}  // namespace tapeformer
