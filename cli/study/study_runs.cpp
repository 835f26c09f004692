#include "cli/study/study_runs.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/study/measurer.h"
#include "cli/study/process.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/stop_signal.h"
#include "cli/training/new_or_continued_run.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "train/loop/finite_values.h"
#include "train/loop/run_summary.h"
#include "train/run/disk.h"
#include "train/run/metrics.h"
#include "train/run/run_folder.h"

namespace tapeformer::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kSignals = 128;  // ProcessResult::exit_code of a process that a signal has killed, without the signal
constexpr const char* kTrial = "trial";  // the folder of a variant that trains one step
constexpr const char* kGoOn = ": the same command goes on with it";

// Makes a folder's name from the variant's name.
std::string folder_name(const std::string& variant) {
  std::string name;
  for (const char c : variant) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
    if (plain) name += c;
    if (!plain && !name.empty() && name.back() != '-') name += '-';
  }
  return name;
}

// Passes a signal that asks this process to stop on to the process that it waits for, once.
class PassedSignal {
 public:
  int operator()() { return std::exchange(passed_, StopSignal::signal()) == 0 ? passed_ : 0; }

 private:
  int passed_ = 0;
};

class Runner {
 public:
  Runner(const Study& study, const fs::path& folder, const TrainOptions& extra)
      : study_(study), folder_(folder), extra_(extra), share_(show_progress("studying")) {
    for (std::size_t variant = 0; variant < study.variants.size(); ++variant) {
      for (const std::int64_t seed : study.seeds) {
        const std::string name = str_cat(folder_name(study.variants[variant].name), "-", seed);
        check(std::ranges::count(runs_, folder / name, &StudyRun::folder) == 0, study.file.string(),
              ": the names of two variants give the same folder ", name);
        runs_.push_back({.variant = variant, .seed = seed, .folder = folder / name});
      }
    }
  }

  std::optional<std::vector<StudyRun>> run() {
    bool is_first = true;  // of the runs that can be measured
    for (done_ = 0; done_ < runs_.size(); ++done_) {
      StudyRun& run = runs_[done_];
      if (!train(run)) return std::nullopt;
      take_measures(run);
      if (run.failure.empty() && std::exchange(is_first, false)) require_measures(run);
      if (StopSignal::requested()) return std::nullopt;
    }
    for (const StudyMeasure& measure : study_.measures) {
      const auto has_it = [&](const StudyRun& run) { return run.values.at(measure.name).has_value(); };
      const bool is_refused = refusals_.contains(measure.name) && !measure.is_implied;
      if (is_refused && std::ranges::none_of(runs_, has_it)) refuse(measure);
    }
    return std::move(runs_);
  }

 private:
  // Trains the run, unless it is finished. Returns false if a signal asked to stop.
  bool train(StudyRun& run) {
    const RunFolder folder{run.folder};
    std::vector<std::string> words = new_run(run);
    const bool goes_on = is_there(folder.config());
    if (goes_on) words = {"train", "--quiet", "--resume", run.folder.string()};
    const std::size_t told = is_there(run.messages()) ? read_file(run.messages()).size() : 0;
    steps_ = 0;
    const ProcessResult result = run_process(this_program(), words, run.messages(), [&] {
      show(folder);
      return signal_();
    });
    if (StopSignal::requested()) return false;
    note_end(run, result.exit_code);
    if (goes_on) require_same_data(run, told);
    if (is_there(folder.metrics())) {
      for (const Json& line : read_metrics(folder.metrics())) run.seconds = line.value("elapsed_s", run.seconds);
    }
    show(folder);
    return true;
  }

  // Throws Error unless the training has reached its end, or its loss has diverged: that is a result, too.
  void note_end(StudyRun& run, int exit_code) const {
    const std::string& name = study_.variants[run.variant].name;
    const std::string where = run.folder.string() + ": ";
    check(exit_code < kSignals, where, "the training was killed by signal ", exit_code - kSignals, kGoOn);
    const bool has_begun = is_there(RunFolder{run.folder}.config());
    const std::string message = exit_code == 0 ? "" : last_line(run.messages());
    check(exit_code == 0 || (exit_code != 2 && has_begun), name, ": ", message);
    if (exit_code != 0) {
      check(tells_of_divergence(message), where, message, kGoOn);
      run.failure = message;
    } else {
      const RunSummary summary = summarize_run({run.folder});
      check(summary.state != "stopped", where, "the training was stopped at step ", summary.step, " of ", summary.steps,
            kGoOn);
    }
  }

  // Throws Error if the messages behind the first bytes tell that the run began with another training text: its numbers
  // cannot be compared with those of the runs that read the present one.
  void require_same_data(const StudyRun& run, std::size_t bytes) const {
    const bool is_other = read_file(run.messages()).find(kOtherTrainingData, bytes) != std::string::npos;
    check(!is_other, run.folder.string(), ": ", kOtherTrainingData, ": remove ", folder_.string(),
          ", or name another folder by --out");
  }

  void take_measures(StudyRun& run) {
    Measurer measurer(study_, run, extra_, [&] { return signal_(); });
    for (const StudyMeasure& measure : study_.measures) {
      std::optional<double>& value = run.values[measure.name];
      if (!run.failure.empty() || StopSignal::requested()) continue;
      value = measurer.value_of(measure);
      if (!value) refusals_[measure.name] = measurer.refusal();
    }
  }

  // Throws Error for a measure that no run has.
  [[noreturn]] void refuse(const StudyMeasure& measure) const {
    fail(measure.name, ": ", refusals_.at(measure.name), ", as in every variant");
  }

  // Throws Error for a measure that the run does not have, unless another variant has it.
  void require_measures(const StudyRun& run) {
    std::vector<const StudyMeasure*> missing;
    for (const StudyMeasure& measure : study_.measures) {
      if (!run.values.at(measure.name) && !measure.is_implied) missing.push_back(&measure);
    }
    for (std::size_t variant = 0; variant < study_.variants.size() && !missing.empty(); ++variant) {
      if (variant != run.variant) try_variant(variant, run, missing);
    }
    if (!missing.empty() && !StopSignal::requested()) refuse(*missing.front());
  }

  // Lets a variant train one step, and removes the measures that it has then from the list. Removes all of them if this
  // step cannot be trained, which says nothing about the whole training.
  void try_variant(std::size_t variant, const StudyRun& first, std::vector<const StudyMeasure*>& missing) {
    const StudyRun trial{.variant = variant, .seed = first.seed, .folder = folder_ / kTrial};
    const auto remove = [&] {
      for (const fs::path& path : {trial.folder, trial.messages()}) fs::remove_all(path);
    };
    remove();
    std::vector<std::string> words = new_run(trial);
    words.insert(words.end(), {"--train.steps", "1"});
    const bool watches = load_config(RunFolder{first.folder}.config()).train.watch > 0 ||
                         !last_values(run_options(study_, trial, extra_), "--train.watch").empty();
    if (watches) words.insert(words.end(), {"--train.watch", "1"});
    const auto waiting = [&] { return signal_(); };
    if (run_process(this_program(), words, trial.messages(), waiting).exit_code != 0) missing.clear();
    Measurer measurer(study_, trial, extra_, waiting);
    std::erase_if(missing, [&](const StudyMeasure* measure) { return measurer.value_of(*measure).has_value(); });
    remove();
  }

  // Returns the words of the command that trains a new run.
  std::vector<std::string> new_run(const StudyRun& run) const {
    std::vector<std::string> words{"train", "--quiet"};
    if (!study_.config.empty()) words.push_back(study_.config);
    words.insert(words.end(), {"--out", run.folder.string()});
    const TrainOptions options = run_options(study_, run, extra_);
    words.insert(words.end(), options.begin(), options.end());
    return words;
  }

  void show(const RunFolder& run) {
    if (share_) share_(progress(run));
  }

  // Returns the share of all trainings that is done. The last line of the current run's metrics says how far it is.
  double progress(const RunFolder& folder) {
    double step = 0;
    try {
      if (steps_ == 0 && is_there(folder.config())) {
        steps_ = static_cast<double>(load_config(folder.config()).train.steps);
      }
      if (is_there(folder.metrics())) {
        const std::vector<Json> lines = read_metrics(folder.metrics());
        if (!lines.empty()) step = lines.back().value("step", 0.0);
      }
    } catch (const Error&) {  // it is being written
    }
    const double share = steps_ > 0 ? std::min(step / steps_, 1.0) : 0;
    return (static_cast<double>(done_) + share) / static_cast<double>(runs_.size());
  }

  const Study& study_;
  const fs::path folder_;
  const TrainOptions& extra_;
  const ProgressCallback share_;  // shows the share of the work that is done; empty with --quiet
  PassedSignal signal_;
  std::vector<StudyRun> runs_;
  std::map<std::string, std::string> refusals_;  // why a run does not have a measure, by the measure's name
  std::size_t done_ = 0;
  double steps_ = 0;  // all steps of the current training; 0: not known yet
};

// Returns what decides the runs of a study. Its words (title, claim, finding), checks and measures do not.
std::string identity_of(const Study& study, const TrainOptions& extra) {
  Json variants = Json::array();
  for (const StudyVariant& variant : study.variants) variants.push_back({variant.name, variant.options});
  const std::string config = study.config.empty() ? "" : read_file(study.config);
  return dump_json(Json{{"config", config}, {"options", study.options}, {"variants", variants}, {"extra", extra}}, 1) +
         "\n";
}

// Throws UsageError if the options of the trainings give a seed, which would make those of all seeds the same.
void require_no_seed(const Study& study, const TrainOptions& options) {
  if (std::ranges::count(options, "--train.seed") == 0) return;
  fail_usage(study.file.string(), ": train.seed: expected none, since the study's seeds decide it");
}

// Adds options, each in place of the one of the same name. A list that is given twice would be both lists for `train`.
void replace_options(TrainOptions& options, const TrainOptions& by) {
  const auto is_name = [](const std::string& word) { return word.starts_with("--"); };
  for (const std::string& word : by) {
    const auto begin = is_name(word) ? std::ranges::find(options, word) : options.end();
    if (begin != options.end()) options.erase(begin, std::find_if(std::next(begin), options.end(), is_name));
  }
  options.insert(options.end(), by.begin(), by.end());
}

bool has_runs(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (is_there(RunFolder{entry.path()}.config())) return true;
  }
  return false;
}

// Throws Error if the folder has runs of another study, or of this study before it was changed.
void keep_study(const Study& study, const fs::path& folder, const TrainOptions& extra) {
  make_folder(folder);
  const fs::path file = folder / "variants.json";
  const std::string identity = identity_of(study, extra);
  if (is_there(file) && read_file(file) == identity) return;
  check(!has_runs(folder), folder.string(),
        " has runs of the study as it was before: remove the folder, or name another one by --out");
  write_file_atomically(file, identity);
}

}  // namespace

TrainOptions train_options(const ConfigOverrides& overrides) {
  TrainOptions options;
  for (const auto& [key, values] : overrides) {
    if (values.empty()) continue;
    options.push_back("--" + key);
    options.insert(options.end(), values.begin(), values.end());
  }
  return options;
}

TrainOptions run_options(const Study& study, const StudyRun& run, const TrainOptions& extra) {
  TrainOptions options = study.options;
  replace_options(options, study.variants[run.variant].options);
  replace_options(options, {"--train.seed", std::to_string(run.seed)});
  replace_options(options, extra);
  return options;
}

std::optional<std::vector<StudyRun>> run_study(const Study& study, const fs::path& folder, const TrainOptions& extra) {
  require_no_seed(study, study.options);
  require_no_seed(study, extra);
  for (std::size_t variant = 0; variant < study.variants.size(); ++variant) {  // before hours of training
    require_no_seed(study, study.variants[variant].options);
    for (const StudyMeasure& measure : study.measures) {
      (void)measuring_command(study, measure, {.variant = variant, .seed = study.seeds.front(), .folder = folder},
                              extra);
    }
  }
  keep_study(study, folder, extra);
  const StopSignal stop;
  return Runner(study, folder, extra).run();
}

}  // namespace tapeformer::cli
