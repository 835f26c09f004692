// The progress line of a training.
#pragma once

#include <optional>

#include "cli/terminal/progress_line.h"
#include "train/loop/trainer.h"

namespace tapeformer {

// Facts that the line shows in addition to the state of the last step.
struct TrainingFacts {
  std::optional<double> mean_loss = {};          // mean of about the last 50 steps that had targets
  std::optional<double> validation_loss = {};    // of the last evaluation
  std::optional<double> share_of_peak = {};      // speed of the step / peak of the machine's matrix products
  std::optional<std::int64_t> peak_memory = {};  // bytes of this process
};

// The parts of the line "step 1200/2000  60%  loss 1.8857  valid 1.9012  41.2k tokens/s  63% of peak  lr 0.000353  512
// MB  52s elapsed  35s left"
std::vector<ProgressPart> training_parts(const ProgressState& state, const TrainingFacts& facts);

// Shows the steps that it is given, but not more often than ProgressLine::is_due().
class TrainingLine {
 public:
  // `peak_flops`: the operations a second of this machine's matrix products; `flops_per_token`: the operations for
  // training on one token. The share of the peak is left out if one of them is 0.
  TrainingLine(ProgressLine line, double flops_per_token, double peak_flops);

  void step(const ProgressState& state);
  void evaluated(double validation_loss) { facts_.validation_loss = validation_loss; }
  // Shows the last step, even if no line is due, and ends the line.
  void end();
  // Whether the speed exceeded 100 % of the peak in some line: then the measured peak is too low.
  bool exceeds_peak() const { return exceeds_peak_; }

 private:
  void show();

  ProgressLine line_;
  double peak_share_per_rate_;  // the share of the peak for one token a second
  bool exceeds_peak_ = false;
  TrainingFacts facts_;
  // An exponential moving average: the weighted sum, and the sum of the weights.
  double weighted_loss_ = 0, weight_ = 0;
  std::optional<ProgressState> last_;
};

}  // namespace tapeformer
