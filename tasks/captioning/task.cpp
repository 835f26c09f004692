#include <algorithm>
#include <sstream>

#include "tasks/captioning/caption_evaluation.h"
#include "tasks/captioning/caption_objective.h"
#include "tasks/captioning/trained_captioner.h"
#include "tasks/common/eval.h"
#include "tasks/common/models.h"
#include "tasks/common/rules.h"
#include "tasks/common/task_rows.h"
#include "tasks/text/dummy_data.h"
#include "train/config/data_kinds.h"
#include "train/loop/objective_data.h"

namespace tapeformer {
namespace {

using Json = nlohmann::ordered_json;

void check_captioning(const ResolvedConfig& config) {
  const std::string& family = config.family().name;
  const std::string data_key = data_kind(config.data);
  require(data_key.empty() || data_key == "data.images" || data_key == "data.corpus", "model.type: ", family,
          " trains on data.images or data.corpus, got ", data_key);
  require_no_masks(config);
}

struct CaptionObjectiveData : ObjectiveDataOf<CaptionData> {
  using ObjectiveDataOf::ObjectiveDataOf;
  ModelVocabulary vocabulary(const ResolvedConfig& config) const override {
    return model_vocabulary(config, *data.tokenizer.tokenizer);
  }
  // A row is a caption with its end.
  TrainingShape shape(const ResolvedConfig& config) const override {
    TrainingShape shape = ObjectiveData::shape(config);
    const TokenPairs& pairs = data.train.pairs;
    shape.block_size = static_cast<double>(pairs.target_tokens() + pairs.size()) / static_cast<double>(pairs.size());
    return shape;
  }
  std::int64_t least_batch_tokens() const override {
    return 1 + std::max(data.train.pairs.longest(), data.valid ? data.valid->pairs.longest() : 0);
  }
};

std::unique_ptr<ObjectiveData> prepare_captions(const ResolvedConfig& config, const RunFolder* resumed,
                                                const ProgressMaker& progress) {
  std::shared_ptr<const Tokenizer> tokenizer;
  if (resumed) tokenizer = Tokenizer::load(resumed->tokenizer());
  return std::make_unique<CaptionObjectiveData>(prepare_caption_data(config, std::move(tokenizer), progress));
}

// One gray image with captions of random tokens.
std::unique_ptr<ObjectiveData> dummy_captions(const ResolvedConfig& config, const RunFolder* run) {
  std::shared_ptr<const Tokenizer> words = known_tokenizer(config, run);
  if (!words) words = dummy_tokenizer(config, {kPaddingToken, kBeginToken, kEndToken});
  const std::int64_t size = config.model.options.integer("image_size");
  EncodedCaptions train{CaptionedImages("random images", size), {}, {}, {}};
  train.images.add_image({size, size, std::vector<std::uint8_t>(3 * size * size, 128)}, "image 1");
  const auto ids = random_ids(std::min(max_caption_length(config), kDummyLength), *words);
  const std::int64_t of_tokens = config.train.batch_tokens / (std::ssize(ids) + 1) + 1;
  const std::int64_t batch = config.train.batch_tokens > 0 ? of_tokens : config.train.batch;
  const std::int32_t image = 0;
  for (std::int64_t i = 0; i < 2 * batch * config.train.accumulate; ++i) train.pairs.add(std::span(&image, 1), ids, 0);
  return std::make_unique<CaptionObjectiveData>(
      CaptionData{caption_tokenizer(words, config.tokenizer.file), std::move(train), std::nullopt});
}

// How the captions that a model writes compare with the given ones.
struct CaptionScores {
  std::int64_t exact = 0;
  double bleu = 0;
  LookedAt looked;
};

CaptionScores score_captions(const TrainedCaptioner& run, const EncodedCaptions& captions, const EvalRequest& request) {
  const CaptionedImages& images = captions.images;
  std::vector<std::int64_t> indices;
  for (const CaptionedImages::Caption& caption : images.captions()) indices.push_back(caption.image);
  const std::vector<TokenizedCaption> written =
      captions_of(*run.model, images, indices, run.tokenizer, {.search = {.beam = 1}, .batch = request.rows()},
                  start_progress(request.progress, "writing captions"));
  CaptionScores scores;
  Bleu bleu(run.config.eval.bleu_tokenize);
  const ProgressCallback progress = start_progress(request.progress, "looking where it looks");
  for (std::size_t i = 0; i < written.size(); ++i) {
    const CaptionedImages::Caption& caption = images.captions()[i];
    scores.exact += written[i].text == caption.text;
    bleu.add(written[i].text, caption.text);
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(written.size()));
    // The model cannot read a caption that is left out.
    if (caption.places.empty() || !std::ranges::binary_search(captions.captions, static_cast<std::int64_t>(i)))
      continue;
    const Tensor image = image_batch(images, std::span(&caption.image, 1));
    const TokenizedCaption given{run.tokenizer.tokenizer->encode(caption.text), caption.text};
    const CaptionAttention attention = caption_attention(*run.model, image, given, run.tokenizer);
    const LookedAt looked = looked_at(attention, caption.places, images.size());
    scores.looked.words += looked.words, scores.looked.right += looked.right;
  }
  scores.bleu = bleu.score().score;
  return scores;
}

EvalReport evaluate_captioning(const EvalRequest& request) {
  require_no_pseudo_option(request);
  require_no_parts(request);
  const TrainedCaptioner run = open_run<TrainedCaptioner>(request);
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const EncodedCaptions captions =
      encode_captions(CaptionedImages::from_folder(request.images, run.image_size()), run.tokenizer, run.config);
  const std::int64_t count = std::ssize(captions.images.captions()), skipped = captions.skipped.total();
  const std::int64_t most = max_caption_length(run.config);
  if (skipped > 0) {
    request.warn(str_cat(skipped, " of ", count, " captions have no loss: ", describe(captions.skipped, {most, most})));
  }
  const Evaluation result =
      evaluate_captions(*run.model, captions, run.tokenizer.symbols, {.sentences = request.rows()}, 0,
                        start_progress(request.progress, "evaluating"));
  require_finite(result);
  const CaptionScores scores = score_captions(run, captions, request);
  const TextFacts facts{captions.pairs.target_bytes(), captions.pairs.unknown_share(*run.tokenizer.tokenizer)};
  const double exact = static_cast<double>(scores.exact) / static_cast<double>(count);
  Json json = loss_json(result, facts);
  json.update({{"images", captions.images.image_count()},
               {"captions", count},
               {"skipped", skipped},
               {"exact", exact},
               {"bleu", scores.bleu}});
  std::ostringstream table;
  table << "images         " << captions.images.image_count() << " with " << count << " captions\n"
        << "tokens         " << result.tokens << " of the captions, with their ends\n"
        << loss_table(result, facts) << "exact          " << 100 * exact << " % of the captions (greedy)\n"
        << "BLEU           " << scores.bleu << '\n';
  if (const LookedAt& looked = scores.looked; looked.words > 0) {
    const double right = static_cast<double>(looked.right) / static_cast<double>(looked.words);
    json.update({{"named_words", looked.words}, {"looked_at", right}});
    table << "looked at      " << 100 * right << " % of " << looked.words
          << " words that name an object have their largest weight on its cell\n";
  }
  table << "checkpoint     " << run.checkpoint_text << '\n';
  return {with_run_keys(std::move(json), run), table.str()};
}

}  // namespace

TaskRow captioning_task() {
  return {.name = "captioning",
          .help = "a caption for an image",
          .model = "a model of images",
          .commands = "for models of images there are caption, and eval with --images",
          .next_commands = {"caption % --images FILE.png", "eval % --images FOLDER"},
          .eval_input = "images",
          .makes_text = true,
          .has_bleu = true,
          .reads_sentences = true,
          .check = check_captioning,
          .prepare = prepare_captions,
          .dummy = dummy_captions,
          .make = make_from<CaptionObjective, CaptionData>,
          .evaluate = evaluate_captioning};
}

}  // namespace tapeformer
