// Measures the trained models of a study: by their metrics, or by commands of this program.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/study/process.h"
#include "cli/study/study_runs.h"

namespace tapeformer::cli {

// Returns the values of an option of `train` where it is given last, of a list all of them; none if it is not given.
std::vector<std::string> last_values(const TrainOptions& options, const std::string& option);

// Returns the command that measures a run, with its folder, files and options in their places. Throws UsageError if it
// needs an option that the run does not have, or that has several values, such as the files of a text.
std::vector<std::string> measuring_command(const Study& study, const StudyMeasure& measure, const StudyRun& run,
                                           const TrainOptions& extra);

// Returns the last line that a process wrote to its standard error, without the prefix of all errors.
std::string last_line(const std::filesystem::path& messages);

// Measures one run, whose training has ended.
class Measurer {
 public:
  // `waiting` is that of run_process(). The references must stay valid while this object lives.
  Measurer(const Study& study, const StudyRun& run, const TrainOptions& extra, std::function<int()> waiting)
      : study_(study), run_(run), extra_(extra), waiting_(std::move(waiting)) {}

  // Returns nullopt, and sets refusal(), if the run has no such number or if the command fails. Measures of the same
  // command run it once; its messages are appended to those of the run.
  std::optional<double> value_of(const StudyMeasure& measure);
  // Why the last measure that had no value has none.
  const std::string& refusal() const { return refusal_; }

 private:
  std::optional<double> by_command(const StudyMeasure& measure);

  const Study& study_;
  const StudyRun& run_;
  const TrainOptions& extra_;
  const std::function<int()> waiting_;
  std::map<std::vector<std::string>, ProcessResult> outputs_;  // of the commands
  std::string refusal_;
};

}  // namespace tapeformer::cli
