#include <sstream>

#include "tasks/common/rules.h"
#include "tasks/common/task_rows.h"
#include "tasks/skip_gram/skip_gram_evaluation.h"
#include "tasks/skip_gram/skip_gram_objective.h"
#include "tasks/text/text_task.h"

namespace tapeformer {
namespace {

using Json = nlohmann::ordered_json;

// Each centre needs one product of two vectors for each prediction and for each negative.
double skip_gram_flops(const ResolvedConfig& config, const Module&, const ModelVocabulary&) {
  const SkipGramOptions options = skip_gram_options(config, 1);
  return 2 * static_cast<double>(options.predictions() * (1 + options.negatives) * config.model.options.integer("dim"));
}

EvalReport evaluate_skip_gram(const EvalRequest& request) {
  require_no_pseudo_option(request);
  require_no_windows(request, "word vectors are scored on every pair in their window");
  require_no_parts(request);
  const auto run = open_text_run(request, "skip_gram", make_skip_gram_model);
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const EncodedText text = read_text(request.text, run, *run.tokenizer, request.warn);
  const std::span<const std::int32_t> ids = text.ids;
  const SkipGramBatcher pairs(ids, run.model->vocab(), skip_gram_options(run.config, request.rows()));
  const Evaluation result = evaluate(*run.model, pairs, 0, start_progress(request.progress, "evaluating"));
  require_finite(result);
  Json json{{"tokens", ids.size()}, {"bytes", text.bytes}};
  if (text.unknown_share() > 0) json["unknown_share"] = text.unknown_share();
  json.update({{"pairs", result.tokens}, {"loss", result.loss()}, {"window", pairs.options().window}});
  std::ostringstream table;
  table << "tokens         " << ids.size() << '\n' << "bytes          " << text.bytes << '\n';
  if (text.unknown_share() > 0) table << "unknown        " << 100 * text.unknown_share() << " % of the tokens\n";
  table << "loss           " << result.loss() << " nats per pair, of " << result.tokens << '\n'
        << "window         " << pairs.options().window << ", " << run.checkpoint_text << '\n';
  return {with_run_keys(std::move(json), run), table.str()};
}

}  // namespace

TaskRow skip_gram_task() {
  return {.name = "skip_gram",
          .help = "tokens near each other, told from others that are drawn",
          .model = "a skip-gram model",
          .commands = "for skip-gram models there are embed, neighbours, probe, and eval with --text",
          .next_commands = {"neighbours % WORD", "eval % --text FILE"},
          .eval_input = "text",
          .loss_unit = "nats per pair",
          .has_perplexity = false,
          .heads = {.make = make_skip_gram_model,
                    .parts = {{"contexts", "context embedding", {"context_embedding."}, true}},
                    .f32_only = true,
                    .are_embeddings = true,
                    .flops = skip_gram_flops},
          .check = check_word_vectors,
          .prepare = prepare_text,
          .dummy = dummy_text,
          .make = make_from<SkipGramObjective, LanguageData>,
          .evaluate = evaluate_skip_gram};
}

}  // namespace tapeformer
