// A model with a classifier of its vectors, for fine-tuning.
#pragma once

#include <memory>
#include <span>

#include "nn/interfaces/model.h"
#include "nn/layers/layers.h"
#include "nn/layers/scalar_mix.h"
#include "nn/optim/parameter_slab.h"

namespace tapeformer {

struct ClassificationOptions {
  std::int64_t labels = 0;
  bool pooled = false;  // classify whole rows: v goes through BERT's pooler, tanh(v Wᵀ + b), first
  bool mix = false;     // v is a learned mixture of all layers (ScalarMix; UsageError if their widths differ), else the
                        // last layer
  double dropout = 0;   // on v, and on the pooler's output
  bool freeze = false;  // the encoder is not trained: it has no gradient and no dropout
};

// P(label | token) = softmax(W v + b), where v is the vector of a token (Devlin et al. 2019, section 4). In
// named_parameters() the encoder's come first and keep their names; the names of the classifier's begin with "task.".
class EncoderForClassification : public Module {
 public:
  // Classifiers of several tasks may share an encoder.
  EncoderForClassification(std::shared_ptr<Model> encoder, const ClassificationOptions& options);

  const Model& encoder() const { return *encoder_; }
  // The parameters that are not the encoder's.
  Module& classifier() const { return *classifier_; }
  std::int64_t labels() const { return options_.labels; }

  // Returns logits (N, labels) for the tokens at `positions`, i32 (N), each of which is row·T + the token's position.
  Variable logits(const Batch& batch, const Tensor& positions) const;

  // Layer-wise rates (Howard & Ruder 2018; Clark et al. 2020): 1 for the classifier and the encoder's parameters after
  // the layers, decay^(L − l) for layer l = 1 … L, and decay^L for the parameters before the layers. The layer is the
  // first number in a parameter's name. The rate is 0 for a frozen encoder, and for parameters on which the vectors of
  // tokens do not depend, such as the head that predicts tokens: they get no gradient.
  ParameterRates rates(double decay) const;

 private:
  Variable vectors(const Batch& batch) const;

  struct Classifier : Module {
    Classifier(const ClassificationOptions& options, std::span<const Tensor> layers);

    std::unique_ptr<ScalarMix> mix;
    std::unique_ptr<Linear> pooler;
    std::unique_ptr<Linear> output;
  };

  const std::shared_ptr<Model> encoder_;
  const ClassificationOptions options_;
  std::vector<Variable> read_;  // the encoder's parameters on which the vectors of tokens depend
  std::unique_ptr<Classifier> classifier_;
  Dropout dropout_;
};

// The rates of EncoderForClassification::rates() for an encoder whose vectors are trained without a classifier.
ParameterRates encoder_rates(const Model& encoder, double decay);

}  // namespace tapeformer
