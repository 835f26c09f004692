#include "cli/study/study_runs.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/study/process.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/stop_signal.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text/lines.h"
#include "train/run/disk.h"
#include "train/run/metrics.h"
#include "train/run/run_folder.h"

namespace tapeformer::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kSignals = 128;  // ProcessResult::exit_code of a process that a signal has killed, without the signal
constexpr std::string_view kFolder = "{folder}/";  // begins the path of a file beside the study's

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

// Returns the number at a place such as "watch/blocks.0/grad".
std::optional<double> number_at(const Json& json, std::string_view place) {
  const Json* at = &json;
  while (!place.empty()) {
    const std::size_t slash = std::min(place.find('/'), place.size());
    const std::string key(place.substr(0, slash));
    place.remove_prefix(std::min(slash + 1, place.size()));
    if (at->is_array()) {
      const std::size_t index = std::strtoull(key.c_str(), nullptr, 10);
      if (key.find_first_not_of("0123456789") != key.npos || index >= at->size()) return std::nullopt;
      at = &(*at)[index];
    } else {
      if (!at->is_object() || !at->contains(key)) return std::nullopt;
      at = &(*at)[key];
    }
  }
  return at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
}

std::optional<double> from_metrics(const RunFolder& run, const StudyMeasure& measure) {
  std::vector<double> numbers;
  for (const Json& line : read_metrics(run.metrics())) {
    if (line.contains("averaged")) continue;
    if (const auto number = number_at(line, measure.value)) numbers.push_back(*number);
  }
  if (numbers.empty()) return std::nullopt;
  switch (measure.take) {
    case StudyMeasure::Take::last:
      return numbers.back();
    case StudyMeasure::Take::least:
      return std::ranges::min(numbers);
    case StudyMeasure::Take::most:
      return std::ranges::max(numbers);
    case StudyMeasure::Take::mean:
      break;
  }
  double sum = 0;
  for (const double number : numbers) sum += number;
  return sum / static_cast<double>(numbers.size());
}

// Returns the value of an option of `train` where it is given last; empty if it is not given.
std::string last_value(const TrainOptions& options, const std::string& option) {
  const auto found = std::ranges::find(options.rbegin(), options.rend(), option);
  return found == options.rbegin() || found == options.rend() ? "" : *std::prev(found);
}

// Returns the command that measures a run, with its folder, files and options in their places. Throws UsageError if it
// needs an option that the run does not have.
std::vector<std::string> command_of(const Study& study, const StudyMeasure& measure, const StudyRun& run,
                                    const TrainOptions& extra) {
  std::vector<std::string> words = measure.command;
  for (std::string& word : words) {
    if (word == "{run}") {
      word = run.folder.string();
    } else if (word.starts_with(kFolder)) {
      word = (study.file.parent_path() / word.substr(kFolder.size())).string();
    } else if (word.starts_with('{') && word.ends_with('}') && word.find('.') != word.npos) {
      const std::string option = "--" + word.substr(1, word.size() - 2);
      word = last_value(run_options(study, run, extra), option);
      if (word.empty()) fail_usage(study.file.string(), ": ", measure.name, ": expected the option ", option);
    }
  }
  return words;
}

// Returns the last line that a process wrote to its standard error, without the prefix of all errors.
std::string last_line(const fs::path& messages) {
  std::string last;
  for_each_line(read_file(messages), [&](std::string_view line, std::size_t) {
    if (!line.empty()) last = line;
  });
  constexpr std::string_view kPrefix = "tapeformer: ";
  return last.starts_with(kPrefix) ? last.substr(kPrefix.size()) : last;
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
      : study_(study), extra_(extra), share_(show_progress("studying")) {
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
    for (done_ = 0; done_ < runs_.size(); ++done_) {
      StudyRun& run = runs_[done_];
      if (!train(run)) return std::nullopt;
      outputs_.clear();
      for (const StudyMeasure& measure : study_.measures) {
        run.values[measure.name] = run.failure.empty() ? value_of(run, measure) : std::nullopt;
        if (StopSignal::requested()) return std::nullopt;
      }
    }
    for (const auto& refused : refusals_) {
      const auto measured = [&](const StudyRun& run) { return run.values.at(refused.first).has_value(); };
      check(std::ranges::any_of(runs_, measured), refused.first, ": ", refused.second);
    }
    return std::move(runs_);
  }

 private:
  // Trains the run, unless it is finished. Returns false if a signal asked to stop.
  bool train(StudyRun& run) {
    const RunFolder folder{run.folder};
    std::vector<std::string> words{"train", "--quiet"};
    if (is_there(folder.config())) {
      words.insert(words.end(), {"--resume", run.folder.string()});
    } else {
      if (!study_.config.empty()) words.push_back(study_.config);
      words.insert(words.end(), {"--out", run.folder.string()});
      const TrainOptions options = run_options(study_, run, extra_);
      words.insert(words.end(), options.begin(), options.end());
    }
    steps_ = 0;
    const ProcessResult result = run_process(this_program(), words, messages(run), [&] {
      show(folder);
      return signal_();
    });
    if (StopSignal::requested()) return false;
    // A loss that is no number ends a training with an error: that is a result, too. Wrong options are not, nor is
    // what kills a training or does not let it begin, such as a file that is not there.
    const std::string& name = study_.variants[run.variant].name;
    check(result.exit_code < kSignals, name, ": the training was killed by signal ", result.exit_code - kSignals);
    const bool has_begun = is_there(folder.config());
    check(result.exit_code == 0 || (result.exit_code != 2 && has_begun), name, ": ", last_line(messages(run)));
    if (result.exit_code != 0) run.failure = last_line(messages(run));
    if (is_there(folder.metrics())) {
      for (const Json& line : read_metrics(folder.metrics())) run.seconds = line.value("elapsed_s", run.seconds);
    }
    show(folder);
    return true;
  }

  fs::path messages(const StudyRun& run) const { return run.folder.string() + ".log"; }

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

  std::optional<double> value_of(const StudyRun& run, const StudyMeasure& measure) {
    if (measure.is_metrics()) return from_metrics(RunFolder{run.folder}, measure);
    std::vector<std::string> words = command_of(study_, measure, run, extra_);
    words.insert(words.end(), {"--quiet", "--json"});
    if (!outputs_.contains(words)) {
      outputs_[words] = run_process(this_program(), words, messages(run), [&] { return signal_(); });
    }
    const ProcessResult& result = outputs_[words];
    if (result.exit_code != 0) {
      refusals_[measure.name] = last_line(messages(run));
      return std::nullopt;
    }
    return number_at(parse_json<Json>(result.output, measure.command.front() + ": "), measure.value);
  }

  const Study& study_;
  const TrainOptions& extra_;
  const ProgressCallback share_;  // shows the share of the work that is done; empty with --quiet
  PassedSignal signal_;
  std::vector<StudyRun> runs_;
  std::map<std::vector<std::string>, ProcessResult> outputs_;  // of the commands that measured the current run
  std::map<std::string, std::string> refusals_;  // why a measure's command failed; an error if it did for all runs
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
  const TrainOptions& own = study.variants[run.variant].options;
  options.insert(options.end(), own.begin(), own.end());
  options.insert(options.end(), {"--train.seed", std::to_string(run.seed)});
  options.insert(options.end(), extra.begin(), extra.end());
  return options;
}

std::optional<std::vector<StudyRun>> run_study(const Study& study, const fs::path& folder, const TrainOptions& extra) {
  require_no_seed(study, study.options);
  require_no_seed(study, extra);
  for (std::size_t variant = 0; variant < study.variants.size(); ++variant) {  // before hours of training
    require_no_seed(study, study.variants[variant].options);
    for (const StudyMeasure& measure : study.measures) {
      (void)command_of(study, measure, {.variant = variant, .seed = study.seeds.front(), .folder = folder}, extra);
    }
  }
  keep_study(study, folder, extra);
  const StopSignal stop;
  return Runner(study, folder, extra).run();
}

}  // namespace tapeformer::cli
