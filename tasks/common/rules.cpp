#include "tasks/common/rules.h"

#include "core/error.h"
#include "nn/interfaces/causal_model.h"
#include "train/config/data_kinds.h"

namespace tapeformer {

void require_plain_text(const ResolvedConfig& config) {
  const std::string& family = config.family().name;
  require(config.data.source.empty() && config.data.pairs.empty(), "model.type: ", family,
          " trains on data.text or data.corpus, got ", data_kind(config.data));
  require(config.train.batch_tokens == 0, "train.batch_tokens: expected 0 for ", family,
          ", whose sequences are all as long as model.context, got ", config.train.batch_tokens);
  require(config.train.length_groups == 1, "train.length_groups: expected 1 for ", family,
          ", whose sequences are all as long as model.context, got ", config.train.length_groups);
}

void require_no_masks(const ResolvedConfig& config) {
  const Config::Train defaults;
  const auto is_default = [&](const char* key, double Config::Train::*value) {
    require(config.train.*value == defaults.*value, "train.", key, ": expected ", defaults.*value, " for ",
            config.family().name, ", which masks no tokens, got ", config.train.*value);
  };
  is_default("mlm_probability", &Config::Train::mlm_probability);
  is_default("mask_token", &Config::Train::mask_token);
  is_default("mask_random", &Config::Train::mask_random);
}

void check_word_vectors(const ResolvedConfig& config) {
  const std::string& family = config.family().name;
  require_plain_text(config);
  require_separate_windows(config);
  require(config.train.label_smoothing == 0, "train.label_smoothing: expected 0 for ", family,
          ", which has no softmax, got ", config.train.label_smoothing);
  require(config.train.z_loss == 0, "train.z_loss: expected 0 for ", family, ", which has no softmax, got ",
          config.train.z_loss);
  require_no_masks(config);
}

void require_separate_windows(const ResolvedConfig& config) {
  const std::int64_t context = config.context().value_or(kUnlimitedWindow);
  require(config.eval.stride == context, "eval.stride: expected 0 or model.context, which is ", context, ", for ",
          config.family().name, ", whose windows do not overlap, got ", config.eval.stride);
}

}  // namespace tapeformer
