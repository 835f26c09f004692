// The result of an evaluation.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "train/distributed/communicator.h"

namespace tapeformer {

// The score of a text. The loss here never has label smoothing, and each scored token counts once.
struct Evaluation {
  std::int64_t tokens = 0;  // scored tokens
  // Σ −ln P(token | the tokens before it in its window or stream; with data.within_document, only those in its
  // document)
  double nats = 0;
  // One way of predicting, for a model that predicts each token in several ways. `nats` above is then the mean of all
  // parts.
  struct Part {
    std::string name;
    double nats;
  };
  std::vector<Part> parts = {};
  // Further metrics by name, such as "accuracy", the share of masked tokens that a masked language model predicts.
  std::vector<std::pair<std::string, double>> measures = {};
  // The metric in `measures` that chooses the best checkpoint (larger is better); empty: the loss chooses (smaller is
  // better).
  std::string metric = {};

  double loss() const { return nats / static_cast<double>(tokens); }  // nats per token
  // Returns one of the parts as an evaluation of its own.
  Evaluation part(const Part& part) const { return {.tokens = tokens, .nats = part.nats}; }
  double perplexity() const;  // exp(loss)
  // Returns the number that is smallest for the best checkpoint: the loss, or 1 − the metric.
  double cost() const;
  double bits_per_byte(std::int64_t bytes) const;  // nats/(ln 2 · bytes)
};

// Sums tokens, nats and parts over the ranks.
void add_over_ranks(Evaluation& evaluation, Communicator& ranks);

// Throws Error if the loss is not finite.
void require_finite(const Evaluation& evaluation);

}  // namespace tapeformer
