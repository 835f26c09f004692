#include "tasks/common/rules.h"
#include "tasks/common/task_rows.h"
#include "tasks/language_model/language_objective.h"
#include "tasks/language_model/plan.h"
#include "tasks/text/loss_breakdown.h"
#include "tasks/text/text_task.h"
#include "train/config/data_kinds.h"

namespace tapeformer {
namespace {

void check_language_model(const ResolvedConfig& config) {
  require_plain_text(config);
  require_no_masks(config);
}

// Returns the breakdowns of the loss that a request asks for. Throws UsageError for a breakdown that the model does not
// support.
std::vector<LossBreakdown> wanted_breakdowns(const EvalRequest& request, const TrainedLanguageModel& run,
                                             const std::optional<WindowOptions>& windows) {
  std::vector<LossBreakdown> breakdowns;
  if (request.by_position) {
    if (!windows) {
      fail_usage("eval: --by-position: expected none, since ", run.config.model.type,
                 " reads a text in order and has no windows");
    }
    breakdowns.push_back(breakdown_by_position(windows->context));
  }
  if (request.by_frequency) {
    if (run.config.task_row().name != "language_model" || data_kind(run.config.data).empty()) {
      fail_usage("eval: --by-frequency: expected a run that learned from a text, whose tokens are counted, got ",
                 run.run.root.string());
    }
    const LanguageData data = prepare_language_data(run.config, Tokenizer::load(run.run.tokenizer()), request.progress);
    for (const std::string& line : changed_data(run, data.train.source_hash(), 0)) request.warn(line);
    breakdowns.push_back(breakdown_by_frequency(data.train.view(), run.model->vocab()));
  }
  return breakdowns;
}

EvalReport evaluate_language_model(const EvalRequest& request) {
  require_no_pseudo_option(request);
  const TrainedLanguageModel run = open_run<TrainedLanguageModel>(request);
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const EncodedText text = scored_text(request, run, *run.tokenizer);
  WindowOptions options{.context = request.context, .stride = request.stride, .batch = request.rows()};
  const bool windows = !reads_in_order(*run.model);
  if (windows) {
    options.context = window_context(*run.model, options.context);
    if (options.stride == 0) options.stride = options.context;
  } else {
    require_no_windows(request, str_cat(run.config.model.type, " reads a text in order and has no windows"));
  }
  const std::span<const std::int32_t> ids = text.ids;
  const std::optional<WindowOptions> shown = windows ? std::optional(options) : std::nullopt;
  std::vector<LossBreakdown> breakdowns = wanted_breakdowns(request, run, shown);
  const ProgressCallback progress = start_progress(request.progress, "evaluating");
  const Evaluation result = breakdowns.empty() ? evaluate(*run.model, ids, options, progress)
                                               : evaluate_breakdowns(*run.model, ids, options, breakdowns, progress);
  EvalReport report = text_report(request, run, text, shown, result);
  if (request.by_position) report.json["by_position"] = breakdown_json(breakdowns.front());
  if (request.by_frequency) report.json["by_frequency"] = breakdown_json(breakdowns.back());
  for (const LossBreakdown& breakdown : breakdowns) report.table += breakdown_table(breakdown);
  return report;
}

}  // namespace

TaskRow language_model_task() {
  return {.name = "language_model",
          .help = "the next token of a text",
          .model = "a language model",
          .commands = "for language models there are generate, probe, and eval and surprisal with --text",
          .next_commands = {"generate % --interactive", "eval % --text FILE", "surprisal % --prompt TEXT"},
          .eval_input = "text",
          .makes_text = true,
          .check = check_language_model,
          .prepare = prepare_text,
          .dummy = dummy_text,
          .make = make_from<LanguageObjective, LanguageData>,
          .make_shared = make_shared_model<LanguageObjective, make_causal_model>,
          .plan = plan_language_model,
          .evaluate = evaluate_language_model};
}

}  // namespace tapeformer
