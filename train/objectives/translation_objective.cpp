#include "train/objectives/translation_objective.h"

#include <algorithm>

#include "data/scores/bleu.h"
#include "generate/line_translator.h"
#include "train/translation_evaluation.h"

namespace tapeformer {

TranslationObjective::TranslationObjective(const Config& config, const Transformer& model, const TranslationData& data)
    : config_(config),
      model_(model),
      data_(data),
      batcher_(data.train, data.tokenizers.symbols, training_batch_options(config)) {
  if (data.valid) LengthBuckets(*data.valid, data.tokenizers.symbols, pair_batch_options(config));  // throws now
}

std::int64_t TranslationObjective::scored_targets(std::int64_t step) {
  std::int64_t sum = 0;
  for (std::int64_t micro = 0; micro < config_.train.accumulate; ++micro) sum += batcher_.scored(index(step, micro));
  return sum;
}

Variable TranslationObjective::micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, double normalizer) {
  batcher_.draw(index(step, micro_step), batch_);
  if (batch_.rows == 0) return {};
  const PairTensors tensors(tape, batch_);
  return model_.loss(tensors.source, tensors.inputs, tensors.targets,
                     {.smoothing = config_.train.label_smoothing, .normalizer = normalizer, .deferred = true});
}

Evaluation TranslationObjective::evaluate(const ProgressCallback& progress) {
  return tapeformer::evaluate(model_, *data_.valid, data_.tokenizers.symbols, pair_batch_options(config_),
                              config_.eval.batches, progress);
}

std::optional<double> TranslationObjective::bleu() {
  if (data_.valid_pairs().empty()) return std::nullopt;
  const auto all = static_cast<std::int64_t>(data_.valid_pairs().size());
  const std::int64_t count = config_.eval.bleu_sentences > 0 ? std::min(all, config_.eval.bleu_sentences) : all;
  std::vector<std::string_view> lines;
  for (const SentencePair& pair : data_.valid_pairs().first(count)) lines.push_back(pair.source);
  const PairTokenizers& tokenizers = data_.tokenizers;
  const auto translations =
      translate_lines(model_, *tokenizers.source, *tokenizers.target, tokenizers.symbols, lines, {.beam = 1});
  Bleu bleu(config_.eval.bleu_tokenize == "none" ? BleuTokenization::none : BleuTokenization::v13a);
  for (std::int64_t i = 0; i < count; ++i) bleu.add(translations[i].texts[0], data_.valid_pairs()[i].target);
  return bleu.score().score;
}

}  // namespace tapeformer
