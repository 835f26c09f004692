#include "cli/info/info.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "autograd/tensor/allocator.h"
#include "cli/options/config_options.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/progress_line.h"
#include "cli/training/planning.h"
#include "core/files.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "data/text/byte_reader.h"
#include "data/text/text_files.h"
#include "tasks/plan/speed.h"
#include "train/config/data_kinds.h"
#include "train/config/key_text.h"
#include "train/config/matmul_config.h"
#include "train/config/run_config.h"
#include "train/distributed/make_optimizer.h"
#include "train/loop/initial_weights.h"
#include "train/machine/machine_peak.h"
#include "train/run/checkpoint_store.h"
#include "train/run/metrics.h"
#include "train/run/run_files.h"

namespace tapeformer::cli {
namespace {

namespace fs = std::filesystem;

// If no step is timed, the matrix products of a step are assumed to reach this share of the machine's peak.
constexpr double kUsualShare = 0.6;
// Data that is larger than these limits is not read.
constexpr std::uintmax_t kMaxBytes = std::uintmax_t{64} << 20;
constexpr std::int64_t kMaxLines = 1'000'000;

// The reason why the configuration's data is not read; empty if it is read.
std::string why_no_data(const ResolvedConfig& config) {
  Config read = config.values();
  std::erase_if(read.tasks, [](const auto& task) { return task.second.weight == 0; });  // these are left out
  std::vector<std::string> inputs;
  for (const auto& [entry, validates] : data_files_keys(read)) {
    if (!validates) std::ranges::move(texts_of(entry.get(read)), std::back_inserter(inputs));
  }
  const auto is_generated = [](const auto& task) { return !task.second.corpus.empty(); };
  const bool has_corpus = !read.data.corpus.empty() || std::ranges::any_of(read.tasks, is_generated);
  if (has_corpus && read.data.lines > kMaxLines) return "the corpus is long";
  if (inputs.empty()) return has_corpus ? "" : "none is named";
  if (std::ranges::count(inputs, kStandardInput)) return "it is standard input";
  std::map<fs::path, std::uintmax_t> sizes;  // a file that is named twice is read once
  for (const std::string& input : inputs) {
    try {
      if (is_read_once(input)) return input + " can be read only once";
      for (const fs::path& path : expand_inputs(std::span(&input, 1))) {
        sizes.insert_or_assign(fs::canonical(path), fs::file_size(path));
      }
    } catch (const std::exception&) {
      return input + " is not there";
    }
  }
  std::uintmax_t bytes = 0;
  for (const auto& [path, size] : sizes) bytes += size;
  return bytes > kMaxBytes ? "it is large" : "";
}

// Where the size of the vocabulary comes from.
std::string vocabulary_origin(const ResolvedConfig& config, bool of_run, bool data_read) {
  const Config::Tokenizer& tokenizer = config.tokenizer;
  const bool from_files = !tokenizer.file.empty() && (tokenizer.joint || !tokenizer.target_file.empty());
  if (of_run || from_files) return "the tokenizer's";
  if (data_read) return "learned from the data";
  return tokenizer.kind == TokenizerKind::character ? "assumed" : "tokenizer.vocab";
}

std::optional<MeasuredRun> read_measured(const RunFolder& run) {
  if (!is_there(run.metrics())) return std::nullopt;
  MeasuredRun result;
  std::vector<double> seconds;
  std::optional<double> before;
  for (const nlohmann::ordered_json& line : read_metrics(run.metrics())) {
    const auto step = line["step"].get<std::int64_t>();
    const double elapsed = line.value("elapsed_s", result.elapsed_seconds);
    const bool is_step = line.contains("loss");
    if (is_step && before && step > result.steps) {
      seconds.push_back((elapsed - *before) / static_cast<double>(step - result.steps));
    }
    before = is_step ? std::optional(elapsed) : std::nullopt;
    result.steps = step;
    result.elapsed_seconds = elapsed;
    result.peak_bytes = std::max(result.peak_bytes, line.value("peak_memory_bytes", std::int64_t{0}));
  }
  if (!seconds.empty()) {
    std::ranges::nth_element(seconds, seconds.begin() + std::ssize(seconds) / 2);
    result.step_seconds = seconds[seconds.size() / 2];
  }
  return result;
}

// Suggests the largest micro-steps that fit into memory, with and without recomputing (train.recompute). The number of
// tokens in a step stays the same.
std::vector<Advice> advise(const Info& info, const DataReader& read, const DryRunOptions& options) {
  std::vector<Advice> advice = {};
  const Config::Train& train = info.config.train;
  const std::string rows_key = train.batch_tokens > 0 ? "train.batch_tokens" : "train.batch";
  for (const bool recompute : {false, true}) {
    if (recompute && (train.recompute || !info.config.family().recomputes)) continue;
    DryRun run = *info.dry_run;
    ConfigOverrides changes;
    if (recompute) {
      changes["train.recompute"] = {"true"};
      Config changed = info.config.values();
      apply_overrides(changed, changes);
      run = dry_run(resolve(std::move(changed)), read, options);
    }
    const std::int64_t rows = micro_step_rows(info.config);
    for (std::int64_t parts = 1; parts <= rows; parts *= 2) {
      const std::int64_t peak = run.peak_bytes - run.row_bytes * (rows - rows / parts);
      if (rows % parts != 0 && train.batch_tokens == 0) break;
      if (peak > info.machine_bytes && rows / (2 * parts) >= run.least_rows) continue;
      if (parts > 1) {
        changes[rows_key] = {std::to_string(rows / parts)};
        changes["train.accumulate"] = {std::to_string(train.accumulate * parts)};
      }
      advice.push_back({changes, peak});
      break;
    }
  }
  return advice;
}

// Fills the cache folder: reads the text, and measures the machine's peak. This happens in a child process, so that its
// memory does not count as the training's. Errors in the text are reported when this process reads it again.
void fill_cache(const ResolvedConfig& config, const DataReader& read) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      machine_peak_flops(matmul_precision(config), thread_count());
      if (!config.task_row().reads_sentences) read(config);
    } catch (const std::exception&) {
    }
    ::_exit(0);
  }
  if (child > 0) ::waitpid(child, nullptr, 0);
}

// Whether this is a run or a checkpoint in it, also by the file that names one (RUN/checkpoints/best), and no
// configuration.
bool names_run(const std::filesystem::path& target) {
  return is_folder(target) || target.filename() == "best" || target.filename() == "latest";
}

// Returns the configuration of the run, if there is one, or of the file, changed by the options; with --minutes, the
// planned one.
ResolvedConfig read_config(const InfoRequest& request, const std::optional<RunFolder>& run,
                           std::vector<PlannedKey>& planned) {
  const std::string& target = request.target;
  const ConfigOverrides& overrides = request.overrides;
  if (target.empty()) refuse_configuration_as_text("info", overrides);
  const std::optional<double> minutes = planned_minutes(request.minutes, overrides);
  if (minutes && run)
    fail_usage("--minutes: expected a configuration, got the run ", target, ", which has its keys already");
  if (!minutes && target.empty()) fail_usage("info: expected CONFIG.toml or RUN, or --minutes, got none (see --help)");
  if (minutes) {
    Plan plan = plan_training(target, overrides, *minutes, measuring_timer(*minutes)).plan;
    planned = std::move(plan.keys);
    return resolve(std::move(plan.config));
  }
  std::vector<std::string> notes;
  Config values = run ? override_config(load_run_config(run->config()), overrides, notes).values()
                      : new_config(load_config(target), overrides).values();
  if (!run) {
    use_initial_tokenizers(values);
  } else if (const auto step = latest_step(*run); step && is_there(run->checkpoint(*step))) {
    require_run_files(*run, run->checkpoint(*step));
  }
  ResolvedConfig config = resolve(std::move(values));
  for (const std::string& note : notes) log_info("{}", note);
  return config;
}

// Computes the facts that need no step.
void compute(Info& info, const ObjectiveData& data) {
  const ResolvedConfig& config = info.config;
  info.costs = model_costs(config, data);
  info.machine_bytes = machine_memory_bytes();
  info.machine_flops = machine_peak_flops(matmul_precision(config), thread_count());
  info.step_seconds = info.step_flops() / (kUsualShare * info.machine_flops);
}

// Runs and times some steps, for about `seconds`. If there is not enough memory for them, `info` stays unchanged.
void time_steps(Info& info, const DataReader& read, double seconds) {
  const ResolvedConfig& config = info.config;
  const DryRunOptions options{
      .seconds = seconds,
      .expected_micro_seconds = info.step_seconds / static_cast<double>(config.train.accumulate),
      .progress = show_progress("timing some steps")};
  try {
    info.dry_run = dry_run(config, read, options);
  } catch (const OutOfMemory&) {
    return;
  } catch (const std::bad_alloc&) {
    return;
  }
  info.step_seconds = info.dry_run->step_seconds;
  if (info.share_of_peak() > 1) {
    info.machine_flops = machine_peak_flops_again(matmul_precision(config), thread_count());
  }
  if (!info.fits()) info.advice = advise(info, read, options);
}

}  // namespace

std::int64_t Info::steps() const {
  if (!ends_by_clock()) return config.train.steps;
  std::int64_t fits = 1, too_many = config.train.steps;
  while (too_many - fits > 1) {
    const std::int64_t middle = fits + (too_many - fits) / 2;
    (seconds_of(middle) <= 60 * config.train.minutes ? fits : too_many) = middle;
  }
  return fits;
}

Info gather_info(const InfoRequest& request) {
  std::optional<RunFolder> run;
  if (names_run(request.target)) run = find_run(request.target).run;
  std::vector<PlannedKey> planned;
  const ResolvedConfig config = read_config(request, run, planned);
  if (config.train.threads > 0) set_thread_count(static_cast<int>(config.train.threads));

  Info info{
      .config = config, .planned = std::move(planned), .no_data = why_no_data(config), .vocab_origin = {}, .costs = {}};
  info.vocab_origin = vocabulary_origin(config, run.has_value(), info.no_data.empty());
  std::unique_ptr<ObjectiveData> first;  // the data read for `costs`; a later `read` takes it
  const DataReader read = [&](const ResolvedConfig& with) {
    if (first && with == config) return std::move(first);
    const RunFolder* const folder = run ? &*run : nullptr;
    return info.no_data.empty() ? with.task_row().prepare(with, folder, show_progress)
                                : with.task_row().dummy(with, folder);
  };
  fill_cache(config, read);
  first = read(config);
  compute(info, *first);
  if (run) info.measured = read_measured(*run);
  if (request.seconds > 0 && info.fits()) time_steps(info, read, request.seconds);
  return info;
}

}  // namespace tapeformer::cli
