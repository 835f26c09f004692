#include "train/loop/initial_weights.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/files.h"
#include "core/text/joined.h"
#include "data/synthetic/corpora.h"
#include "tokenizer/tokenizer.h"
#include "train/config/data_kinds.h"
#include "train/config/key_text.h"
#include "train/config/run_config.h"
#include "train/config/shared_task_keys.h"
#include "train/run/checkpoint.h"
#include "train/run/chosen_checkpoint.h"

namespace tapeformer {
namespace {

// The run, or the checkpoint in a run, that `path` belongs to; nullopt for a file of weights outside any checkpoint.
std::optional<std::filesystem::path> place_in_run(const std::filesystem::path& path) {
  if (path.extension() != ".safetensors") return path;
  const std::filesystem::path file = absolute_path(path), folder = file.parent_path();
  const std::filesystem::path checkpoints = folder.parent_path();
  const bool in_run =
      checkpoints.filename() == "checkpoints" && is_there(RunFolder{checkpoints.parent_path()}.config());
  return in_run && file == checkpoint_weights(folder) ? std::optional(folder) : std::nullopt;
}

// Reads all tensors except those of adapters, which keep their initial values. The file may also have tensors whose
// names begin with `unread`.
void load_file(const std::filesystem::path& path, const Module& model, std::string_view unread = {}) {
  const SafetensorsFile file(path);
  NamedTensors tensors = model.named_tensors();
  std::erase_if(tensors, [](const auto& tensor) { return is_adapter(tensor.first); });
  try {
    Module::load_tensors(tensors, file, unread);
  } catch (const IoError&) {
    throw;
  } catch (const Error& error) {
    fail("train.init_from: ", path.string(), " does not fit the model: ", error.what());
  }
}

// The tokenizers that the configuration names and that differ from the run's.
std::vector<std::string> other_tokenizers(const ResolvedConfig& config, const RunFolder& run) {
  std::vector<std::string> lines;
  const auto compare = [&](const char* key, const std::string& file, const std::filesystem::path& trained) {
    if (file.empty() || !is_there(trained) || Tokenizer::load(file)->hash() == Tokenizer::load(trained)->hash()) return;
    lines.push_back(str_cat(key, ": ", file, " is another tokenizer than ", trained.string(),
                            ", with which the weights were trained"));
  };
  compare("tokenizer.file", config.tokenizer.file, run.tokenizer());
  compare("tokenizer.target_file", config.tokenizer.target_file, run.target_tokenizer());
  return lines;
}

// Takes the family of the other run, and the keys of its shape that are not given. Returns a line about the taken
// values that differ from the defaults.
std::vector<std::string> imply_from_run(Config& config, const Config& initial) {
  Config::Model& model = config.model;
  std::string taken;
  const auto take = [&](std::string_view key, std::string_view value) {
    taken += str_cat(taken.empty() ? "" : ", ", "model.", key, " = ", value);
  };
  if (!model.type_is_given && model.type != initial.model.type) {
    model.type = initial.model.type;
    take("type", model.type);
  }
  if (model.type != initial.model.type) return {};
  for (const Key& key : find_model_family(model.type).keys) {
    const auto value = initial.model.options.find(key.name);
    const bool follows = initial.derived && std::ranges::count(*initial.derived, "model." + key.name) > 0;
    const bool of_first_weights = key.name == "init_std";  // the weights that are read replace the initial ones
    if (key.may_change || follows || of_first_weights || value == initial.model.options.end()) continue;
    const bool is_new = model.options.insert(*value).second;
    if (is_new && value->second != key.default_value) take(key.name, command_line_text(value->second));
  }
  if (taken.empty()) return {};
  return {str_cat("as in ", config.train.init_from, ": ", taken)};
}

// The model keys that differ between the two models and change what the same weights compute.
std::vector<std::string> differences(const ResolvedConfig& config, const ResolvedConfig& initial) {
  static constexpr std::string_view kHarmless[] = {"context",  "dropout",   "attention_dropout",
                                                   "init_std", "zero_init", "forget_bias"};
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

// Sets task.kind if the data implies it. A generated corpus of conversations counts as data.conversations.
std::vector<std::string> imply_task(Config& config) {
  if (config.task.kind != kNoTask) return {};
  const std::string& corpus = config.data.corpus;
  const bool has_conversations = config.tasks.empty() && !corpus.empty() && is_conversation_corpus(corpus);
  std::vector<std::string> kinds = data_kinds(config.data);
  if (has_conversations) kinds.emplace_back("data.conversations");
  if (!config.tasks.empty()) kinds.emplace_back(kTasksSection);
  for (const TaskRow& task : task_rows()) {
    if (task.implied_by.empty() || std::ranges::count(kinds, task.implied_by) == 0) continue;
    config.task.kind = task.name;
    const std::string why = has_conversations ? str_cat("the corpus ", corpus, " has conversations")
                                              : str_cat(task.implied_by, " is given");
    return {str_cat("task.kind = ", task.name, ", since ", why)};
  }
  return {};
}

// Whether the training data is sentences with translations. Throws UsageError for a generated corpus of images: models
// of images read it, and its texts are parallel text, so it does not say which model is meant.
bool is_parallel(const Config::Data& data) {
  if (data.corpus.empty()) return !data.source.empty() || !data.target.empty() || !data.pairs.empty();
  if (is_image_corpus(data.corpus)) {
    const auto families = [](bool (ModelFamily::*fits)() const) {
      std::vector<std::string> names;
      for (const ModelFamily& family : model_families()) {
        if ((family.*fits)()) names.push_back(family.name);
      }
      return joined(names, " or ");
    };
    fail_usage("model.type: expected ", families(&ModelFamily::reads_images),
               " for the images of data.corpus = ", data.corpus, ", or ", families(&ModelFamily::is_encoder_decoder),
               " for its texts, got none");
  }
  return is_parallel_corpus(data.corpus);
}

}  // namespace

std::optional<RunFolder> initial_run(const std::string& init_from) {
  const auto place = place_in_run(init_from);
  return place ? std::optional(find_run(*place).run) : std::nullopt;
}

std::vector<std::string> imply_model(Config& config) {
  std::vector<std::string> lines = imply_task(config);
  const std::string& path = config.train.init_from;
  if (const auto initial = path.empty() ? std::nullopt : initial_run(path)) {
    std::ranges::move(imply_from_run(config, load_run_config(initial->config())), std::back_inserter(lines));
    return lines;
  }
  // A model that is fine-tuned on a task reads pairs as texts of their own.
  if (config.model.type_is_given || config.task.kind != kNoTask || !is_parallel(config.data)) return lines;
  config.model.type = "transformer";
  lines.push_back(str_cat("model.type = ", config.model.type, ", since the data is parallel text"));
  return lines;
}

bool use_initial_tokenizers(Config& config) {
  const std::string& path = config.train.init_from;
  if (path.empty() || !config.tokenizer.file.empty()) return false;
  const std::optional<RunFolder> run = initial_run(path);
  if (!run) return false;
  const Config::Tokenizer trained = resolve(load_run_config(run->config())).tokenizer;
  config.tokenizer = trained;
  config.tokenizer.sample = Config::Tokenizer().sample;  // no tokenizer is learned
  config.tokenizer.file = absolute_path(run->tokenizer()).string();
  config.tokenizer.target_file = trained.joint ? "" : absolute_path(run->target_tokenizer()).string();
  return true;
}

std::vector<std::string> load_initial_weights(const ResolvedConfig& config, const Module& model) {
  const std::string& path = config.train.init_from;
  const auto run = place_in_run(path);
  if (!run) {
    load_file(path, model);
    return {str_cat("train.init_from: ", path,
                    " is in no run: whether its weights were trained with these tokens cannot be told")};
  }
  return with_checkpoint(*run, [&](const UsableCheckpoint& found) {
    const ResolvedConfig initial = resolve(load_run_config(checkpoint_config(found.run, found.folder)));
    check(!initial.task_row().has_labels, "train.init_from: ", found.run.root.string(), " is fine-tuned to ",
          initial.task.kind, ": expected a run without task.kind; train --resume goes on with one that has it");
    check(initial.train.lora_rank == 0, "train.init_from: ", found.run.root.string(),
          " has adapters (train.lora.rank = ", initial.train.lora_rank,
          "): expected a run without, such as export --merge and import make of it");
    load_file(checkpoint_weights(found.folder), model, initial.task_row().is_multi_task ? kClassifierTensors : "");
    std::vector<std::string> lines = found.warnings;
    for (std::string& line : other_tokenizers(config, found.run)) lines.push_back(std::move(line));
    for (std::string& line : differences(config, initial)) lines.push_back(std::move(line));
    return lines;
  });
}

}  // namespace tapeformer
