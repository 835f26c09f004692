#include <algorithm>
#include <sstream>

#include "tasks/common/eval.h"
#include "tasks/common/models.h"
#include "tasks/common/rules.h"
#include "tasks/common/task_rows.h"
#include "tasks/text/dummy_data.h"
#include "tasks/translation/length_parts.h"
#include "tasks/translation/plan.h"
#include "tasks/translation/trained_translator.h"
#include "tasks/translation/translation_evaluation.h"
#include "tasks/translation/translation_objective.h"
#include "train/loop/objective_data.h"

namespace tapeformer {
namespace {

using Json = nlohmann::ordered_json;

void check_translation(const ResolvedConfig& config) {
  const std::string& family = config.family().name;
  require(config.data.text.empty(), "model.type: ", family,
          " trains on data.source and data.target, data.pairs or data.corpus, got data.text");
  require_no_masks(config);
}

struct PairData : ObjectiveDataOf<TranslationData> {
  using ObjectiveDataOf::ObjectiveDataOf;
  ModelVocabulary vocabulary(const ResolvedConfig& config) const override {
    return model_vocabulary(config, *data.tokenizers.source, *data.tokenizers.target);
  }
  // A row is a target sentence with its end.
  TrainingShape shape(const ResolvedConfig& config) const override {
    TrainingShape shape = ObjectiveData::shape(config);
    shape.block_size =
        static_cast<double>(data.train.target_tokens() + data.train.size()) / static_cast<double>(data.train.size());
    return shape;
  }
  std::int64_t least_batch_tokens() const override {
    return 1 + std::max(data.train.longest(), data.valid ? data.valid->longest() : 0);
  }
};

std::unique_ptr<ObjectiveData> prepare_pairs(const ResolvedConfig& config, const RunFolder* resumed,
                                             const ProgressMaker& progress) {
  return std::make_unique<PairData>(prepare_translation_data(
      config, resumed ? std::optional(load_pair_tokenizers(*resumed, config)) : std::nullopt, progress));
}

PairTokenizers dummy_tokenizers(const ResolvedConfig& config, const RunFolder* run) {
  if (run) return load_pair_tokenizers(*run, config);
  const auto make = [&](const std::string& file) -> std::shared_ptr<const Tokenizer> {
    if (!file.empty()) return Tokenizer::load(file);
    return dummy_tokenizer(config, {kPaddingToken, kBeginToken, kEndToken});
  };
  PairTokenizers both{.source = make(config.tokenizer.file), .target = nullptr, .symbols = {}};
  both.target = config.tokenizer.joint ? both.source : make(config.tokenizer.target_file);
  both.symbols = {sentence_symbols(*both.source, config.tokenizer.file),
                  sentence_symbols(*both.target, config.tokenizer.target_file)};
  return both;
}

TranslationData dummy_pairs(const ResolvedConfig& config, PairTokenizers tokenizers) {
  const PairLimits limits = pair_limits(config);
  const auto ids = [&](const Tokenizer& tokenizer, std::int64_t most) {
    return random_ids(std::min(most, kDummyLength), tokenizer);
  };
  const auto source = ids(*tokenizers.source, limits.source), target = ids(*tokenizers.target, limits.target);
  const std::int64_t of_tokens = config.train.batch_tokens / (std::ssize(target) + 1) + 1;
  const std::int64_t batch = config.train.batch_tokens > 0 ? of_tokens : config.train.batch;
  TranslationData data{.tokenizers = std::move(tokenizers), .train = {}, .valid = {}, .valid_text = {}, .notes = {}};
  for (std::int64_t i = 0; i < 2 * batch * config.train.accumulate; ++i) data.train.add(source, target, 0);
  return data;
}

EvalReport evaluate_translation(const EvalRequest& request) {
  require_no_pseudo_option(request);
  require_no_parts(request);
  const TrainedTranslator run = open_run<TrainedTranslator>(request);
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const ParallelText text = ParallelText::from_files(request.source, request.target);
  for (const std::string& note : text.notes().lines()) request.warn(note);
  const TokenPairs pairs = encode_text(text, text.pairs(), run.tokenizers, run.config);
  for (const std::string& note : pair_notes(pairs, run.tokenizers, run.config, request.source)) request.warn(note);
  const std::int64_t skipped = pairs.skipped().total();
  const Evaluation result = evaluate(*run.model, pairs, run.tokenizers.symbols, {.sentences = request.rows()}, 0,
                                     start_progress(request.progress, "evaluating"));
  require_finite(result);
  const TextFacts facts{pairs.target_bytes(), pairs.unknown_share(*run.tokenizers.target)};
  Json json = loss_json(result, facts);
  // These keys are those of a text's evaluation: a sentence counts as one window.
  if (const auto context = run.model->context()) json.update({{"context", *context}, {"stride", *context}});
  json.update({{"pairs", pairs.size()}, {"skipped", skipped}});
  std::ostringstream table;
  table << "pairs          " << pairs.size() << " scored, " << skipped << " skipped\n"
        << "tokens         " << result.tokens << " of the target, with the ends of its sentences\n";
  table << loss_table(result, facts);
  std::string parts;
  if (request.by_length) {
    const TranslationsByLength translations = translations_by_length(run, text.pairs(), request.rows());
    const double bleu = translations.all.score().score;
    json.update({{"bleu", bleu}, {"by_length", lengths_json(translations)}});
    table << "BLEU           " << bleu << " (greedy; " << translations.all.signature() << ")\n";
    parts = lengths_table(translations);
  }
  table << "checkpoint     " << run.checkpoint_text << '\n' << parts;
  return {with_run_keys(std::move(json), run), table.str()};
}

}  // namespace

TaskRow translation_task() {
  return {.name = "translation",
          .help = "the translation of a sentence",
          .model = "an encoder-decoder",
          .commands = "for encoder-decoders there are translate, eval and surprisal with --source and --target",
          .next_commands = {"translate % < FILE", "eval % --source FILE --target FILE"},
          .eval_input = "source",
          .makes_text = true,
          .has_bleu = true,
          .has_two_tokenizers = true,
          .reads_sentences = true,
          .check = check_translation,
          .prepare = prepare_pairs,
          .dummy = [](const ResolvedConfig& config, const RunFolder* run) -> std::unique_ptr<ObjectiveData> {
            return std::make_unique<PairData>(dummy_pairs(config, dummy_tokenizers(config, run)));
          },
          .make = make_from<TranslationObjective, TranslationData>,
          .plan = plan_translation,
          .evaluate = evaluate_translation};
}

}  // namespace tapeformer
