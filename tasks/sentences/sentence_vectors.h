// One vector for a whole sentence: the mean of a model's vectors of its tokens, and how well such vectors find the
// sentence that says the same.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/parallel/parallel_text.h"
#include "nn/interfaces/model.h"
#include "tasks/analysis/trained_embedder.h"
#include "train/loop/evaluation.h"

namespace tapeformer {

// A sentence as the model reads it. The vectors of the tokens in [begin, end) are averaged: all but the special ones,
// as in text_vectors().
struct SentenceRow {
  std::string text;
  std::vector<std::int32_t> ids;
  std::int64_t begin = 0, end = 0;
};
// Two sentences that say the same.
struct SentenceRows {
  SentenceRow first, second;
};

// Encodes pairs of sentences; pairs of two empty sentences are left out. Throws Error that begins with the origin and
// the number of the pair, for a sentence without tokens or longer than the model reads. The first pair has the number
// `first`, since the pairs may be a later part of their text.
std::vector<SentenceRows> encode_sentences(std::span<const SentencePair> pairs, const std::string& origin,
                                           const Tokenizer& tokenizer, const RowFrame& frame, std::size_t first = 1);
// Returns a sentence about the tokens that the vocabulary does not have, if they are more than this share of all.
std::optional<std::string> unknown_note(std::span<const SentenceRows> pairs, const Tokenizer& tokenizer,
                                        const std::string& origin, double share);

// Returns the vectors of sentences, each divided by its length: (N, F).
Variable unit_vectors(Tape& tape, const Model& model, std::span<const SentenceRow* const> rows);

// −Σ_i ln [e^{cos(u_i, v_t)/τ} / Σ_j e^{cos(u_i, v_j)/τ}] / normalizer, t = first_target + i, for unit vectors u (N, F)
// and v (M, F) (van den Oord et al. 2018; Gao et al. 2021). j leaves out what has the same text as t: it is no
// negative. `texts` are those of v; empty: they are known to differ.
Variable contrastive_loss(const Variable& u, const Variable& v, std::int64_t first_target, double temperature,
                          double normalizer, std::span<const std::string_view> texts = {});

// Looks for the second sentence of each pair among the second sentences of all pairs, by the largest cosine with the
// first sentence. The metric "accuracy" is the share of pairs for which it is found; where several pairs have the same
// second sentence, any of them is right. `nats` is the contrastive loss, summed over the pairs. `batch` pairs are in
// one forward pass. Ranks share them, and all return the whole result.
Evaluation evaluate(const Model& model, std::span<const SentenceRows> pairs, double temperature, std::int64_t batch,
                    const ProgressCallback& progress = {}, Communicator& ranks = Communicator::alone());

}  // namespace tapeformer
