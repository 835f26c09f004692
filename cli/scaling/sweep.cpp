#include "cli/scaling/sweep.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "cli/options/config_options.h"
#include "cli/scaling/laws.h"
#include "cli/study/study_runs.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/results.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/parallel.h"
#include "core/text/parse_number.h"
#include "data/synthetic/corpora.h"
#include "tasks/plan/sizes.h"
#include "tasks/plan/speed.h"
#include "train/config/task_row.h"
#include "train/loop/run_summary.h"
#include "train/run/disk.h"

namespace tapeformer::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSixteenths[] = {3, 4, 5, 6, 7, 8, 16};  // of the largest width, in a planned sweep

// The keys that the user must not give, since a sweep decides them, or since they would fix widths for all sizes.
constexpr std::string_view kRefused[] = {"train.steps",    "train.minutes",   "train.seed",  "train.init_from",
                                         "model.head_dim", "model.value_dim", "model.ff_dim"};
// The keys that each size sets anew, so that the options for all trainings leave them out.
constexpr std::string_view kOfSize[] = {"model.layers", "model.dim", "optimizer.lr", "optimizer.adamw_lr"};

struct SweepSize {
  std::string name;
  std::int64_t parameters = 0;  // without embeddings and heads
  Config config;
  TrainOptions options;
};

// The configuration that the file and the options give, whose width and depth are those of the largest model.
ResolvedConfig base_config(const SweepRequest& request) {
  const std::set<std::string> in_file = keys_given_in(request.config);
  for (const std::string_view key : kRefused) {
    const bool ends_training = key == "train.steps";  // allowed in a file: the tokens or minutes replace it
    if (has_override(request.overrides, key) || (!ends_training && in_file.contains(std::string(key)))) {
      fail_usage("scaling sweep: expected no ", key, ": the sizes, the tokens or minutes and the seeds decide it");
    }
  }
  const ResolvedConfig config = new_config(load_config(request.config), request.overrides);
  require_data(config.values());
  const KeyValues& keys = config.model.options;
  if (!keys.has("layers") || !keys.has("dim") || config.task_row().reads_sentences || config.task.kind != kNoTask) {
    fail_usage("scaling sweep: expected a model of text with layers and dim, such as gpt, got ", config.model.type,
               config.task.kind == kNoTask ? "" : " with task.kind");
  }
  return config;
}

// Throws UsageError if --entropy is no word or number that it takes, or asks for the entropy of a corpus that the
// trainings will not know: bits per byte, which it takes too, need all validation data and the loss of a text.
void check_entropy(const SweepRequest& request, const ResolvedConfig& base) {
  ScalingRuns runs;
  if (!base.data.corpus.empty() && base.eval.batches == 0 && base.task_row().has_perplexity)
    runs.entropy = corpus_entropy_per_byte(base.data.corpus, base.data.document == DocumentEnd::line);
  (void)irreducible_loss(request.entropy, runs);
}

// Sets the learning rate for this width as plans do: Adam's falls with the root of the width, and Muon's does not.
void set_rates(Config& config, const ResolvedConfig& base, std::int64_t dim, TrainOptions& options) {
  const double widths = static_cast<double>(*base.model_dim()) / static_cast<double>(dim);
  const auto set = [&](const std::string& key, double rate, double power) {
    const double factor = std::pow(widths, power);
    const std::string text = factor == 1 ? fmt::format("{}", rate) : fmt::format("{:.3g}", rate * factor);
    apply_override(config, key, text);
    options.insert(options.end(), {"--" + key, text});
  };
  const std::string& name = base.optimizer.name;
  const bool adam = name == "adam" || name == "adamw";
  set("optimizer.lr", base.optimizer.lr, adam ? tuning::kAdamPower : 0);
  if (name == "muon")
    set("optimizer.adamw_lr", std::get<double>(base.optimizer.options.at("adamw_lr")), tuning::kAdamPower);
}

SweepSize size_of(const ResolvedConfig& base, const Config& given, std::int64_t layers, std::int64_t dim) {
  Config config = given;
  TrainOptions options;
  for (const auto& [key, value] : {std::pair{"model.layers", layers}, std::pair{"model.dim", dim}}) {
    apply_override(config, key, std::to_string(value));
    options.insert(options.end(), {str_cat("--", key), std::to_string(value)});
  }
  set_rates(config, base, dim, options);
  const std::int64_t parameters = count_parameters(resolve(config)).non_embedding;
  return {.name = str_cat(layers, "x", dim),
          .parameters = parameters,
          .config = std::move(config),
          .options = std::move(options)};
}

// Reads "2x64" or "64", which means the layers of the configuration. Returns layers and width.
std::pair<std::int64_t, std::int64_t> read_size(const std::string& text, std::int64_t layers) {
  const auto number = [&](std::string_view digits) {
    const auto value = parse_number<std::int64_t>(digits);
    if (!value || *value < 1) fail_usage("--sizes: expected WIDTH or LAYERSxWIDTH, such as 64 or 2x64, got ", text);
    return *value;
  };
  const std::size_t cross = text.find('x');
  if (cross == text.npos) return {layers, number(text)};
  return {number(std::string_view(text).substr(0, cross)), number(std::string_view(text).substr(cross + 1))};
}

// The sizes in the order of their parameters.
std::vector<SweepSize> sizes_of(const SweepRequest& request, const ResolvedConfig& base) {
  const KeyValues& keys = base.model.options;
  std::vector<std::string> words = request.sizes;
  if (words.empty()) {
    const std::int64_t unit = keys.has("heads") ? 2 * keys.integer("heads") : 2;
    for (const std::int64_t width : planned_widths(keys.integer("dim"), unit)) words.push_back(std::to_string(width));
  }
  const Config given = given_config(load_config(request.config), request.overrides).values;
  std::vector<SweepSize> sizes;
  for (const std::string& word : words) {
    const auto [layers, dim] = read_size(word, keys.integer("layers"));
    sizes.push_back(size_of(base, given, layers, dim));
  }
  std::ranges::stable_sort(sizes, {}, &SweepSize::parameters);
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i].parameters == sizes[i - 1].parameters)
      fail_usage("--sizes: ", sizes[i - 1].name, " and ", sizes[i].name, " have equally many parameters");
  }
  const std::size_t least = request.entropy == "free" ? 5 : 4;  // one more than the law has parameters, and the largest
  if (sizes.size() < least) fail_usage("--sizes: expected at least ", least, ", got ", sizes.size());
  return sizes;
}

double tokens_of_step(const ResolvedConfig& config) {
  return static_cast<double>(config.train.batch * config.train.accumulate * config.block_size());
}

// The steps of every training, for the tokens, or for the minutes, by the measured speeds of all sizes.
std::int64_t steps_of(const SweepRequest& request, const ResolvedConfig& base, const std::vector<SweepSize>& sizes) {
  double steps = 0;
  if (request.tokens) {
    steps = *request.tokens / tokens_of_step(base);
  } else {
    log_info("measuring how fast this machine trains each size");
    if (base.train.threads > 0) set_thread_count(static_cast<int>(base.train.threads));
    const StepTimer time = measuring_timer(*request.minutes);
    double of_all = 0;
    for (const SweepSize& size : sizes) {
      const std::optional<double> seconds = time(resolve(size.config));
      check(seconds.has_value(), "--minutes: there was no time or memory to measure a step of ", size.name);
      of_all += *seconds * static_cast<double>(request.seeds.size());
    }
    steps = steps_seconds(*request.minutes) / of_all;
  }
  check(steps >= 1, "scaling sweep: expected more tokens or minutes: a step reads ", tokens_of_step(base), " tokens");
  return std::llround(steps);
}

// Returns the steps of every training, and keeps them in plan.json: if a sweep with --minutes goes on, another
// measurement would give another number. Throws Error if there are runs of another plan, which stays.
std::int64_t planned_steps(const SweepRequest& request, const ResolvedConfig& base,
                           const std::vector<SweepSize>& sizes) {
  const fs::path file = request.out / "plan.json", runs = request.out / "sizes";
  Json plan{{"minutes", request.minutes ? Json(*request.minutes) : Json()}, {"sizes", Json::array()}};
  for (const SweepSize& size : sizes) plan["sizes"].push_back({{"size", size.name}, {"N", size.parameters}});
  if (request.tokens) plan["steps"] = steps_of(request, base, sizes);
  if (is_there(file)) {
    const Json before = parse_json<Json>(read_file(file), file.string() + ": ");
    bool same = before.is_object();
    for (const auto& [key, value] : plan.items()) same = same && before.value(key, Json("none")) == value;
    if (same) return before["steps"];
    check(!is_folder(runs) || runs_below(runs).empty(), runs.string(), " has runs of another plan, that of ",
          file.string(), ": remove the folder, or name another one by --out");
  }
  if (request.minutes) plan["steps"] = steps_of(request, base, sizes);
  plan["tokens"] = plan["steps"].get<double>() * tokens_of_step(base);
  make_folder(request.out);
  write_file_atomically(file, dump_json(plan, 1) + "\n");
  return plan["steps"];
}

Study study_of(const SweepRequest& request, std::span<const SweepSize> sizes, std::int64_t steps) {
  Study study{.file = request.config,
              .name = "sweep",
              .title = "",
              .claim = "",
              .seeds = request.seeds,
              .config = request.config,
              .options = {},
              .variants = {},
              .measures = {{.name = "loss", .value = "eval_loss"}, {.name = "tokens", .value = "tokens"}},
              .checks = {}};
  for (const char* key : {"--train.steps", "--eval.every", "--checkpoint.every"}) {
    study.options.insert(study.options.end(), {key, std::to_string(steps)});
  }
  for (const SweepSize& size : sizes) study.variants.push_back({.name = size.name, .options = size.options});
  return study;
}

struct Trained {
  ScalingRuns runs;
  double seconds = 0;
};

// Trains the sizes of a study, in this folder. Returns nullopt if a signal asked to stop.
std::optional<Trained> train_sizes(const Study& study, std::span<const SweepSize> sizes, const fs::path& folder,
                                   const TrainOptions& extra) {
  const auto runs = run_study(study, folder, extra);
  if (!runs) return std::nullopt;
  Trained trained;
  std::vector<std::string> folders;
  for (const StudyRun& run : *runs) {
    check(run.failure.empty(), sizes[run.variant].name, ": ", run.failure);
    trained.seconds += run.seconds;
    folders.push_back(run.folder.string());
  }
  trained.runs = read_scaling_runs(folders);
  return trained;
}

std::string now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

// Returns the prediction in the folder, if there is one and it is equal to that of these laws; else writes and returns
// the prediction of these laws. Throws Error if it would write one after the training of the largest model began.
Json keep_prediction(const fs::path& folder, const Json& laws, std::int64_t parameters) {
  const fs::path file = folder / "prediction.json";
  Json prediction{{"written", now()}, {"N", parameters}};
  const Json& law = laws["laws"][0];
  prediction["loss"] = law["prediction"]["loss"];
  for (const char* side : {"low", "high"}) prediction[side] = law["prediction"][side];
  for (const char* part : {"points", "irreducible", "terms"}) prediction[part] = law[part];
  const bool begun = is_there(folder / "largest");
  if (is_there(file)) {
    const Json before = parse_json<Json>(read_file(file), file.string() + ": ");
    prediction["written"] = before["written"];
    // As the file has it, with null in place of a bound that is infinite.
    if (parse_json<Json>(dump_json(prediction)) == before) return prediction;
    check(!begun, file.string(),
          " is another prediction, and the largest model is trained already: try other laws by "
          "`scaling fit`");
    prediction["written"] = now();
  }
  check(!begun, (folder / "largest").string(), " was trained before there was a prediction");
  write_file_atomically(file, dump_json(prediction, 1) + "\n");
  log_info("predicted before its training: {:.4f} for N = {}", prediction["loss"].get<double>(), parameters);
  return prediction;
}

// Returns the options that apply to all trainings.
TrainOptions shared_options(const ConfigOverrides& overrides) {
  ConfigOverrides shared = overrides;
  for (const std::string_view key : kOfSize) shared.erase(std::string(key));
  return train_options(shared);
}

}  // namespace

std::vector<std::int64_t> planned_widths(std::int64_t largest, std::int64_t unit) {
  std::vector<std::int64_t> widths;
  for (const std::int64_t share : kSixteenths) {
    widths.push_back(std::llround(static_cast<double>(share * largest) / static_cast<double>(16 * unit)) * unit);
  }
  if (widths.front() < unit || std::ranges::adjacent_find(widths) != widths.end()) {
    fail_usage("scaling sweep: model.dim ", largest,
               " is too small to plan sizes: give them by --sizes, as multiples of ", unit);
  }
  return widths;
}

std::optional<Json> run_sweep(const SweepRequest& request) {
  if (request.tokens.has_value() == request.minutes.has_value())
    fail_usage("scaling sweep: expected either --tokens or --minutes");
  const ResolvedConfig base = base_config(request);
  check_entropy(request, base);  // before hours of training
  const std::vector<SweepSize> sizes = sizes_of(request, base);
  const std::int64_t steps = planned_steps(request, base, sizes);
  const std::span<const SweepSize> smaller = std::span(sizes).first(sizes.size() - 1),
                                   largest = std::span(sizes).last(1);
  const TrainOptions extra = shared_options(request.overrides);
  const auto small = train_sizes(study_of(request, smaller, steps), smaller, request.out / "sizes", extra);
  if (!small) return std::nullopt;

  const auto parameters = static_cast<double>(largest.front().parameters);
  const std::optional<double> irreducible = irreducible_loss(request.entropy, small->runs);
  Json result = laws_json(small->runs, {.irreducible = irreducible, .parameters = parameters});
  const Json prediction = keep_prediction(request.out, result, largest.front().parameters);
  const auto large = train_sizes(study_of(request, largest, steps), largest, request.out / "largest", extra);
  if (!large) return std::nullopt;
  double measured = 0;
  for (const ScalingRun& run : large->runs.runs) measured += run.loss / static_cast<double>(large->runs.runs.size());
  const double predicted = prediction["loss"];
  result["sweep"] = {{"written", prediction["written"]},
                     {"largest", parameters},
                     {"predicted", {{"value", predicted}, {"low", prediction["low"]}, {"high", prediction["high"]}}},
                     {"measured", measured},
                     {"error", measured / predicted - 1},
                     {"tokens", static_cast<double>(steps) * tokens_of_step(base)},
                     {"seconds", small->seconds + large->seconds}};
  return result;
}

std::string sweep_text(const Json& result) {
  const Json& sweep = result["sweep"];
  return laws_text(result) + fmt::format("the largest, N = {:.6g}: predicted {} at {}, measured {:.4g} ({:+.2f} %)\n",
                                         sweep["largest"].get<double>(), with_interval(sweep["predicted"]),
                                         sweep["written"].get<std::string>(), sweep["measured"].get<double>(),
                                         100 * sweep["error"].get<double>());
}

}  // namespace tapeformer::cli
