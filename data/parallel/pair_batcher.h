// Batches of sentence pairs of similar length: in a random order for training, in a fixed order for evaluation.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/random.h"
#include "data/parallel/token_pairs.h"
#include "data/text/batcher.h"
#include "tokenizer/sentence_symbols.h"

namespace tapeformer {

// All matrices are row-major; row r is one pair. The decoder reads `inputs` and predicts `targets`, the same tokens one
// position later.
struct PairBatch {
  std::int64_t rows = 0, source_length = 0, target_length = 0;
  std::int64_t scored = 0;                   // the number of targets that are not kIgnoredTarget
  std::vector<std::int32_t> source;          // (rows, source_length): ids, end of sentence, padding
  std::vector<std::int32_t> source_lengths;  // (rows): of the source without padding
  std::vector<std::int32_t> inputs;          // (rows, target_length): begin of sentence, ids, padding
  std::vector<std::int32_t> targets;         // (rows, target_length): ids, end of sentence, kIgnoredTarget
};

struct PairBatchOptions {
  // The largest number of positions in a batch, including padding, separately for the source and the target: rows · the
  // longest sentence with its end. 0: the number of sentences limits a batch instead.
  std::int64_t tokens = 0;
  std::int64_t sentences = 16;
  // The number of batches into which a bucket, sentences of similar length that are drawn together, is split: 4 pieces
  // of 8 sentences are the same sentences as 1 piece of 32. A piece of a bucket limited by tokens may have one sentence
  // more than `tokens` allows. If a bucket has fewer sentences than pieces, some pieces are empty.
  std::int64_t pieces = 1;
  std::uint64_t seed = 1;  // seed of the order; only training shuffles
};

// Contains every pair once, in batches as large as the options allow. The pairs are sorted by the length of the target,
// then of the source: shortest first for one target length, longest first for the next one, so that a batch which spans
// two target lengths has sources of similar lengths.
class LengthBuckets {
 public:
  // The pairs must outlive this object. Throws Error without pairs, for options that are out of range, and when a
  // single pair has more than `tokens` positions.
  LengthBuckets(const TokenPairs& pairs, PairSymbols symbols, const PairBatchOptions& options);

  std::int64_t batches() const { return buckets() * pieces_; }
  // Bucket b consists of the batches b · pieces to (b + 1) · pieces - 1.
  std::int64_t buckets() const { return static_cast<std::int64_t>(begins_.size()) - 1; }
  // The number of scored targets of batch i of batches(), without filling it.
  std::int64_t scored(std::int64_t i) const { return shape(i).target_tokens; }
  // Reuses the memory of `out`.
  void fill(std::int64_t i, PairBatch& out) const;

  // The share of padding in all positions of sources and targets together.
  double padding_share() const;

  // Shuffles the pairs that have the same two lengths. The batches keep their shapes. The same random numbers give the
  // same order, whatever the order was before.
  void draw_ties(RandomStream& random);

 private:
  // The shape of the batch of the pairs order_[begin], …, order_[begin + rows - 1]. All lengths include the end of
  // sentence.
  struct Shape {
    std::int64_t begin = 0, rows = 0, source_length = 0, target_length = 0;
    std::int64_t source_tokens = 0, target_tokens = 0;  // without padding
  };

  Shape shape(std::int64_t i) const;
  // The lengths of a pair, in the order of comparison: target, source.
  std::pair<std::int64_t, std::int64_t> lengths(std::int64_t pair) const;
  void cut(const PairBatchOptions& options);

  const TokenPairs* pairs_;
  PairSymbols symbols_;
  std::int64_t pieces_;
  std::vector<std::int64_t> order_;   // indices of the pairs, sorted by length
  std::vector<std::int64_t> begins_;  // the beginning of each bucket in order_, and the end of the last one
};

// Training batches without end, epoch after epoch; every pair occurs once in each epoch. For each epoch, the order of
// the buckets, and of pairs of equal lengths in them, is shuffled; the pieces of a bucket stay together. Batch `index`
// since the start of training is a pure function of the pairs, the options and the index, so a new batcher can continue
// where another one stopped. The order of an epoch is cached, so reading batches in order is the cheapest. Not
// thread-safe.
class PairBatcher {
 public:
  // Throws Error as LengthBuckets does.
  PairBatcher(const TokenPairs& pairs, PairSymbols symbols, const PairBatchOptions& options);

  // The number of batches in every epoch.
  std::int64_t batches_per_epoch() const { return batches_.batches(); }
  double padding_share() const { return batches_.padding_share(); }

  // The number of scored targets of a batch, without filling it.
  std::int64_t scored(std::int64_t index) { return batches_.scored(plan(index)); }
  // Reuses the memory of `out`.
  void draw(std::int64_t index, PairBatch& out) { batches_.fill(plan(index), out); }

 private:
  // The index in batches_ of a batch of training. Shuffles the batch's epoch if needed.
  std::int64_t plan(std::int64_t index);

  LengthBuckets batches_;
  std::uint64_t seed_;
  std::int64_t pieces_;
  std::int64_t epoch_ = -1;          // the epoch that order_ is drawn for
  std::vector<std::int64_t> order_;  // the shuffled order of the buckets
};

}  // namespace tapeformer
