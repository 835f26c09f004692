#include "tasks/translation/translation_objective.h"

#include "generate/line_translator.h"
#include "tasks/common/models.h"
#include "tasks/translation/translation_evaluation.h"

namespace tapeformer {

TranslationObjective::TranslationObjective(const ResolvedConfig& config, TranslationData data)
    : PairObjective(config),
      data_(std::move(data)),
      model_(
          make_encoder_decoder(config, model_vocabulary(config, *data_.tokenizers.source, *data_.tokenizers.target))) {
  train_on(data_.train, data_.tokenizers.symbols);
  // An error in the validation pairs is thrown now, not at the first evaluation.
  if (data_.valid) LengthBuckets(*data_.valid, data_.tokenizers.symbols, pair_batch_options(config));
}

DataFacts TranslationObjective::facts() const {
  const PairTokenizers& both = data_.tokenizers;
  const std::string vocabulary =
      both.joint() ? str_cat("joint vocabulary of ", both.source->vocab_size())
                   : str_cat("vocabularies of ", both.source->vocab_size(), " and ", both.target->vocab_size());
  DataFacts facts{
      .tokenizers = {both.source->to_json(), both.joint() ? "" : both.target->to_json()},
      .data_hash = data_.hash,
      .valid_hash = data_.valid ? hash_of_scored(pairs_hash(data_.valid_pairs()), data_.valid->skipped(),
                                                 /*by_batch=*/!config_.context())
                                : 0,
      .tokens = data_.train.target_tokens() + data_.train.size(),
      .description = {str_cat(parameters_text(), ", ", vocabulary),
                      str_cat(data_.train.size(), " training pairs with ", data_.train.source_tokens(), " source and ",
                              data_.train.target_tokens(), " target tokens; ", steps_per_epoch(), " steps an epoch, ",
                              static_cast<int>(1000 * padding_share() + 0.5) / 10.0, " % of their positions padding")},
      .warnings = data_.notes.lines()};
  const auto warn_of_skipped = [&](const TokenPairs& pairs, const char* what) {
    if (pairs.skipped().total() == 0) return;
    facts.warnings.push_back(str_cat(pairs.skipped().total(), " of ", pairs.skipped().total() + pairs.size(), " ", what,
                                     " pairs are left out: ", describe(pairs.skipped(), pair_limits(config_))));
  };
  warn_of_skipped(data_.train, "training");
  if (data_.valid) warn_of_skipped(*data_.valid, "validation");
  const auto warn_of_unknown = [&](std::int64_t unknown, std::int64_t tokens, const Tokenizer& tokenizer,
                                   const char* what) {
    if (auto note = unknown_note(unknown, tokens, tokenizer, what, kMostUnknown))
      facts.warnings.push_back(*std::move(note));
  };
  const TokenPairs& train = data_.train;
  warn_of_unknown(train.unknown_sources(*both.source), train.source_tokens(), *both.source, "the training sources");
  warn_of_unknown(train.unknown_targets(*both.target), train.target_tokens(), *both.target, "the training targets");
  return facts;
}

ValidationFacts TranslationObjective::validation() const {
  if (!data_.valid) return {.missing = "no validation text"};
  return facts_of(*data_.valid, *data_.tokenizers.target);
}

Variable TranslationObjective::micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step,
                                          const MeanOver& mean) {
  const PairBatch& batch = draw(step, micro_step);
  if (batch.rows == 0) return {};
  const PairTensors tensors(tape, batch);
  return model_->loss(tensors.source, tensors.inputs, tensors.targets, loss_options(mean.normalizer()));
}

Evaluation TranslationObjective::evaluate(const ProgressCallback& progress) {
  return tapeformer::evaluate(*model_, *data_.valid, data_.tokenizers.symbols, pair_batch_options(config_),
                              config_.eval.batches, progress, ranks());
}

TextSample TranslationObjective::given(std::int64_t index) const {
  const SentencePair& pair = data_.valid_pairs()[index];
  return {.input = std::string(pair.source), .output = {}, .reference = std::string(pair.target)};
}

std::vector<std::string> TranslationObjective::written(std::int64_t first, std::int64_t count) const {
  std::vector<std::string_view> lines;
  for (const SentencePair& pair : data_.valid_pairs().subspan(first, count)) lines.push_back(pair.source);
  const PairTokenizers& tokenizers = data_.tokenizers;
  std::vector<std::string> texts;
  for (LineTranslation& line : translate_lines(*model_, *tokenizers.source, *tokenizers.target, tokenizers.symbols,
                                               lines, {.search = {.beam = 1}})) {
    texts.push_back(std::move(line.texts[0]));
  }
  return texts;
}

}  // namespace tapeformer
