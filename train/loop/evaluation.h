// The results of an evaluation, and of simple models beside it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/progress.h"
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
  // Further results by name, such as "accuracy", the share of masked tokens that a masked language model predicts.
  std::vector<std::pair<std::string, double>> metrics = {};
  // The metric in `metrics` that chooses the best checkpoint: larger is better unless it is a loss
  // (smaller_is_better()). Empty: the loss chooses.
  std::string metric_for_best_model = {};

  double loss() const { return nats / static_cast<double>(tokens); }  // nats per token
  // Returns one of the parts as an evaluation of its own.
  Evaluation part(const Part& part) const { return {.tokens = tokens, .nats = part.nats}; }
  double perplexity() const;  // exp(loss)
  // Returns the number that is smallest for the best checkpoint: the loss, or cost_of_metric().
  double cost() const;
  double bits_per_byte(std::int64_t bytes) const;  // nats/(ln 2 · bytes)
};

// What simple models reach on the validation data of a run, so that its loss can be compared.
struct Baselines {
  // A Kneser-Ney n-gram model (KneserNey) of the run's tokens, evaluated on the tokens that Objective::evaluate()
  // scores. Each is predicted from the `order` − 1 tokens before it, as far as the run's model sees them too.
  struct Ngrams {
    int order = 0;
    Evaluation evaluation;
    std::int64_t tokens = 0, of = 0;  // the model has learned from the first `tokens` of the `of` training tokens
  };
  // xz, on the validation text after the training text (xz_growth()).
  struct Xz {
    double bits_per_byte = 0;
    // The bytes that were compressed: the end of the training text, and the beginning of the validation text.
    std::int64_t training_bytes = 0, validation_bytes = 0;
    bool whole = false;  // whether these are all bytes of both texts
  };
  Ngrams ngrams;
  std::optional<Xz> xz;  // nullopt if only a part of the validation text is evaluated
};

// Returns whether the best value of the metric with this name is the smallest one: the name is "loss" or ends in
// "_loss".
bool smaller_is_better(std::string_view metric);
// Returns the number that is smallest for the best value of a metric: the value if smaller is better, else 1 − value.
// It is its own inverse.
double cost_of_metric(std::string_view metric, double value);

// Returns how many of an evaluation's batches are scored: the first `most`; 0: all.
inline std::int64_t scored_batches(std::int64_t batches, std::int64_t most) {
  return most > 0 ? std::min(most, batches) : batches;
}
// Calls score(i) for each of this rank's share of so many batches, and reports the progress.
template <class Score>
void for_own_batches(std::int64_t batches, const Communicator& ranks, const ProgressCallback& progress,
                     const Score& score) {
  const Communicator::Share mine = ranks.share(batches);
  for (std::int64_t i = mine.begin; i < mine.end; ++i) {
    score(i);
    if (progress) progress(static_cast<double>(i + 1 - mine.begin) / static_cast<double>(mine.size()));
  }
}
// Sums tokens, nats and parts over the ranks.
void add_over_ranks(Evaluation& evaluation, Communicator& ranks);

// Throws Error if the loss is not finite.
void require_finite(const Evaluation& evaluation);

}  // namespace tapeformer
