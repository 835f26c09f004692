#include "train/objectives/training_task.h"

#include "train/config/model_config.h"
#include "train/objectives/language_objective.h"
#include "train/objectives/translation_objective.h"

namespace tapeformer {
namespace {

class LanguageTask : public TrainingTask {
 public:
  LanguageTask(const Config& config, const RunFolder* resumed, const ProgressMaker& progress)
      : data_(prepare_language_data(config, resumed ? Tokenizer::load(resumed->tokenizer()) : nullptr, progress)),
        model_(gpt_config(config, *data_.tokenizer)),
        objective_(config, model_, data_) {}

  const Module& model() const override { return model_; }
  Objective& objective() override { return objective_; }
  RunTokenizers tokenizers() const override { return {data_.tokenizer->to_json(), ""}; }
  std::uint64_t data_hash() const override { return data_.train.source_hash(); }
  std::vector<std::string> warnings() const override { return data_.warnings; }
  std::vector<std::string> description() const override {
    return {str_cat(model_.parameter_count(), " parameters, vocabulary of ", data_.tokenizer->vocab_size(), ", ",
                    data_.train.size(), " training tokens")};
  }

 private:
  LanguageData data_;
  Gpt model_;
  LanguageObjective objective_;
};

class TranslationTask : public TrainingTask {
 public:
  TranslationTask(const Config& config, const RunFolder* resumed)
      : config_(config),
        data_(prepare_translation_data(config,
                                       resumed ? std::optional(load_pair_tokenizers(*resumed, config)) : std::nullopt)),
        model_(
            transformer_config(config, data_.tokenizers.source->vocab_size(), data_.tokenizers.target->vocab_size())),
        objective_(config, model_, data_) {}

  const Module& model() const override { return model_; }
  Objective& objective() override { return objective_; }
  RunTokenizers tokenizers() const override {
    const PairTokenizers& both = data_.tokenizers;
    return {both.source->to_json(), both.joint() ? "" : both.target->to_json()};
  }
  std::uint64_t data_hash() const override { return data_.hash; }
  std::vector<std::string> description() const override {
    const PairTokenizers& both = data_.tokenizers;
    const std::string vocabulary =
        both.joint() ? str_cat("joint vocabulary of ", both.source->vocab_size())
                     : str_cat("vocabularies of ", both.source->vocab_size(), " and ", both.target->vocab_size());
    return {str_cat(model_.parameter_count(), " parameters, ", vocabulary),
            str_cat(data_.train.size(), " training pairs with ", data_.train.source_tokens(), " source and ",
                    data_.train.target_tokens(), " target tokens; ", objective_.steps_per_epoch(), " steps an epoch, ",
                    static_cast<int>(1000 * objective_.padding_share() + 0.5) / 10.0, " % of their positions padding")};
  }
  std::vector<std::string> warnings() const override {
    std::vector<std::string> lines = data_.notes.lines();
    const auto tell = [&](const TokenPairs& pairs, const char* what) {
      if (pairs.skipped().total() == 0) return;
      lines.push_back(str_cat(pairs.skipped().total(), " of ", pairs.skipped().total() + pairs.size(), " ", what,
                              " pairs are left out: ", describe(pairs.skipped(), pair_limits(config_))));
    };
    tell(data_.train, "training");
    if (data_.valid) tell(*data_.valid, "validation");
    return lines;
  }

 private:
  const Config& config_;
  TranslationData data_;
  Transformer model_;
  TranslationObjective objective_;
};

}  // namespace

std::unique_ptr<TrainingTask> make_training_task(const Config& config, const RunFolder* resumed,
                                                 const ProgressMaker& progress) {
  if (config.model.type == "gpt") return std::make_unique<LanguageTask>(config, resumed, progress);
  return std::make_unique<TranslationTask>(config, resumed);
}

}  // namespace tapeformer
