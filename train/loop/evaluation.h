// What an evaluation counts.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "train/distributed/communicator.h"

namespace tapeformer {

// The score of a text. Labels are never smoothed, and each scored token counts once.
struct Evaluation {
  std::int64_t tokens = 0;  // scored tokens
  // Σ −ln P(token | the tokens before it in its window or stream, and in its document where the model keeps to
  // documents)
  double nats = 0;
  // The nats of each way in which the model predicts a token, where it has several; `nats` is then their mean.
  struct Part {
    std::string name;
    double nats;
  };
  std::vector<Part> parts = {};
  // Further numbers by their names, such as the share of the tokens that a masked language model predicts ("accuracy").
  std::vector<std::pair<std::string, double>> measures = {};
  // The measure by which the best checkpoint is chosen, the larger the better; empty: the loss, the smaller the better.
  std::string metric = {};

  double loss() const { return nats / static_cast<double>(tokens); }  // nats per token
  // One of the parts by itself.
  Evaluation part(const Part& part) const { return {.tokens = tokens, .nats = part.nats}; }
  double perplexity() const;  // exp(loss)
  // What is smallest for the best checkpoint: the loss, or 1 − the measure.
  double cost() const;
  double bits_per_byte(std::int64_t bytes) const;  // nats/(ln 2 · bytes)
};

// The sum of what the ranks have scored: tokens, nats and parts.
void add_over_ranks(Evaluation& evaluation, Communicator& ranks);

// Throws Error when the model's predictions were not finite numbers.
void require_finite(const Evaluation& evaluation);

}  // namespace tapeformer
