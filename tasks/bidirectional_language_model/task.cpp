#include "tasks/bidirectional_language_model/bidirectional_evaluation.h"
#include "tasks/bidirectional_language_model/bidirectional_objective.h"
#include "tasks/common/rules.h"
#include "tasks/common/task_rows.h"
#include "tasks/text/text_task.h"

namespace tapeformer {
namespace {

void check_bidirectional(const ResolvedConfig& config) {
  require_plain_text(config);
  require_separate_windows(config);
  require_no_masks(config);
}

// A product costs two operations per weight; each direction goes through the head.
double both_heads_flops(const ResolvedConfig& config, const Module&, const ModelVocabulary& vocabulary) {
  return 2 * 2 * static_cast<double>(vocabulary.target * config.model.options.integer("dim"));
}

EvalReport evaluate_bidirectional(const EvalRequest& request) {
  require_no_pseudo_option(request);
  require_no_parts(request);
  const auto run = open_text_run(request, "bidirectional_language_model", make_bidirectional_language_model);
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const EncodedText text = scored_text(request, run, *run.tokenizer);
  const std::int64_t context = request.context ? request.context : run.config.block_size();
  const WindowOptions options{
      .context = context, .stride = request.stride ? request.stride : context, .batch = request.rows()};
  const std::span<const std::int32_t> ids = text.ids;
  const Evaluation result = evaluate(*run.model, ids, options, start_progress(request.progress, "evaluating"));
  return text_report(request, run, text, options, result);
}

}  // namespace

TaskRow bidirectional_language_model_task() {
  return {.name = "bidirectional_language_model",
          .help = "each token from those before it, and from those behind it",
          .model = "a bidirectional language model",
          .commands = "for bidirectional language models there are probe, and eval with --text",
          .next_commands = {"eval % --text FILE", "embed % --text TEXT"},
          .eval_input = "text",
          .heads = {.make = make_bidirectional_language_model,
                    .parts = {{"head", "head", {"head."}}},
                    .f32_only = true,
                    .flops = both_heads_flops},
          .check = check_bidirectional,
          .prepare = prepare_text,
          .dummy = dummy_text,
          .make = make_from<BidirectionalObjective, LanguageData>,
          .evaluate = evaluate_bidirectional};
}

}  // namespace tapeformer
