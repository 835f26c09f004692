// Trains and measures the variants of a study, by commands of this program.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/study/study_file.h"
#include "train/config/config.h"

namespace tapeformer::cli {

// One trained model of a study.
struct StudyRun {
  std::size_t variant;  // its place in Study::variants
  std::int64_t seed;
  std::filesystem::path folder;
  // The values of the measures by name; nullopt if the loss diverged, or if the run has no such value.
  std::map<std::string, std::optional<double>> values = {};
  std::string failure = {};  // what the training said if its loss diverged
  double seconds = 0;        // of the training

  // The file of all messages of its training, and of the commands that measure it.
  std::filesystem::path messages() const { return folder.string() + ".log"; }
};

// Trains every variant from every seed below `folder`, one after the other, and measures each. A run that is finished
// is not trained again, and one that was cut off goes on. Throws Error if `folder` has runs of another study, or of
// this study before it was changed, and if a run began with another training text than there is now. `extra` are
// options of `train` for all runs, and come after the study's and the variant's. Shows progress. Returns nullopt if a
// signal asked to stop. Throws UsageError, before anything is trained, if a measure needs an option that is not given,
// or if an option is train.seed. Throws Error for a training that could not begin, or that ended before its time for
// another reason than a loss that diverged; the same call goes on with it. Throws Error for a measure that no run has:
// if the first run does not have it, each other variant trains one step, in a folder that is removed afterwards, and
// shows whether it will.
std::optional<std::vector<StudyRun>> run_study(const Study& study, const std::filesystem::path& folder,
                                               const TrainOptions& extra);

// Returns the overrides as options of `train`.
TrainOptions train_options(const ConfigOverrides& overrides);
// Returns the options with which `train` makes a run: the study's, the variant's, the seed, and `extra`.
TrainOptions run_options(const Study& study, const StudyRun& run, const TrainOptions& extra);

}  // namespace tapeformer::cli
