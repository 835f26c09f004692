// Trains a language model to predict the next token of a text.
#pragma once

#include "data/text/batcher.h"
#include "nn/recurrent/recurrent.h"
#include "tasks/text/text_evaluation.h"
#include "tasks/text/text_objective.h"

namespace tapeformer {

class LanguageObjective : public TextObjectiveOf<CausalModel>, private RecurrentTraining {
 public:
  // Makes the model that the configuration describes, unless there is one that other tasks train too.
  LanguageObjective(const ResolvedConfig& config, LanguageData data, std::shared_ptr<CausalModel> shared = nullptr);

  DataFacts facts() const override;
  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) override;
  RecurrentTraining* recurrent() override { return recurrent_ ? this : nullptr; }
  Evaluation evaluate(const ProgressCallback& progress) override;
  std::optional<Baselines> baselines(double seconds, const ProgressCallback& progress) override;
  // Returns the continuation of train.sample_prompt that `tapeformer generate` writes with its default options. If the
  // tokenizer cannot encode the prompt, or has no token from which a text begins, returns a continuation of the
  // beginning of the validation text, or of the training text if there is none.
  std::vector<TextSample> samples(const std::function<bool()>& go_on) override;

 private:
  NamedTensors state() const override;
  void load(const NamedTensors& state) override;
  std::function<void()> hold() override;
  // Returns the tokens with which a sample begins (beginning_tokens()).
  std::vector<std::int32_t> sample_prompt() const;
  // Throws UsageError, before the training begins, if the tokenizer cannot encode the prompt that is given.
  void check_sample_prompt() const;
  WindowOptions window_options() const;
  // Returns how much of the text lies behind the last full rows of the streams; "" for little of it.
  std::string unread_warning() const;
  // Reads the rows of a micro-step into batch_, and starts to read the next micro-step's rows from disk.
  void draw(std::int64_t step, std::int64_t micro_step);

  // The model if it is recurrent, else null. A recurrent model reads its rows in order, and each micro-step leaves a
  // recurrent state to the same micro-step of the next step. The state is never changed in place: new tensors replace
  // the old ones, so hold() may share them.
  const RecurrentModel* const recurrent_;
  std::optional<StreamBatcher> streams_;
  std::vector<RecurrentState> states_;
  std::optional<TextBatcher> batcher_;  // for other models: rows from random positions
  TextBatch batch_;
};

}  // namespace tapeformer
