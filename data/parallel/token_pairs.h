// The token ids of sentence pairs, in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/progress.h"
#include "data/parallel/parallel_text.h"
#include "data/text/encode_text.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

// The largest number of ids of a sentence, not counting its end of sentence.
struct PairLimits {
  std::int64_t source = 0, target = 0;
};

// The numbers of pairs that are left out, by reason. A pair counts for the first of these reasons that applies to one
// of its sides.
struct SkippedPairs {
  std::int64_t empty = 0;  // only white space, or without any token
  std::int64_t invalid_utf8 = 0;
  std::int64_t too_long = 0;
  std::int64_t total() const { return empty + invalid_utf8 + too_long; }
};

// Whether a pair can be used by any tokenizer. If not, counts the reason.
bool is_usable(const SentencePair& pair, SkippedPairs& skipped);
// Whether the ids of such a pair can be used: a tokenizer may leave nothing of a sentence, such as one zero-width
// space. If not, counts the reason.
bool is_usable(std::span<const std::int32_t> source, std::span<const std::int32_t> target, const PairLimits& limits,
               SkippedPairs& skipped);

// The reasons that occurred, as text: "3 have an empty side, 1 is not valid UTF-8, 9 are longer than 64 tokens".
std::string describe(const SkippedPairs& skipped, const PairLimits& limits);

// The token ids of pairs, without the beginning and the end of sentences. Each id takes four bytes.
class TokenPairs {
 public:
  std::int64_t size() const { return source_.size(); }
  std::span<const std::int32_t> source(std::int64_t i) const { return source_[i]; }
  std::span<const std::int32_t> target(std::int64_t i) const { return target_[i]; }

  std::int64_t source_tokens() const { return static_cast<std::int64_t>(source_.ids.size()); }
  std::int64_t target_tokens() const { return static_cast<std::int64_t>(target_.ids.size()); }
  // The largest number of ids of a sentence, source or target.
  std::int64_t longest() const;
  // The number of bytes of the target sentences.
  std::int64_t target_bytes() const { return target_bytes_; }
  // The number of source or target ids that are the unknown token of their tokenizer.
  std::int64_t unknown_sources(const Tokenizer& source) const { return count_unknown(source_.ids, source); }
  std::int64_t unknown_targets(const Tokenizer& target) const { return count_unknown(target_.ids, target); }
  // The share of the target ids that are the unknown token of their tokenizer; 0 without ids.
  double unknown_share(const Tokenizer& target) const {
    return static_cast<double>(unknown_targets(target)) /
           static_cast<double>(std::max<std::int64_t>(target_tokens(), 1));
  }
  const SkippedPairs& skipped() const { return skipped_; }

  void add(std::span<const std::int32_t> source, std::span<const std::int32_t> target, std::int64_t target_bytes);

 private:
  friend TokenPairs encode_pairs(std::span<const SentencePair>, const Tokenizer&, const Tokenizer&, const PairLimits&,
                                 const ProgressCallback&);

  // Lists of ids, stored contiguously.
  struct Lists {
    std::vector<std::int32_t> ids;
    std::vector<std::int64_t> begins{0};  // the beginning of each list, and the end of the last one

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

// Encodes the usable pairs as plain text, in their order, and counts the others. Uses all threads; the result does not
// depend on their number. Throws Error when no pair is left, and when a tokenizer throws, naming the pair.
TokenPairs encode_pairs(std::span<const SentencePair> pairs, const Tokenizer& source, const Tokenizer& target,
                        const PairLimits& limits, const ProgressCallback& progress = {});

}  // namespace tapeformer
