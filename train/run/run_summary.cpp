#include "train/run/run_summary.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "core/error.h"
#include "nn/formats/safetensors.h"
#include "train/config/run_config.h"
#include "train/run/checkpoint.h"
#include "train/run/checkpoint_store.h"
#include "train/run/metrics.h"

namespace tapeformer {
namespace {

namespace fs = std::filesystem;

std::string data_of(const Config::Data& data) {
  if (!data.corpus.empty()) return data.corpus;
  if (!data.text.empty()) return fs::path(data.text.front()).filename().string() + (data.text.size() > 1 ? ", …" : "");
  return fs::path(data.source.empty() ? data.pairs : data.source).filename().string();
}

// The number of parameters in the newest checkpoint; nothing where there is none, or where it was removed just now.
std::optional<std::int64_t> parameters_of(const RunFolder& run) {
  const auto latest = latest_step(run);
  if (!latest) return std::nullopt;
  const fs::path weights = checkpoint_weights(run.checkpoint(*latest));
  std::error_code error;
  if (!fs::exists(weights, error)) return std::nullopt;
  const SafetensorsFile model(weights);
  std::int64_t parameters = 0;
  for (const auto& [name, entry] : model.entries()) parameters += entry.sizes().product();
  return parameters;
}

// Other programs have a config.toml too.
bool is_run(const fs::path& folder) {
  const RunFolder run{folder};
  return fs::exists(run.config()) && (fs::exists(run.metrics()) || fs::exists(run.checkpoints()));
}

}  // namespace

RunSummary summarize_run(const RunFolder& run) {
  const ResolvedConfig config = stored_config(load_run_config(run.config()));
  RunSummary summary;
  summary.run = run;
  summary.type = config.model.type;
  summary.data = data_of(config.data);
  summary.steps = config.train.steps;
  if (fs::exists(run.metrics())) {
    for (const auto& line : read_metrics(run.metrics())) {
      summary.step = line["step"].get<std::int64_t>();
      summary.elapsed_s = line.value("elapsed_s", summary.elapsed_s);
      if (!line.contains("eval_loss") || !line["eval_loss"].is_number()) continue;
      const double loss = line["eval_loss"].get<double>();
      if (summary.best_loss && *summary.best_loss <= loss) continue;
      summary.best_loss = loss;
      const auto bits = line.find("eval_bits_per_byte");
      summary.bits_per_byte = bits != line.end() ? std::optional(bits->get<double>()) : std::nullopt;
    }
  }
  summary.parameters = parameters_of(run);
  summary.state = is_in_training(run) ? "running" : summary.step >= summary.steps ? "finished" : "stopped";
  return summary;
}

std::vector<RunFolder> runs_below(const fs::path& folder) {
  check(fs::is_directory(folder), folder.string(), ": expected a folder");
  if (is_run(folder)) return {{folder}};
  std::vector<RunFolder> runs;
  const auto options = fs::directory_options::skip_permission_denied;
  for (auto entry = fs::recursive_directory_iterator(folder, options); entry != fs::recursive_directory_iterator();
       ++entry) {
    if (!entry->is_directory() || !is_run(entry->path())) continue;
    runs.push_back({entry->path()});
    entry.disable_recursion_pending();
  }
  std::ranges::sort(runs, {}, &RunFolder::root);
  return runs;
}

}  // namespace tapeformer
