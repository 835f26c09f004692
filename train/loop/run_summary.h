// One row of the table of runs: it is read from the run's folder, without loading the model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/run/run_folder.h"

namespace tapeformer {

struct RunSummary {
  RunFolder run;
  std::string type;                        // the model's family
  std::optional<std::int64_t> parameters;  // of the newest checkpoint; nullopt while there is none
  std::string data;                        // the training data: a file, a corpus, …
  // The step of the newest checkpoint, from which the run goes on, or the last step in metrics.jsonl if there is no
  // checkpoint; the later of both while the run is in training. And the last step to do; 0 for an imported model.
  std::int64_t step = 0, steps = 0;
  std::string unit;  // the unit of the loss: "nats per token"; losses with different units cannot be compared
  // The results of the best evaluation: of the best checkpoint, or of the average if its evaluation is better. What a
  // killed process has logged after the newest checkpoint does not count.
  std::optional<double> best_loss, bits_per_byte;
  std::optional<double> best_tokens;  // TrainingState::tokens at that evaluation; of an average: at its last step
  // Its other metrics, by name, BLEU last. If the best evaluation has no BLEU, since not every evaluation has it, this
  // is the BLEU of the last evaluation of the training that has it, and bleu_step is the step of that evaluation.
  std::vector<std::pair<std::string, double>> metrics;
  std::optional<std::int64_t> bleu_step;
  // The name of the most informative of these metrics: the one that chooses the best checkpoint, else BLEU, else the
  // accuracy; "" if there is none of them.
  std::string measure;
  double elapsed_s = 0;
  // "running" (a process trains it now), "imported" (a published model, which no training has changed), "finished",
  // "stopped early" (by eval.patience), or "stopped" (before its end).
  std::string state;

  // Returns the metric with this name in `metrics`, if there is one.
  std::optional<double> measured(std::string_view name) const;
};

// Returns the unit of a run's losses (RunSummary::unit); "" if its configuration cannot be read, such as that of
// another version.
std::string loss_unit(const RunFolder& run);
// Returns the name of the metric that chooses a run's best checkpoint; "loss" also if its configuration cannot be read.
std::string metric_for_best_model(const RunFolder& run);
// Returns the step after which metrics.jsonl is about weights that are lost: that of the newest checkpoint of a run
// that no process trains. nullopt: there is no such step.
std::optional<std::int64_t> last_kept_step(const RunFolder& run);
// Reads the summary of a run. Throws Error if a file of the run is damaged.
RunSummary summarize_run(const RunFolder& run);
// Returns the runs in a folder, at any depth, ordered by their paths; if the folder is a run itself, only that run.
// Throws Error if it is no folder.
std::vector<RunFolder> runs_below(const std::filesystem::path& folder);

}  // namespace tapeformer
