#include "train/tasks/task_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "train/config/model_config.h"
#include "train/objectives/language_data.h"

namespace tapeformer {
namespace {

std::uint64_t hash_of(std::span<const LabelledExample> examples) {
  if (examples.empty()) return 0;
  Hasher hasher;
  for (const LabelledExample& example : examples) {
    hasher.update(std::uint64_t{example.pieces.size()});
    for (std::size_t i = 0; i < example.pieces.size(); ++i) {
      hasher.update(str_cat(example.pieces[i], '\n', example.labels[i], '\n'));
    }
  }
  return hasher.digest();
}

std::vector<std::string> labels_of(std::span<const LabelledExample> examples) {
  std::vector<std::string> labels;
  for (const LabelledExample& example : examples) {
    for (const std::string& label : example.labels) {
      if (!label.empty() && !std::ranges::count(labels, label)) labels.push_back(label);
    }
  }
  return labels;
}

std::unique_ptr<Tokenizer> learn_tokenizer(const ResolvedConfig& config, std::span<const LabelledExample> examples) {
  std::vector<std::string> texts;
  for (const LabelledExample& example : examples) {
    std::string& text = texts.emplace_back();
    for (const std::string& piece : example.pieces) text += (text.empty() ? "" : " ") + piece;
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return train_tokenizer(tokenizer_options(config, false), views);
}

}  // namespace

TaskData prepare_task_data(const ResolvedConfig& config, const RunFolder* resumed) {
  const Config::Data& data = config.data;
  const Task& task = find_task(config.task.kind);
  TaskData result;
  result.train = task.read(data.labels);
  if (!data.valid_labels.empty()) {
    result.valid = task.read(data.valid_labels);
  } else {
    const auto held_out = static_cast<std::int64_t>(data.valid_fraction * static_cast<double>(result.train.size()));
    result.valid.assign(result.train.end() - held_out, result.train.end());
    result.train.resize(result.train.size() - held_out);
  }
  result.train_hash = hash_of(result.train);
  result.valid_hash = hash_of(result.valid);
  result.labels = labels_of(result.train);
  check(!result.labels.empty(), data.labels, ": expected examples with labels, got none");
  if (task.points) result.labels = {"start", "end"};
  if (resumed) {
    const std::vector<std::string> known = read_labels(resumed->labels());
    for (const std::string& label : result.labels) {
      check(std::ranges::count(known, label) > 0, data.labels, ": the label ", label, " is none of those that ",
            resumed->root.string(), " was begun with");
    }
    result.labels = known;
  }
  if (resumed) {
    result.tokenizer = Tokenizer::load(resumed->tokenizer());
  } else {
    result.tokenizer =
        config.tokenizer.file.empty() ? learn_tokenizer(config, result.train) : Tokenizer::load(config.tokenizer.file);
  }
  return result;
}

std::unique_ptr<LabellingModel> make_labelling_model(const ResolvedConfig& config, const Tokenizer& tokenizer,
                                                     std::int64_t labels) {
  return std::make_unique<LabellingModel>(make_text_encoder(config, model_vocabulary(config, tokenizer)),
                                          LabellingOptions{.labels = labels,
                                                           .pooled = find_task(config.task.kind).pooled,
                                                           .mix = config.task.mix,
                                                           .dropout = config.task.dropout,
                                                           .freeze = config.task.freeze});
}

ParameterRates task_rates(const ResolvedConfig& config, const LabellingModel& model) {
  std::vector<std::string> unused;
  for (const ModelPart& part : config.family().parts) {
    if (part.only_pretraining) unused.insert(unused.end(), part.prefixes.begin(), part.prefixes.end());
  }
  return [unused = std::move(unused), rates = model.rates(config.task.layer_decay)](std::string_view name) {
    const auto has_prefix = [&](const std::string& prefix) { return name.starts_with(prefix); };
    return std::ranges::any_of(unused, has_prefix) ? 0 : rates(name);
  };
}

std::vector<std::string> read_labels(const std::filesystem::path& path) {
  const nlohmann::json labels = nlohmann::json::parse(read_file(path), nullptr, false);
  check(labels.is_array() && std::ranges::all_of(labels, [](const auto& label) { return label.is_string(); }),
        path.string(), ": expected a list of strings");
  return labels.get<std::vector<std::string>>();
}

std::string labels_json(std::span<const std::string> labels) {
  return nlohmann::json(std::vector<std::string>(labels.begin(), labels.end())).dump() + "\n";
}

}  // namespace tapeformer
