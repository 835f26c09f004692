// Batches of sentence pairs of about the same length: in a drawn order to train on, one after another to evaluate on.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/random.h"
#include "data/parallel/token_pairs.h"
#include "data/text/batcher.h"
#include "tokenizer/sentence_symbols.h"

namespace tapeformer {

// Row-major; row r is one pair. The decoder reads `inputs` and is to say `targets`, one further.
struct PairBatch {
  std::int64_t rows = 0, source_length = 0, target_length = 0;
  std::int64_t scored = 0;                   // targets that are not kIgnoredTarget
  std::vector<std::int32_t> source;          // (rows, source_length): ids, end of sentence, padding
  std::vector<std::int32_t> source_lengths;  // (rows): of the source without padding
  std::vector<std::int32_t> inputs;          // (rows, target_length): begin of sentence, ids, padding
  std::vector<std::int32_t> targets;         // (rows, target_length): ids, end of sentence, kIgnoredTarget
};

struct PairBatchOptions {
  // At most so many positions a batch, padding counted, for source and for target each: rows · longest sentence with
  // its end. 0: batches of so many sentences instead.
  std::int64_t tokens = 0;
  std::int64_t sentences = 16;
  std::uint64_t seed = 1;  // of the order; only training has one
};

// All pairs once, in batches as large as the options allow: by the length of the target, then of the source, for which
// shortest first and longest first take turns, so that a batch across two lengths of the target has sources alike.
class LengthBuckets {
 public:
  // The pairs must outlive this object. Throws Error without pairs, for sizes of batches that are out of range, and
  // when a pair alone is beyond the bound of tokens.
  LengthBuckets(const TokenPairs& pairs, PairSymbols symbols, const PairBatchOptions& options);

  std::int64_t batches() const { return static_cast<std::int64_t>(begins_.size()) - 1; }
  // Scored targets of batch i of batches(), without filling it.
  std::int64_t scored(std::int64_t i) const { return shape(i).target_tokens; }
  // Reuses the memory of `out`.
  void fill(std::int64_t i, PairBatch& out) const;

  // The part of all positions, source and target sides together, that is padding.
  double padding_share() const;

  // Draws anew which of the pairs of the same two lengths comes first. The batches keep their shapes. The same random
  // numbers give the same order, whatever it was before.
  void draw_ties(RandomStream& random);

 private:
  // Of a batch; all with the end of sentence.
  struct Shape {
    std::int64_t rows = 0, source_length = 0, target_length = 0;
    std::int64_t source_tokens = 0, target_tokens = 0;  // without padding
  };

  Shape shape(std::int64_t i) const;
  // Of a pair: target, source, as they are compared.
  std::pair<std::int64_t, std::int64_t> lengths(std::int64_t pair) const;
  void cut(const PairBatchOptions& options);

  const TokenPairs* pairs_;
  PairSymbols symbols_;
  std::vector<std::int64_t> order_;   // pairs by length
  std::vector<std::int64_t> begins_;  // where in order_ each batch begins, and the end of the last
};

// Training batches without end, epoch after epoch; every pair occurs once an epoch. Which batches there are and their
// order is drawn for each epoch. Batch `index` since the start of training is a pure function of the pairs, the options
// and the index: a batcher made anew goes on where another one stopped. The plan of an epoch is kept, so batches are
// cheapest in order; not for several threads at once.
class PairBatcher {
 public:
  // As LengthBuckets.
  PairBatcher(const TokenPairs& pairs, PairSymbols symbols, const PairBatchOptions& options);

  // The same in all epochs.
  std::int64_t batches_per_epoch() const { return batches_.batches(); }
  double padding_share() const { return batches_.padding_share(); }

  // Scored targets of a batch, without filling it.
  std::int64_t scored(std::int64_t index) { return batches_.scored(plan(index)); }
  // Reuses the memory of `out`.
  void draw(std::int64_t index, PairBatch& out) { batches_.fill(plan(index), out); }

 private:
  // Which of the epoch's batches by length it is, with the epoch's plan made.
  std::int64_t plan(std::int64_t index);

  LengthBuckets batches_;
  std::uint64_t seed_;
  std::int64_t epoch_ = -1;  // whose plan it is
  std::vector<std::int64_t> order_;
};

}  // namespace tapeformer
