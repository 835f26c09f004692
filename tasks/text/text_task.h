// Functions that the tasks on plain text share.
#pragma once

#include <memory>
#include <optional>

#include "tasks/common/eval.h"
#include "tasks/text/language_data.h"
#include "tasks/text/text_evaluation.h"
#include "train/loop/objective.h"
#include "train/loop/objective_data.h"

namespace tapeformer {

// These functions implement TaskRow::prepare and TaskRow::dummy.
std::unique_ptr<ObjectiveData> prepare_text(const ResolvedConfig& config, const RunFolder* resumed,
                                            const ProgressMaker& progress);
std::unique_ptr<ObjectiveData> dummy_text(const ResolvedConfig& config, const RunFolder* run);

// Implements TaskRow::make_shared for a TextObjective of models that `make_model` makes.
template <class TextObjective, auto make_model>
SharedModel make_shared_model(const ResolvedConfig& config, const ModelVocabulary& vocabulary) {
  const std::shared_ptr model = make_model(config, vocabulary);
  return {model, [model](const ResolvedConfig& alone, std::unique_ptr<ObjectiveData> data) {
            return std::make_unique<TextObjective>(alone, take_data<LanguageData>(std::move(data)), model);
          }};
}

// Parts of prepare_text() and dummy_text(): the first wraps data that was read, the second makes random data.
std::unique_ptr<ObjectiveData> text_objective_data(LanguageData data);
LanguageData dummy_tokens(const ResolvedConfig& config, std::unique_ptr<Tokenizer> tokenizer);

// Calls load_text_model() for a request. Throws Error unless the run's model is for the task.
template <class M>
TrainedOnText<M> open_text_run(const EvalRequest& request, std::string_view task,
                               std::unique_ptr<M> (*make)(const ResolvedConfig&, const ModelVocabulary&)) {
  require_task(request.run, {task});
  TrainedOnText<M> trained = load_text_model(request.run, load_options(request), make);
  request.on_loaded(trained);
  return trained;
}

// Returns the text of a request, encoded. Throws Error when it has nothing to score.
EncodedText scored_text(const EvalRequest& request, const TrainedModel& run, const Tokenizer& tokenizer);
// Returns the report on a text that was scored by windows or, if `windows` is nullopt, in order.
EvalReport text_report(const EvalRequest& request, const TrainedModel& run, const EncodedText& text,
                       const std::optional<WindowOptions>& windows, const Evaluation& result);

}  // namespace tapeformer
