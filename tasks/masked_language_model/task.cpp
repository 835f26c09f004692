#include <sstream>

#include "core/text/numbers.h"
#include "data/synthetic/corpora.h"
#include "nn/models/shared/tied_embeddings.h"
#include "tasks/common/rules.h"
#include "tasks/common/task_rows.h"
#include "tasks/masked_language_model/masked_evaluation.h"
#include "tasks/masked_language_model/masked_objective.h"
#include "tasks/text/text_task.h"

namespace tapeformer {
namespace {

using Json = nlohmann::ordered_json;

void check_masked(const ResolvedConfig& config) {
  require_plain_text(config);
  require_separate_windows(config);
}

// A product costs two operations per weight. Only the chosen positions go through the head.
double masked_head_flops(const ResolvedConfig& config, const Module& model, const ModelVocabulary& vocabulary) {
  const std::int64_t dim = config.model.options.integer("dim");
  const std::int64_t tied = ties_embeddings(config.model.options) ? vocabulary.target * dim : 0;
  return config.train.mlm_probability * 2 * static_cast<double>(model.parameter_count("head.") + tied);
}

// The optimum holds for rows in which every letter of the corpus, and nothing else, is a token.
std::string optimum_of_corpus(const ResolvedConfig& config) {
  const bool letters = config.tokenizer.kind == TokenizerKind::character && config.tokenizer.file.empty() &&
                       config.data.document == DocumentEnd::none;
  const MaskedRowOptions rows = masked_row_options(config, 1);
  if (!letters || rows.pairs) return "";
  const auto optimum = corpus_masked_optimum(config.data.corpus, rows.length - rows.special_tokens(), rows.rates);
  if (!optimum) return "";
  std::ostringstream line;
  line << "the corpus " << config.data.corpus << " has a masked optimum of " << optimum->nats
       << " nats per chosen letter, " << 100 * optimum->accuracy
       << " % right: the expected loss of the best possible model, on average over texts\n";
  return line.str();
}

EvalReport evaluate_masked(const EvalRequest& request) {
  if (request.stride) fail_usage("eval: --stride: expected none, since the windows of masked text do not overlap");
  require_no_parts(request);
  const TrainedMaskedLanguageModel run = open_run<TrainedMaskedLanguageModel>(request);
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const EncodedText text = read_text(request.text, run, *run.tokenizer, request.warn);
  MaskedRowOptions options = masked_row_options(run.config, request.rows());
  options.length = window_context(run.model->context(), request.context ? request.context : options.length);
  if (options.length < options.shortest()) {
    fail_usage("eval: --context: expected at least ", options.shortest(), " tokens, of which ",
               options.special_tokens(), " are [CLS] and [SEP], got ", options.length);
  }
  const std::span<const std::int32_t> ids = text.ids;
  const MaskedBatcher rows(ids, *run.tokenizer, options);
  const Evaluation masked = evaluate(*run.model, rows, 0, start_progress(request.progress, "masked tokens"));
  require_finite(masked);
  const bool has_masked = masked.tokens > 0;  // a short text may have no masked position
  check(has_masked || !request.no_pseudo, request.text, ": no token was chosen, and --no-pseudo leaves out the rest");
  std::optional<Evaluation> pseudo;
  if (!request.no_pseudo) {
    pseudo =
        pseudo_likelihood(*run.model, rows, request.rows(), start_progress(request.progress, "each token in turn"));
    require_finite(*pseudo);
  }
  Json json{{"tokens", ids.size()}, {"bytes", text.bytes}};
  if (text.unknown_share() > 0) json["unknown_share"] = text.unknown_share();
  json["masked_tokens"] = masked.tokens;
  if (has_masked) json["masked_loss"] = masked.loss();
  for (const auto& [name, value] : masked.metrics) json[name == "accuracy" ? "masked_accuracy" : name] = value;
  if (pseudo) {
    json.update({{"pseudo_tokens", pseudo->tokens},
                 {"pseudo_loss", pseudo->loss()},
                 {"pseudo_perplexity", pseudo->perplexity()}});
  }
  json["context"] = options.length;
  std::ostringstream table;
  table << "tokens             " << masked.tokens << " chosen of " << ids.size() << '\n'
        << "bytes              " << text.bytes << '\n';
  if (text.unknown_share() > 0) {
    table << "unknown            " << 100 * text.unknown_share() << " % of the tokens: never chosen\n";
  }
  if (has_masked) table << "masked loss        " << masked.loss() << " nats per chosen token\n";
  for (const auto& [name, value] : masked.metrics) {
    if (name == "accuracy") table << "masked accuracy    " << 100 * value << " %\n";
    if (name == "next_sentence_loss") table << "next sentence      " << value << " nats per pair of segments, ";
    if (name == "next_sentence_accuracy") table << 100 * value << " % right\n";
  }
  if (pseudo) {
    table << "pseudo-perplexity  " << format_perplexity(pseudo->perplexity()) << ", " << pseudo->loss()
          << " nats per token, each of " << pseudo->tokens << " masked in turn\n";
  }
  table << "context            " << options.length << ", " << run.checkpoint_text << '\n';
  return {with_run_keys(std::move(json), run), table.str()};
}

}  // namespace

TaskRow masked_language_model_task() {
  return {.name = "masked_language_model",
          .help = "tokens that are masked in a text",
          .model = "a masked language model",
          .commands = "for masked language models there are fill, probe, and eval with --text",
          .next_commands = {"fill % --text TEXT", "eval % --text FILE"},
          .eval_input = "text",
          .loss_unit = "nats per chosen token",
          .has_perplexity = false,
          .heads = {.make = make_masked_language_model,
                    .parts = {{"pooler", "pooler", {"pooler."}},
                              {"head", "masked tokens' head", {"head."}, true},
                              {"next_sentence", "next-sentence head", {"next_sentence."}, true}},
                    .flops = masked_head_flops},
          .check = check_masked,
          .prepare = prepare_text,
          .dummy = dummy_text,
          .make = make_from<MaskedObjective, LanguageData>,
          .make_shared = make_shared_model<MaskedObjective, make_masked_language_model>,
          .optimum = optimum_of_corpus,
          .evaluate = evaluate_masked};
}

}  // namespace tapeformer
