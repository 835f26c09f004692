#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "autograd/tensor/allocator.h"

#include "cli/commands/commands.h"
#include "cli/options/config_options.h"
#include "cli/options/run_model.h"
#include "cli/terminal/progress_line.h"
#include "cli/training/model_costs.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/text/numbers.h"
#include "data/text/byte_reader.h"
#include "data/text/text.h"
#include "tasks/text/dummy_data.h"
#include "train/config/matmul_config.h"
#include "train/config/run_config.h"
#include "train/distributed/optim_config.h"
#include "train/loop/dry_run.h"
#include "train/loop/initial_weights.h"
#include "train/machine/machine_peak.h"
#include "train/run/checkpoint_store.h"
#include "train/run/metrics.h"
#include "train/run/run_files.h"

namespace tapeformer::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct InfoArguments {
  std::string target;
  ConfigOverrides overrides;
  double seconds = 4;
  bool json = false;
};

// The share of the machine's peak that the matrix products of a step are assumed to reach where no step is timed.
constexpr double kUsualShare = 0.6;
// The data is not read if it is larger than this.
constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20;
constexpr std::int64_t kMostLines = 1'000'000;

// The reason why the configuration's data is not read; empty if it is read.
std::string why_no_data(const Config::Data& data) {
  std::vector<std::string> inputs = data.text;
  for (const std::string* path : {&data.source, &data.target, &data.pairs, &data.labels}) {
    if (!path->empty()) inputs.push_back(*path);
  }
  if (!data.corpus.empty()) return data.lines > kMostLines ? "the corpus is long" : "";
  if (inputs.empty()) return "none is named";
  if (std::ranges::count(inputs, kStandardInput)) return "it is standard input";
  std::uintmax_t bytes = 0;
  for (const std::string& input : inputs) {
    try {
      if (is_read_once(input)) return input + " can be read only once";
      for (const fs::path& path : expand_inputs(std::span(&input, 1))) bytes += fs::file_size(path);
    } catch (const std::exception&) {
      return input + " is not there";
    }
  }
  return bytes > kMostBytes ? "it is large" : "";
}

// Where the size of the vocabulary comes from.
std::string vocabulary_origin(const ResolvedConfig& config, bool of_run, bool data_read) {
  const Config::Tokenizer& tokenizer = config.tokenizer;
  const bool from_files = !tokenizer.file.empty() && (tokenizer.joint || !tokenizer.target_file.empty());
  if (of_run || from_files) return "the tokenizer's";
  if (data_read) return "learned from the data";
  return tokenizer.kind == TokenizerKind::character ? "assumed" : "tokenizer.vocab";
}

// Measurements in the metrics of a run.
struct Measured {
  std::int64_t steps = 0;
  std::optional<double> step_seconds;  // the median over steps between which nothing was evaluated
  double elapsed_seconds = 0;
  std::int64_t peak_bytes = 0;  // 0: unknown
};

std::optional<Measured> read_measured(const RunFolder& run) {
  if (!fs::exists(run.metrics())) return std::nullopt;
  Measured result;
  std::vector<double> seconds;
  std::optional<double> before;
  for (const Json& line : read_metrics(run.metrics())) {
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

// A change of the configuration that saves memory.
struct Advice {
  ConfigOverrides changes;
  std::int64_t peak_bytes;
};

struct Info {
  ResolvedConfig config;
  std::string no_data;       // why_no_data()
  std::string vocab_origin;  // vocabulary_origin()
  ModelCosts costs;
  std::int64_t weight_bytes = 0, gradient_bytes = 0, optimizer_bytes = 0;
  std::int64_t machine_bytes = 0;
  double machine_flops = 0;
  std::optional<DryRun> dry_run = std::nullopt;
  double step_seconds = 0;
  std::int64_t evaluations = 0;
  std::vector<Advice> advice = {};
  std::optional<Measured> measured = std::nullopt;

  std::int64_t state_bytes() const { return weight_bytes + gradient_bytes + optimizer_bytes; }
  std::int64_t peak_bytes() const { return dry_run ? dry_run->peak_bytes : state_bytes(); }
  bool fits() const { return peak_bytes() <= machine_bytes; }
  std::optional<double> evaluation_seconds() const { return dry_run ? dry_run->evaluation_seconds : std::nullopt; }
  double training_seconds() const {
    return static_cast<double>(config.train.steps) * step_seconds +
           static_cast<double>(evaluations) * evaluation_seconds().value_or(0);
  }
  double step_flops() const { return costs.flops_per_token * static_cast<double>(costs.tokens_per_step); }
  double share_of_peak() const { return step_flops() / step_seconds / machine_flops; }
  const char* method() const { return !dry_run ? "computed" : dry_run->scaled ? "scaled" : "measured"; }
};

// The largest micro-steps that fit into memory, with and without recomputing, for the same number of tokens in a step.
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
      if (peak > info.machine_bytes && 2 * parts <= rows) continue;
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

// Fills the cache folder in a child process, so that the memory for this does not count as the training's: reads the
// text, and measures the machine. Errors in the text are reported when it is read again.
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

Info gather(const InfoArguments& arguments) {
  std::optional<RunFolder> run;
  if (fs::is_directory(arguments.target)) run = find_run(arguments.target).run;
  std::vector<std::string> notes;
  Config values = run ? override_config(load_run_config(run->config()), arguments.overrides, notes).values()
                      : new_config(load_config(arguments.target), arguments.overrides).values();
  if (!run) {
    use_initial_tokenizers(values);
  } else if (const auto step = latest_step(*run); step && fs::exists(run->checkpoint(*step))) {
    require_run_files(*run, run->checkpoint(*step));
  }
  const ResolvedConfig config = resolve(std::move(values));
  for (const std::string& note : notes) spdlog::info("{}", note);
  if (config.train.threads > 0) set_thread_count(static_cast<int>(config.train.threads));

  Info info{.config = config, .no_data = why_no_data(config.data), .vocab_origin = {}, .costs = {}};
  info.vocab_origin = vocabulary_origin(config, run.has_value(), info.no_data.empty());
  std::unique_ptr<ObjectiveData> first;  // the data that was read for `costs`
  const DataReader read = [&](const ResolvedConfig& with) {
    if (first && with == config) return std::move(first);
    const RunFolder* const folder = run ? &*run : nullptr;
    return info.no_data.empty() ? with.task_row().prepare(with, folder, show_progress)
                                : with.task_row().dummy(with, folder);
  };
  fill_cache(config, read);
  first = read(config);
  info.costs = model_costs(config, *first);
  info.weight_bytes = 4 * info.costs.total;
  info.gradient_bytes = 4 * info.costs.learning;
  info.optimizer_bytes = 4 * info.costs.optimizer_numbers;
  info.machine_bytes = machine_memory_bytes();
  info.machine_flops = machine_peak_flops(matmul_precision(config), thread_count());
  info.step_seconds = info.step_flops() / (kUsualShare * info.machine_flops);
  const std::int64_t every = config.eval.every, steps = config.train.steps;
  info.evaluations = every > 0 ? (steps + every - 1) / every : 1;
  if (run) info.measured = read_measured(*run);
  if (arguments.seconds <= 0 || !info.fits()) return info;

  const DryRunOptions options{
      .seconds = arguments.seconds,
      .expected_micro_seconds = info.step_seconds / static_cast<double>(config.train.accumulate),
      .progress = show_progress("timing some steps")};
  try {
    info.dry_run = dry_run(config, read, options);
  } catch (const OutOfMemory&) {
    return info;
  } catch (const std::bad_alloc&) {
    return info;
  }
  info.step_seconds = info.dry_run->step_seconds;
  if (info.share_of_peak() > 1) {
    info.machine_flops = machine_peak_flops_again(matmul_precision(config), thread_count());
  }
  if (!info.fits()) info.advice = advise(info, read, options);
  return info;
}

// Groups of consecutive layers with equally many parameters: the first and the last layer of each group.
std::vector<std::pair<const ModelCosts::Layer*, const ModelCosts::Layer*>> equal_layers(const ModelCosts& costs) {
  const auto stem = [](const ModelCosts::Layer& layer) { return layer.name.substr(0, layer.name.rfind('.')); };
  std::vector<std::pair<const ModelCosts::Layer*, const ModelCosts::Layer*>> runs;
  for (const ModelCosts::Layer& layer : costs.layers) {
    const bool goes_on =
        !runs.empty() && runs.back().second->parameters == layer.parameters && stem(*runs.back().second) == stem(layer);
    if (goes_on) {
      runs.back().second = &layer;
    } else {
      runs.emplace_back(&layer, &layer);
    }
  }
  return runs;
}

template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json json_of(const Info& info) {
  const ModelCosts& costs = info.costs;
  Json parameters, layers = Json::object(), layer_parts = Json::object();
  for (const ModelCosts::Part& part : costs.parts) parameters[part.key] = part.parameters;
  parameters["total"] = costs.total;
  if (costs.without_heads) parameters["without_heads"] = *costs.without_heads;
  for (const ModelCosts::Layer& layer : costs.layers) layers[layer.name] = layer.parameters;
  for (const auto& [first, last] : equal_layers(costs)) {
    for (const ModelCosts::Part& part : first->parts) layer_parts[first->name][part.key] = part.parameters;
  }
  std::optional<std::int64_t> activations, other, peak;
  if (info.dry_run) {
    activations = info.dry_run->activation_bytes;
    peak = info.dry_run->peak_bytes;
    other = *peak - info.state_bytes() - *activations;
  }
  Json advice = Json::array();
  for (const Advice& option : info.advice) {
    Json set;
    for (const auto& [key, value] : option.changes) set[key] = value.front();
    advice.push_back(
        {{"set", set}, {"peak_bytes", option.peak_bytes}, {"fits", option.peak_bytes <= info.machine_bytes}});
  }
  Json json{{"type", info.config.model.type},
            {"vocab", costs.vocab},
            {"vocab_from", info.vocab_origin},
            {"data", info.no_data.empty() ? "read" : "made up"},
            {"parameters", parameters},
            {"layers", layers},
            {"layer_parts", layer_parts},
            {"learning", costs.learning},
            {"memory",
             {{"weights", info.weight_bytes},
              {"gradients", info.gradient_bytes},
              {"optimizer", info.optimizer_bytes},
              {"activations", json_of(activations)},
              {"other", json_of(other)},
              {"peak", json_of(peak)},
              {"machine", info.machine_bytes}}},
            {"fits", info.fits()},
            {"advice", advice},
            {"matmul", word_of(info.config.train.matmul)},
            {"threads", thread_count()},
            {"machine_flops", info.machine_flops},
            {"tokens_per_step", costs.tokens_per_step},
            {"flops_per_token", costs.flops_per_token},
            {"method", info.method()},
            {"step_seconds", info.step_seconds},
            {"evaluation_seconds", json_of(info.evaluation_seconds())},
            {"evaluations", info.evaluations},
            {"training_seconds", info.training_seconds()}};
  if (const auto& measured = info.measured) {
    json["measured"] = {{"steps", measured->steps},
                        {"step_seconds", json_of(measured->step_seconds)},
                        {"training_seconds", measured->elapsed_seconds},
                        {"peak", measured->peak_bytes > 0 ? Json(measured->peak_bytes) : Json()}};
  }
  return json;
}

// 1234567 → "1,234,567"
std::string with_commas(std::int64_t value) {
  std::string digits = std::to_string(value);
  for (int place = static_cast<int>(digits.size()) - 3; place > 0; place -= 3) digits.insert(place, ",");
  return digits;
}

template <class... Values>
std::string print(const char* format, Values... values) {
  char text[96];
  std::snprintf(text, sizeof(text), format, values...);
  return text;
}

std::string mebibytes(std::int64_t bytes) {
  const double value = static_cast<double>(bytes) / (1 << 20);
  return value < 1000 ? print("%.1f MiB", value) : with_commas(std::llround(value)) + " MiB";
}

std::string short_time(double seconds) {
  return seconds < 1    ? print("%.1f ms", 1e3 * seconds)
         : seconds < 60 ? print("%.2f s", seconds)
                        : format_duration(seconds);
}

void row(const std::string& name, const std::string& value, const std::string& note = "") {
  std::printf("  %-34s %16s%s%s\n", name.c_str(), value.c_str(), note.empty() ? "" : "   ", note.c_str());
}

void print_layers(const ModelCosts& costs) {
  for (const auto& [first, last] : equal_layers(costs)) {
    const std::string number = last->name.substr(last->name.rfind('.') + 1);
    row(first == last ? first->name : str_cat("each of ", first->name, " to ", number), with_commas(first->parameters));
    for (const ModelCosts::Part& part : first->parts) row("  " + part.key, with_commas(part.parameters));
  }
}

void print_memory(const Info& info) {
  std::printf("\nmemory\n");
  row("weights", mebibytes(info.weight_bytes));
  row("gradients", mebibytes(info.gradient_bytes));
  row("state of " + info.config.optimizer.name, mebibytes(info.optimizer_bytes));
  if (!info.dry_run) {
    row("together", mebibytes(info.state_bytes()), "activations come on top");
  } else {
    row("activations", mebibytes(info.dry_run->activation_bytes));
    row("program, data and the rest",
        mebibytes(info.peak_bytes() - info.state_bytes() - info.dry_run->activation_bytes));
    row(info.dry_run->scaled ? "peak, about" : "peak", mebibytes(info.peak_bytes()));
  }
  if (info.measured && info.measured->peak_bytes > 0) row("peak, measured", mebibytes(info.measured->peak_bytes));
  row("this machine", mebibytes(info.machine_bytes), info.fits() ? "" : "IT DOES NOT FIT");
  if (info.fits()) return;
  if (info.advice.empty()) std::printf("  what helps: a smaller model\n");
  for (const Advice& option : info.advice) {
    std::string changes;
    for (const auto& [key, value] : option.changes) changes += str_cat(" --", key, " ", value.front());
    std::printf("  what helps:%s\n", changes.c_str());
    row("", mebibytes(option.peak_bytes), option.peak_bytes <= info.machine_bytes ? "about" : "not enough");
  }
}

void print_time(const Info& info) {
  const Config::Train& train = info.config.train;
  std::printf("\ntime, on %d thread%s, with products in %s precision (at most %.0f GFLOP/s)\n", thread_count(),
              thread_count() > 1 ? "s" : "", word_of(train.matmul).c_str(), 1e-9 * info.machine_flops);
  row("tokens of a step", with_commas(info.costs.tokens_per_step));
  const double gflop = 1e-9 * info.step_flops();
  if (gflop > 0) {
    row("operations of a step",
        gflop < 1000 ? print("%.3g GFLOP", gflop) : with_commas(std::llround(gflop)) + " GFLOP");
  }
  const std::string about = info.method() == std::string("measured") ? "" : ", about";
  row("a step" + about, short_time(info.step_seconds),
      gflop > 0 ? print("%.0f %% of that", 100 * std::min(1.0, info.share_of_peak())) : "");
  if (const auto seconds = info.evaluation_seconds()) row("an evaluation", short_time(*seconds));
  row(with_commas(train.steps) + " steps" + about, short_time(info.training_seconds()),
      info.evaluation_seconds() ? str_cat("with ", with_commas(info.evaluations), " evaluations")
                                : "without evaluations");
  if (const auto& measured = info.measured) {
    if (measured->step_seconds) row("a step, measured", short_time(*measured->step_seconds));
    row(with_commas(measured->steps) + " steps, measured", short_time(measured->elapsed_seconds));
  }
  const bool bleu = info.config.task_row().has_bleu && info.config.eval.bleu_every > 0;
  if (bleu) std::printf("  BLEU of the validation data (eval.bleu_every) comes on top\n");
}

void print_text(const Info& info) {
  std::printf("%s, vocabulary of %s (%s)\n", info.config.model.type.c_str(), with_commas(info.costs.vocab).c_str(),
              info.vocab_origin.c_str());
  if (!info.no_data.empty()) {
    std::printf("no data is read (%s): random tokens take its place\n", info.no_data.c_str());
    if (info.config.task_row().reads_sentences)
      std::printf("sentences are assumed to have %d tokens\n", static_cast<int>(kDummyLength));
  }
  std::printf("\nparameters\n");
  for (const ModelCosts::Part& part : info.costs.parts) row(part.label, with_commas(part.parameters));
  row("total", with_commas(info.costs.total));
  if (info.costs.without_heads) row("without heads", with_commas(*info.costs.without_heads));
  if (info.costs.learning < info.costs.total) row("of which learn", with_commas(info.costs.learning));
  print_layers(info.costs);
  print_memory(info);
  print_time(info);
}

void print_info(const InfoArguments& arguments) {
  const Info info = gather(arguments);
  if (arguments.json) {
    std::cout << json_of(info) << '\n';
  } else {
    print_text(info);
  }
}

}  // namespace

void add_info_command(CLI::App& app) {
  auto arguments = std::make_shared<InfoArguments>();
  CLI::App* command =
      app.add_subcommand("info", "A dry run: parameters, memory and time of a training, from some steps of it");
  command->add_option("target", arguments->target, "A configuration file or a run's folder")->required();
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command
      ->add_option("--seconds", arguments->seconds,
                   "Time steps for so long, about; 0: run none, and compute what can be known without [4]")
      ->check(CLI::NonNegativeNumber);
  add_config_options(*command, arguments->overrides);
  command->callback([arguments] { print_info(*arguments); });
}

}  // namespace tapeformer::cli
