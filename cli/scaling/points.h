// The trainings to which scaling laws are fitted.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tapeformer::cli {

struct ScalingRun {
  std::string name;
  std::optional<double> parameters;  // N, without embeddings and heads
  std::optional<double> tokens;      // D, the tokens of the training until this loss (TrainingState::tokens)
  std::optional<double> flops;       // C, 6ND unless a file says it
  double loss = 0;
};

struct ScalingRuns {
  std::vector<ScalingRun> runs;
  std::string unit = "nats per token";
  // The entropy of the generated corpus that all runs train on, in nats per token; nullopt if it is not known.
  std::optional<double> entropy = {};
};

// Reads runs, folders with runs, and files of points. A run has its best validation loss, the tokens of training until
// then (RunSummary::best_tokens), and its parameters; C is left out for translation, where a token does not pass all
// parameters. A file ends in .jsonl, with the keys N, D, C, loss and name in the object of each line, or in
// .csv, with these names in the first line; loss must be there. A run that was not evaluated is left out, with a
// warning; there is one too for a run that was validated on other data. Throws Error for a run that is in training, for
// runs whose losses cannot be compared since their units or tokenizers differ, and for numbers that are not above 0.
ScalingRuns read_scaling_runs(std::span<const std::string> paths);

}  // namespace tapeformer::cli
