// The token ids of sentence pairs, in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/parallel/parallel_text.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

// The most ids that a sentence may have; its end of sentence is not counted.
struct PairLimits {
  std::int64_t source = 0, target = 0;
};

// Pairs left out, each for one reason: the first of these that holds of either side.
struct SkippedPairs {
  std::int64_t empty = 0;  // nothing but white space
  std::int64_t invalid_utf8 = 0;
  std::int64_t too_long = 0;
  std::int64_t total() const { return empty + invalid_utf8 + too_long; }
};

// Whether a pair can be used, whatever the tokenizers and limits; counts the reason where it cannot.
bool is_usable(const SentencePair& pair, SkippedPairs& skipped);

// "3 have an empty side, 1 is not valid UTF-8, 9 are longer than 64 tokens": the reasons that occur; "" without any.
std::string describe(const SkippedPairs& skipped, const PairLimits& limits);

// Without begin and end of sentence, four bytes an id.
class TokenPairs {
 public:
  std::int64_t size() const { return source_.size(); }
  std::span<const std::int32_t> source(std::int64_t i) const { return source_[i]; }
  std::span<const std::int32_t> target(std::int64_t i) const { return target_[i]; }

  std::int64_t source_tokens() const { return static_cast<std::int64_t>(source_.ids.size()); }
  std::int64_t target_tokens() const { return static_cast<std::int64_t>(target_.ids.size()); }
  // Bytes of the target sentences that the ids stand for.
  std::int64_t target_bytes() const { return target_bytes_; }
  const SkippedPairs& skipped() const { return skipped_; }

  void add(std::span<const std::int32_t> source, std::span<const std::int32_t> target, std::int64_t target_bytes);

 private:
  friend TokenPairs encode_pairs(std::span<const SentencePair>, const Tokenizer&, const Tokenizer&, const PairLimits&);

  // Lists of ids one after another.
  struct Lists {
    std::vector<std::int32_t> ids;
    std::vector<std::int64_t> begins{0};  // of each list, and the end of the last

    std::int64_t size() const { return static_cast<std::int64_t>(begins.size()) - 1; }
    std::span<const std::int32_t> operator[](std::int64_t i) const {
      return std::span(ids).subspan(begins[i], begins[i + 1] - begins[i]);
    }
    void add(std::span<const std::int32_t> list);
    void append(const Lists& other);
  };

  Lists source_, target_;
  std::int64_t target_bytes_ = 0;
  SkippedPairs skipped_;
};

// The pairs that can be used, in their order, encoded as plain text; the others are counted. Uses all threads; the
// result does not depend on their number. Throws Error when no pair is left, and, naming the pair, what the tokenizers
// throw.
TokenPairs encode_pairs(std::span<const SentencePair> pairs, const Tokenizer& source, const Tokenizer& target,
                        const PairLimits& limits);

}  // namespace tapeformer
