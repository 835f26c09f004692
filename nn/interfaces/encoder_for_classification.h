// A classifier of the vectors of a text encoder: what fine-tuning trains.
#pragma once

#include <memory>

#include "nn/interfaces/text_encoder.h"
#include "nn/layers/layers.h"
#include "nn/layers/scalar_mix.h"
#include "nn/optim/parameter_slab.h"

namespace tapeformer {

struct ClassificationOptions {
  std::int64_t labels = 0;
  bool pooled = false;  // a vector stands for a whole row: it goes through BERT's pooler, tanh(v W + b), first
  bool mix = false;     // v is a learned mixture of all layers (ScalarMix; UsageError if widths differ), else the last
  double dropout = 0;   // on v, and on the pooler's output
  bool freeze = false;  // the encoder is only read: no gradient, no dropout in it
};

// P(label | token) = softmax(W v + b), where v is the vector of a token (Devlin et al. 2019, section 4). The encoder's
// parameters have the names that they have in the encoder, which come first; the classifier's begin with "task.".
class EncoderForClassification : public Module {
 public:
  EncoderForClassification(std::unique_ptr<TextEncoder> encoder, const ClassificationOptions& options);

  const TextEncoder& encoder() const { return *encoder_; }
  std::int64_t labels() const { return options_.labels; }

  // The tokens at `places`, i32 (N), each row·T + its place in the row → logits (N, labels).
  Variable logits(const EncoderBatch& rows, const Tensor& places) const;

  // Layer-wise rates (Howard & Ruder 2018; Clark et al. 2020): 1 for the classifier and what follows the layers,
  // decay^(L − l) for layer l = 1 … L, and decay^L for what comes before the layers. A layer is known by the first
  // number in the name of its parameters. 0 for the encoder where it is frozen, and for what no gradient reaches: what
  // the vectors of tokens do not depend on, such as the head that predicted tokens.
  ParameterRates rates(double decay) const;

 private:
  Variable vectors(const EncoderBatch& rows) const;

  const std::unique_ptr<TextEncoder> encoder_;
  const ClassificationOptions options_;
  std::vector<Variable> read_;  // the encoder's parameters on which the vectors of tokens depend
  std::unique_ptr<ScalarMix> mix_;
  std::unique_ptr<Linear> pooler_;
  std::unique_ptr<Linear> output_;
  Dropout dropout_;
};

}  // namespace tapeformer
