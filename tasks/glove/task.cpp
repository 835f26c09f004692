#include <sstream>

#include "tasks/common/rules.h"
#include "tasks/common/task_rows.h"
#include "tasks/glove/glove_objective.h"
#include "tasks/text/text_task.h"

namespace tapeformer {
namespace {

// A pair needs one product of two vectors.
double glove_flops(const ResolvedConfig& config, const Module&, const ModelVocabulary&) {
  return 2 * static_cast<double>(config.model.options.integer("dim"));
}

EvalReport evaluate_glove(const EvalRequest& request) {
  require_no_pseudo_option(request);
  require_no_windows(request, "GloVe is scored on all pairs in its window");
  require_no_parts(request);
  const auto run = open_text_run(request, "glove", make_glove_model);
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const EncodedText text = scored_text(request, run, *run.tokenizer);
  const std::int64_t window = run.config.model.options.integer("window");
  const std::vector<Cooccurrence> pairs =
      count_cooccurrences(std::span<const std::int32_t>(text.ids), run.model->vocab(), window);
  const GloveWeighting weighting = glove_weighting(run.config);
  const GloveFit fit = evaluate(*run.model, pairs, weighting, request.rows() * run.config.block_size(), 0,
                                start_progress(request.progress, "evaluating"));
  require_finite(fit.evaluation);
  nlohmann::ordered_json json{{"tokens", text.ids.size()}, {"bytes", text.bytes}};
  if (text.unknown_share() > 0) json["unknown_share"] = text.unknown_share();
  json.update({{"pairs", pairs.size()}, {"loss", fit.evaluation.loss()}, {"frequent_pairs", fit.frequent}});
  for (const auto& [name, value] : fit.evaluation.metrics) json[name] = value;
  json["window"] = window;
  std::ostringstream table;
  table << "tokens         " << text.ids.size() << '\n' << "bytes          " << text.bytes << '\n';
  if (text.unknown_share() > 0) table << "unknown        " << 100 * text.unknown_share() << " % of the tokens\n";
  table << "loss           " << fit.evaluation.loss() << ' ' << run.config.task_row().loss_unit << ", of "
        << pairs.size() << '\n';
  for (const auto& [name, value] : fit.evaluation.metrics) {
    table << name << "    " << value << " with ln X, over the " << fit.frequent
          << " pairs with X >= " << weighting.x_max << '\n';
  }
  table << "window         " << window << ", " << run.checkpoint_text << '\n';
  return {with_run_keys(std::move(json), run), table.str()};
}

}  // namespace

TaskRow glove_task() {
  return {.name = "glove",
          .help = "how often tokens stand near each other",
          .model = "a GloVe model",
          .commands = "for GloVe vectors there are embed, neighbours, probe, and eval with --text",
          .next_commands = {"neighbours % WORD", "eval % --text FILE"},
          .eval_input = "text",
          .loss_unit = "weighted squared error per pair",
          .has_perplexity = false,
          .losses_compare = false,  // an evaluation takes out the best constant
          .heads = {.make = make_glove_model,
                    .parts = {{"contexts",
                               "context embedding and biases",
                               {"context_embedding.", "bias_embedding.", "context_bias_embedding."}}},
                    .f32_only = true,
                    .are_embeddings = true,
                    .flops = glove_flops},
          .check = check_word_vectors,
          .prepare = prepare_text,
          .dummy = dummy_text,
          .make = make_from<GloveObjective, LanguageData>,
          .evaluate = evaluate_glove};
}

}  // namespace tapeformer
