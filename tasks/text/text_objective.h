// The base of the objectives on plain text: the tokens, and what a run stores and reports about them.
#pragma once

#include "tasks/text/language_data.h"
#include "train/loop/objective.h"

namespace tapeformer {

class TextObjective : public Objective {
 public:
  const LanguageData& data() const { return data_; }
  RunTokenizers tokenizers() const override { return {data_.tokenizer->to_json(), ""}; }
  std::uint64_t data_hash() const override { return data_.train.source_hash(); }
  std::uint64_t valid_hash() const override { return data_.valid ? data_.valid->source_hash() : 0; }
  std::vector<std::string> description() const override {
    return {str_cat(model().parameter_count(), " parameters, vocabulary of ", data_.tokenizer->vocab_size(), ", ",
                    data_.train.size(), " training tokens")};
  }
  std::vector<std::string> warnings() const override { return data_.warnings; }
  std::optional<double> take_nll_loss() override { return nll_.take(); }
  bool can_evaluate() const override { return data_.valid.has_value(); }
  std::int64_t evaluation_tokens() const override { return data_.valid->size() - 1; }
  std::int64_t evaluation_bytes() const override { return data_.valid->text_bytes(); }
  double unknown_share() const override {
    return static_cast<double>(data_.valid_unknown) / static_cast<double>(data_.valid->size());
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

 private:
  NllLoss nll_{config_.train.label_smoothing > 0 || config_.train.z_loss > 0};
};

}  // namespace tapeformer
