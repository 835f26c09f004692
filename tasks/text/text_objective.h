// The base of the objectives on plain text: the tokens, and what a run stores and reports about them.
#pragma once

#include "tasks/text/language_data.h"
#include "train/loop/objective.h"

namespace tapeformer {

class TextObjective : public Objective {
 public:
  const LanguageData& data() const { return data_; }
  DataFacts facts() const override {
    return {.tokenizers = {data_.tokenizer->to_json(), ""},
            .data_hash = data_.train.source_hash(),
            .valid_hash = data_.valid ? data_.valid->source_hash() : 0,
            .description = {str_cat(model().parameter_count(), " parameters, vocabulary of ",
                                    data_.tokenizer->vocab_size(), ", ", data_.train.size(), " training tokens")},
            .warnings = data_.warnings};
  }
  ValidationFacts validation() const override {
    if (!data_.valid) return {.missing = "no validation text"};
    const std::int64_t size = data_.valid->size();
    return {.tokens = size - 1,
            .bytes = data_.valid->text_bytes(),
            .unknown_share = static_cast<double>(data_.valid_unknown) / static_cast<double>(size)};
  }

 protected:
  TextObjective(const ResolvedConfig& config, LanguageData data) : Objective(config), data_(std::move(data)) {}

  CrossEntropyOptions loss_options(double normalizer) {
    return {.smoothing = config_.train.label_smoothing,
            .z_loss = config_.train.z_loss,
            .normalizer = normalizer,
            .deferred = true,
            .nll = nll_.place()};
  }
  struct MicroStep {
    std::uint32_t step, micro_step;
  };
  // The micro-step after (step, micro_step) on this rank: its batch is read from disk while this one is computed.
  MicroStep next(std::int64_t step, std::int64_t micro_step) const {
    const auto [first, end] = ranks().share(config_.train.accumulate);
    const bool last = micro_step + 1 == end;
    return {static_cast<std::uint32_t>(last ? step + 1 : step),
            static_cast<std::uint32_t>(last ? first : micro_step + 1)};
  }

  const LanguageData data_;
};

}  // namespace tapeformer
