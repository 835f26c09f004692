// What each head of a model's attention does: how much the loss rises without it, and what it looks at.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <vector>

#include "data/masked/masked_batcher.h"
#include "nn/attention/head_ablation.h"
#include "tasks/masked_language_model/masked_evaluation.h"
#include "tasks/text/text_evaluation.h"
#include "tasks/translation/translation_evaluation.h"

namespace tapeformer {

// What a head of self-attention looks at, as means over the queries of a text; a mean over no query is nullopt. A query
// i has the weight w_ij for the token j of its row.
struct HeadScores {
  std::optional<double> previous = {};  // w_i,i−1
  // Σ w_ij over the places j < i of the same token, for the queries that have such j.
  std::optional<double> same_token = {};
  std::optional<double> induction = {};  // Σ w_i,j+1 over these j, without w_ii: the places after the same token
  std::optional<double> first = {};      // w_i0, for i > 0
  std::optional<double> distance = {};   // Σ_j w_ij |i − j|, in tokens
};

// Returns the scores of one head with weights (T, T), f64 and contiguous, in a row of T tokens.
HeadScores head_scores(const Tensor& weights, std::span<const std::int32_t> ids);

struct HeadReport {
  HeadIndex index;
  double loss_rise = 0;    // how much the loss rises without this head, in nats per scored token
  HeadScores scores = {};  // in the text; empty for cross-attention
  // In rows of different random tokens that come twice, half as long as the context or 128 tokens at most: the mean
  // weight from the second place of a token to the place after its first (Olsson et al. 2022). Only for causal models.
  std::optional<double> repeated = {};
};

// Returns {"head": its name, "loss_rise", "previous", "same_token", "induction", "induction_random", "first",
// "distance"}, with null for what is not known.
nlohmann::ordered_json head_json(const HeadReport& head);

struct HeadStudy {
  Evaluation all;                 // with all heads
  std::vector<HeadReport> heads;  // in the order of loss_rise, the largest first
};

// Evaluates the model once with all heads and once without each of them, and reads their weights. `ordinary` are the
// tokens from which random rows are drawn. Throws UsageError for a model without heads.
HeadStudy study_heads(const CausalModel& model, std::span<const std::int32_t> ids, const WindowOptions& windows,
                      std::span<const std::int32_t> ordinary, const ProgressMaker& progress = {});
// The loss is that of the masked tokens; what heads look at is read in rows without masks.
HeadStudy study_heads(const MaskedLanguageModel& model, const MaskedBatcher& rows, const ProgressMaker& progress = {});
HeadStudy study_heads(const EncoderDecoder& model, const TokenPairs& pairs, const PairSymbols& symbols,
                      std::int64_t batch, const ProgressMaker& progress = {});

}  // namespace tapeformer
