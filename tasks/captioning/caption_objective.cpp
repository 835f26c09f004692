#include "tasks/captioning/caption_objective.h"

#include "tasks/captioning/caption_evaluation.h"
#include "tasks/common/models.h"
#include "tasks/translation/translation_data.h"

namespace tapeformer {
namespace {

bool has_penalty(const ResolvedConfig& config) {
  const KeyValues& options = config.model.options;
  return options.has("attention_penalty") && options.number("attention_penalty") > 0;
}

}  // namespace

CaptionObjective::CaptionObjective(const ResolvedConfig& config, CaptionData data)
    : PairObjective(config),
      data_(std::move(data)),
      model_(make_image_decoder(config, model_vocabulary(config, *data_.tokenizer.tokenizer))) {
  train_on(data_.train.pairs, data_.tokenizer.pair_symbols());
  if (has_penalty(config)) nll_ = NllLoss(true);
}

DataFacts CaptionObjective::facts() const {
  const EncodedCaptions& train = data_.train;
  DataFacts facts{
      .tokenizers = {data_.tokenizer.tokenizer->to_json(), ""},
      .data_hash = train.images.hash(),
      .valid_hash = data_.valid ? hash_of_scored(data_.valid->images.hash(), data_.valid->skipped,
                                                 max_caption_length(config_) == config_.train.batch_tokens - 1)
                                : 0,
      .tokens = train.pairs.target_tokens() + train.pairs.size(),
      .description = {str_cat(parameters_text(), ", vocabulary of ", data_.tokenizer.tokenizer->vocab_size()),
                      str_cat(train.images.image_count(), " training images with ", train.pairs.size(), " captions of ",
                              train.pairs.target_tokens(), " tokens; ", steps_per_epoch(), " steps an epoch")}};
  const auto warn_of_skipped = [&](const EncodedCaptions& captions, const char* what) {
    const std::int64_t most = max_caption_length(config_), skipped = captions.skipped.total();
    if (skipped == 0) return;
    facts.warnings.push_back(str_cat(skipped, " of ", captions.images.captions().size(), " ", what,
                                     " captions are left out: ", describe(captions.skipped, {most, most})));
  };
  warn_of_skipped(train, "training");
  if (data_.valid) warn_of_skipped(*data_.valid, "validation");
  const Tokenizer& tokenizer = *data_.tokenizer.tokenizer;
  if (auto note = unknown_note(train.pairs.unknown_targets(tokenizer), train.pairs.target_tokens(), tokenizer,
                               "the training captions", kMostUnknown))
    facts.warnings.push_back(*std::move(note));
  return facts;
}

ValidationFacts CaptionObjective::validation() const {
  if (!data_.valid) return {.missing = "no validation images"};
  return facts_of(data_.valid->pairs, *data_.tokenizer.tokenizer);
}

Variable CaptionObjective::micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) {
  const PairBatch& batch = draw(step, micro_step);
  if (batch.rows == 0) return {};
  const CaptionTensors tensors(tape, batch, data_.train.images);
  return model_->loss(tensors.source, tensors.inputs, tensors.targets, loss_options(mean.normalizer()));
}

Evaluation CaptionObjective::evaluate(const ProgressCallback& progress) {
  return evaluate_captions(*model_, *data_.valid, data_.tokenizer.symbols, pair_batch_options(config_),
                           config_.eval.batches, progress, ranks());
}

std::vector<std::string> CaptionObjective::written(std::int64_t first, std::int64_t count) const {
  std::vector<std::int64_t> images;
  for (const auto& caption : data_.valid->images.captions().subspan(first, count)) images.push_back(caption.image);
  std::vector<std::string> texts;
  for (TokenizedCaption& caption :
       captions_of(*model_, data_.valid->images, images, data_.tokenizer, {.search = {.beam = 1}})) {
    texts.push_back(std::move(caption.text));
  }
  return texts;
}

std::int64_t CaptionObjective::given_count() const {
  return data_.valid ? std::ssize(data_.valid->images.captions()) : 0;
}

TextSample CaptionObjective::given(std::int64_t index) const {
  const CaptionedImages& images = data_.valid->images;
  const CaptionedImages::Caption& caption = images.captions()[index];
  return {.input = images.name(caption.image), .output = {}, .reference = caption.text};
}

}  // namespace tapeformer
