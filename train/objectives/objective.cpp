#include "train/objectives/objective.h"

#include "train/config/model_config.h"
#include "train/objectives/encoder_objective.h"
#include "train/objectives/language_objective.h"
#include "train/objectives/masked_objective.h"
#include "train/objectives/skip_gram_objective.h"
#include "train/objectives/task_objective.h"
#include "train/objectives/translation_objective.h"

namespace tapeformer {

TapeOptions training_tape(const ResolvedConfig& config, std::int64_t step, std::int64_t micro_step) {
  return {.training = true,
          .recompute = config.train.recompute,
          .random = {.seed = static_cast<std::uint64_t>(config.train.seed),
                     .step = static_cast<std::uint32_t>(step),
                     .micro_step = static_cast<std::uint32_t>(micro_step)}};
}

std::unique_ptr<Objective> make_objective(const ResolvedConfig& config, const RunFolder* resumed,
                                          const ProgressMaker& progress) {
  if (config.has_task()) return std::make_unique<TaskObjective>(config, prepare_task_data(config, resumed));
  const auto text = [&] {
    return prepare_language_data(config, resumed ? Tokenizer::load(resumed->tokenizer()) : nullptr, progress);
  };
  switch (config.family().task()) {
    case ModelTask::language_model:
      return std::make_unique<LanguageObjective>(config, text());
    case ModelTask::bidirectional_language_model:
      return std::make_unique<EncoderObjective>(config, text());
    case ModelTask::masked_language_model:
      return std::make_unique<MaskedObjective>(config, text());
    case ModelTask::skip_gram_model:
      return std::make_unique<SkipGramObjective>(config, text());
    case ModelTask::sequence_to_sequence:
      return std::make_unique<TranslationObjective>(
          config, prepare_translation_data(
                      config, resumed ? std::optional(load_pair_tokenizers(*resumed, config)) : std::nullopt));
  }
  fail("model.type: a family without a task");
}

}  // namespace tapeformer
