// Base classes of the objectives on plain text: they hold the tokens, and say what a run stores and reports about them.
#pragma once

#include "tasks/common/models.h"
#include "tasks/text/language_data.h"
#include "train/loop/objective.h"

namespace tapeformer {

class TextObjective : public Objective {
 public:
  const LanguageData& data() const { return data_; }
  DataFacts facts() const override {
    DataFacts facts{.tokenizers = {data_.tokenizer->to_json(), ""},
                    .data_hash = data_.train.source_hash(),
                    .valid_hash = data_.valid ? data_.valid->source_hash() : 0,
                    .tokens = data_.train.size(),
                    .description = {str_cat(parameters_text(), ", vocabulary of ", data_.tokenizer->vocab_size(), ", ",
                                            data_.train.size(), " training tokens")},
                    .warnings = data_.warnings};
    if (!loss_description_.empty()) facts.description.push_back(loss_description_);
    return facts;
  }
  StepSize step_size(std::int64_t, MicroSteps micro_steps) override {
    return {.targets = micro_steps.size() * micro_step_size_.targets,
            .tokens = micro_steps.size() * micro_step_size_.tokens};
  }
  ValidationFacts validation() const override {
    if (!data_.valid) return {.missing = "no validation text"};
    if (!unscored_.empty()) return {.missing = unscored_};
    const std::int64_t size = data_.valid->size();
    return {.tokens = size - 1,
            .bytes = data_.valid->text_bytes(),
            .unknown_share = static_cast<double>(data_.valid_unknown) / static_cast<double>(size)};
  }

 protected:
  TextObjective(const ResolvedConfig& config, LanguageData data) : Objective(config), data_(std::move(data)) {}

  struct MicroStep {
    std::uint32_t step, micro_step;
  };
  // The micro-step that this rank computes after (step, micro_step). Its batch is read from disk meanwhile.
  MicroStep next(std::int64_t step, std::int64_t micro_step) const {
    const auto [first, end] = ranks().share(config_.train.accumulate);
    const bool last = micro_step + 1 == end;
    return {static_cast<std::uint32_t>(last ? step + 1 : step),
            static_cast<std::uint32_t>(last ? first : micro_step + 1)};
  }

  const LanguageData data_;
  StepSize micro_step_size_;      // the size of a micro-step, if all have the same; else step_size() is overridden
  std::string loss_description_;  // a line for people; empty: none
  std::string unscored_;          // why the validation text cannot be scored; empty: it can
};

// The objective of a model of the type M.
template <class M>
class TextObjectiveOf : public TextObjective {
 public:
  const M& model() const override { return *model_; }

 protected:
  // `make` makes the model that the configuration describes; `shared` replaces it by a model that other tasks train
  // too.
  TextObjectiveOf(const ResolvedConfig& config, LanguageData data,
                  std::unique_ptr<M> (*make)(const ResolvedConfig&, const ModelVocabulary&),
                  std::shared_ptr<M> shared = nullptr)
      : TextObjective(config, std::move(data)),
        model_(shared ? std::move(shared) : make(config, model_vocabulary(config, *data_.tokenizer))) {}

  const std::shared_ptr<M> model_;
};

}  // namespace tapeformer
