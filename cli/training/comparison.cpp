#include "cli/training/comparison.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/terminal/messages.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/results.h"
#include "cli/terminal/stop_signal.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text/numbers.h"
#include "train/run/disk.h"

namespace tapeformer::cli {
namespace {

// The time for a comparison, as a share of the training's and in seconds.
constexpr double kShare = 1.0 / 30, kLeast = 0.2, kMost = 120;

struct Stopped {};

// Returns the baselines; nullopt if there are none, or if the program is asked to stop meanwhile.
std::optional<Baselines> baselines_unless_stopped(Objective& objective, double seconds) try {
  const ProgressCallback show = show_progress("comparing with simple models");
  return objective.baselines(seconds, [&](double share) {
    if (StopSignal::requested()) throw Stopped();
    if (show) show(share);
  });
} catch (const Stopped&) {
  return std::nullopt;
}

Json json_of(const Evaluation& evaluation, std::optional<std::int64_t> bytes) {
  Json json{{"loss", evaluation.loss()}};
  if (bytes) json["bits_per_byte"] = evaluation.bits_per_byte(*bytes);
  return json;
}

Json json_of(const Baselines& baselines, const TrainingState& state, std::optional<std::int64_t> bytes) {
  const Baselines::Ngrams& ngrams = baselines.ngrams;
  const std::int64_t tokens = ngrams.evaluation.tokens;
  Json model{{"step", state.best_step}};
  model.update(json_of({.tokens = tokens, .nats = state.best_loss * static_cast<double>(tokens)}, bytes));
  Json json{{"step", state.step},
            {"tokens", tokens},
            {"model", std::move(model)},
            {"kneser_ney", json_of(ngrams.evaluation, bytes)}};
  json["kneser_ney"].update({{"order", ngrams.order}, {"tokens", ngrams.tokens}, {"of", ngrams.of}});
  if (baselines.xz) {
    json["xz"] = {{"bits_per_byte", baselines.xz->bits_per_byte},
                  {"training_bytes", baselines.xz->training_bytes},
                  {"validation_bytes", baselines.xz->validation_bytes},
                  {"whole", baselines.xz->whole}};
  }
  return json;
}

// Returns the run's comparison.json; null if there is none.
Json stored_comparison(const RunFolder& run) {
  return is_there(run.comparison()) ? parse_json<Json>(read_file(run.comparison())) : Json();
}

std::string comparison_text(const Json& json) {
  const bool bits = json.at("model").contains("bits_per_byte");
  const char* const key = bits ? "bits_per_byte" : "loss";
  const Json& ngrams = json.at("kneser_ney");
  std::string text = fmt::format(
      "for comparison, {} of the same validation {}: this model {:.4g}, a Kneser-Ney {}-gram of the same tokens {:.4g}",
      bits ? "bits per byte" : "nats per token", bits ? "text" : "tokens", json.at("model").at(key).get<double>(),
      ngrams.at("order").get<int>(), ngrams.at(key).get<double>());
  const auto learned = ngrams.at("tokens").get<std::int64_t>(), all = ngrams.at("of").get<std::int64_t>();
  if (learned < all) text += fmt::format(" (of the first {} of {} training tokens)", learned, all);
  if (!json.contains("xz")) return text;
  const Json& xz = json.at("xz");
  text += fmt::format(", xz {:.4g}", xz.at("bits_per_byte").get<double>());
  if (xz.at("whole").get<bool>()) return text;
  return text + fmt::format(" (the first {} of the validation text after the last {} of the training text)",
                            format_bytes(xz.at("validation_bytes")), format_bytes(xz.at("training_bytes")));
}

}  // namespace

std::optional<Baselines> find_baselines(Objective& objective, double training_seconds) try {
  if (!objective.can_evaluate() || StopSignal::requested()) return std::nullopt;
  return baselines_unless_stopped(objective, std::clamp(kShare * training_seconds, kLeast, kMost));
} catch (const std::exception& error) {
  log_warning("not compared with simple models: {}", error.what());
  return std::nullopt;
}

void write_comparison(const Baselines& baselines, const Objective& objective, const TrainingState& state,
                      const RunFolder& run) try {
  std::optional<std::int64_t> bytes;
  if (baselines.xz) bytes = objective.validation().bytes;
  write_file_atomically(run.comparison(), dump_json(json_of(baselines, state, bytes), 1) + "\n");
} catch (const std::exception& error) {
  log_warning("not compared with simple models: {}", error.what());
}

void remove_old_comparison(const TrainingState& state, const RunFolder& run) try {
  const Json json = stored_comparison(run);
  if (!json.is_null() && (state.best_step == 0 || json.at("step").get<std::int64_t>() > state.step))
    remove_path(run.comparison());
} catch (const std::exception&) {
  // print_comparison() tells of what cannot be read
}

bool is_compared(const TrainingState& state, const RunFolder& run) try {
  const Json json = stored_comparison(run);
  return !json.is_null() && json.at("step") == state.step;
} catch (const std::exception&) {
  return true;
}

void print_comparison(const TrainingState& state, const RunFolder& run) try {
  const Json json = stored_comparison(run);
  if (!json.is_null() && json.at("step") == state.step) print_line("{}", comparison_text(json));
} catch (const std::exception& error) {
  log_warning("{}: {}", run.comparison().string(), error.what());
}

}  // namespace tapeformer::cli
