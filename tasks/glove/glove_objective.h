// Trains and evaluates GloVe vectors on the co-occurrences of a text.
#pragma once

#include "tasks/glove/glove_model.h"
#include "tasks/text/text_evaluation.h"
#include "tasks/text/text_objective.h"

namespace tapeformer {

// Returns the weighting that model.x_max and model.alpha give.
GloveWeighting glove_weighting(const ResolvedConfig& config);

// How well the model predicts the co-occurrences of a text. A longer text has larger counts, by a factor that says
// nothing about the model. So a constant c is subtracted from all predictions: the one for which the weighted mean of
// the errors e = prediction − c − ln X is 0. Evaluation::loss() is Σ f(X) e² divided by the number of pairs, which is
// Evaluation::tokens. The metric "correlation" is the correlation of prediction and ln X over the frequent pairs, with
// X ≥ x_max; it is missing if there are fewer than three of them.
struct GloveFit {
  Evaluation evaluation;
  std::int64_t frequent = 0;  // frequent pairs
};
// `batch` pairs are in one forward pass, and only `max_batches` batches are scored, whose pairs are chosen evenly from
// all; 0: all. Ranks share the batches, and all return the whole result.
GloveFit evaluate(const GloveModel& model, std::span<const Cooccurrence> pairs, const GloveWeighting& weighting,
                  std::int64_t batch, std::int64_t max_batches, const ProgressCallback& progress = {},
                  Communicator& ranks = Communicator::alone());

// A row of a batch has model.context pairs, drawn from all that occur. The draws are a pure function of the seed, the
// step and the number of the row in the step.
class GloveObjective : public TextObjectiveOf<GloveModel> {
 public:
  // Makes the model that the configuration describes.
  GloveObjective(const ResolvedConfig& config, LanguageData data);

  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) override;
  Evaluation evaluate(const ProgressCallback& progress) override;

 private:
  const GloveWeighting weighting_;
  std::vector<Cooccurrence> train_, valid_;
};

}  // namespace tapeformer
