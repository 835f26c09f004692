#include "train/objectives/objective.h"

#include "train/config/model_config.h"
#include "train/objectives/encoder_objective.h"
#include "train/objectives/language_objective.h"
#include "train/objectives/masked_objective.h"
#include "train/objectives/objective_data.h"
#include "train/objectives/skip_gram_objective.h"
#include "train/objectives/task_objective.h"
#include "train/objectives/translation_objective.h"

namespace tapeformer {

ObjectiveData prepare_data(const ResolvedConfig& config, const RunFolder* resumed, const ProgressMaker& progress) {
  if (config.has_task()) return prepare_task_data(config, resumed, progress);
  if (!config.family().reads_pairs()) {
    return prepare_language_data(config, resumed ? Tokenizer::load(resumed->tokenizer()) : nullptr, progress);
  }
  return prepare_translation_data(
      config, resumed ? std::optional(load_pair_tokenizers(*resumed, config)) : std::nullopt, progress);
}

std::unique_ptr<Objective> make_objective(const ResolvedConfig& config, ObjectiveData data) {
  if (config.has_task()) return std::make_unique<TaskObjective>(config, std::get<TaskData>(std::move(data)));
  if (config.family().reads_pairs()) {
    return std::make_unique<TranslationObjective>(config, std::get<TranslationData>(std::move(data)));
  }
  LanguageData text = std::get<LanguageData>(std::move(data));
  switch (config.family().task()) {
    case ModelTask::bidirectional_language_model:
      return std::make_unique<EncoderObjective>(config, std::move(text));
    case ModelTask::masked_language_model:
      return std::make_unique<MaskedObjective>(config, std::move(text));
    case ModelTask::skip_gram_model:
      return std::make_unique<SkipGramObjective>(config, std::move(text));
    default:
      return std::make_unique<LanguageObjective>(config, std::move(text));
  }
}

TapeOptions training_tape(const ResolvedConfig& config, std::int64_t step, std::int64_t micro_step) {
  return {.training = true,
          .recompute = config.train.recompute,
          .random = {.seed = static_cast<std::uint64_t>(config.train.seed),
                     .step = static_cast<std::uint32_t>(step),
                     .micro_step = static_cast<std::uint32_t>(micro_step)}};
}

std::unique_ptr<Objective> make_objective(const ResolvedConfig& config, const RunFolder* resumed,
                                          const ProgressMaker& progress) {
  return make_objective(config, prepare_data(config, resumed, progress));
}

ModelVocabulary model_vocabulary(const ResolvedConfig& config, const ObjectiveData& data) {
  if (const auto* pairs = std::get_if<TranslationData>(&data)) {
    return model_vocabulary(config, *pairs->tokenizers.source, *pairs->tokenizers.target);
  }
  const auto* task = std::get_if<TaskData>(&data);
  return model_vocabulary(config, task ? *task->tokenizer : *std::get<LanguageData>(data).tokenizer);
}

}  // namespace tapeformer
