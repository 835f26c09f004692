#include "train/initial_weights.h"

#include <algorithm>

#include "train/config/key_text.h"
#include "train/config/run_config.h"
#include "train/run/checkpoint.h"
#include "train/trained_model.h"

namespace tapeformer {
namespace {

bool is_file_of_weights(const std::string& path) { return path.ends_with(".safetensors"); }

void load_file(const std::filesystem::path& path, const Module& model) {
  const SafetensorsFile file(path);
  try {
    model.load_state_dict(file);
  } catch (const Error& error) {
    fail("train.init_from: ", path.string(), " does not fit the model: ", error.what());
  }
}

// The keys of the two models that change what the same weights compute, where they differ.
std::vector<std::string> differences(const ResolvedConfig& config, const ResolvedConfig& initial) {
  static constexpr std::string_view kHarmless[] = {"context", "dropout", "attention_dropout", "init_std"};
  std::vector<std::string> lines;
  for (const auto& [name, value] : config.model.options.entries()) {
    if (std::ranges::count(kHarmless, name) > 0 || !initial.model.options.has(name)) continue;
    const KeyValue& before = initial.model.options.get(name);
    if (before == value) continue;
    lines.push_back(str_cat("model.", name, " is ", command_line_text(value), "; the weights were trained with ",
                            command_line_text(before)));
  }
  return lines;
}

}  // namespace

bool use_initial_tokenizers(Config& config) {
  const std::string& path = config.train.init_from;
  if (path.empty() || is_file_of_weights(path) || !config.tokenizer.file.empty()) return false;
  const RunFolder run = find_run(path).run;
  const Config::Tokenizer trained = resolve(load_run_config(run.config())).tokenizer;
  const auto absolute = [](const std::filesystem::path& file) {
    return std::filesystem::absolute(file).lexically_normal().string();
  };
  config.tokenizer = trained;
  config.tokenizer.file = absolute(run.tokenizer());
  config.tokenizer.target_file = trained.joint ? "" : absolute(run.target_tokenizer());
  return true;
}

std::vector<std::string> load_initial_weights(const ResolvedConfig& config, const Module& model) {
  const std::string& path = config.train.init_from;
  if (is_file_of_weights(path)) {
    load_file(path, model);
    return {};
  }
  return with_checkpoint(path, [&](const UsableCheckpoint& found) {
    const ResolvedConfig initial = resolve(load_run_config(checkpoint_config(found.run, found.folder)));
    check(!initial.has_task(), "train.init_from: ", found.run.root.string(), " is fine-tuned to ", initial.task.kind,
          ": expected a run without task.kind; train --resume goes on with one that has it");
    load_file(checkpoint_weights(found.folder), model);
    std::vector<std::string> lines = found.warnings;
    for (std::string& line : differences(config, initial)) lines.push_back(std::move(line));
    return lines;
  });
}

}  // namespace tapeformer
