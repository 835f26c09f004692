#include "data/parallel/token_pairs.h"

#include <algorithm>

#include "core/error.h"
#include "core/parallel.h"
#include "core/text/utf8.h"
#include "tokenizer/unicode_class.h"

namespace tapeformer {

namespace {

constexpr std::int64_t kPairsPerChunk = 512;                    // encoded by one thread at a time
constexpr std::int64_t kPairsPerReport = 256 * kPairsPerChunk;  // between two calls of the progress callback

bool is_utf8(std::string_view text) { return find_invalid_utf8(text) == std::string_view::npos; }

}  // namespace

bool is_usable(const SentencePair& pair, SkippedPairs& skipped) {
  const bool empty = is_white_space(pair.source) || is_white_space(pair.target);
  const bool valid = is_utf8(pair.source) && is_utf8(pair.target);
  if (empty) ++skipped.empty;
  if (!empty && !valid) ++skipped.invalid_utf8;
  return !empty && valid;
}

bool is_usable(std::span<const std::int32_t> source, std::span<const std::int32_t> target, const PairLimits& limits,
               SkippedPairs& skipped) {
  const bool empty = source.empty() || target.empty();
  const bool too_long = std::ssize(source) > limits.source || std::ssize(target) > limits.target;
  if (empty) ++skipped.empty;
  if (!empty && too_long) ++skipped.too_long;
  return !empty && !too_long;
}

std::string describe(const SkippedPairs& skipped, const PairLimits& limits) {
  std::string out;
  const auto add = [&](std::int64_t count, const char* one, const char* many, const std::string& what) {
    if (count > 0) out += str_cat(out.empty() ? "" : ", ", count, " ", count == 1 ? one : many, " ", what);
  };
  add(skipped.empty, "has", "have", "an empty side");
  add(skipped.invalid_utf8, "is", "are", "not valid UTF-8");
  add(skipped.too_long, "is", "are",
      limits.source == limits.target
          ? str_cat("longer than ", limits.source, " tokens")
          : str_cat("longer than ", limits.source, " source or ", limits.target, " target tokens"));
  return out;
}

void TokenPairs::Lists::add(std::span<const std::int32_t> list) {
  ids.insert(ids.end(), list.begin(), list.end());
  begins.push_back(static_cast<std::int64_t>(ids.size()));
}

void TokenPairs::Lists::append(const Lists& other) {
  for (std::int64_t i = 0; i < other.size(); ++i) add(other[i]);
}

void TokenPairs::add(std::span<const std::int32_t> source, std::span<const std::int32_t> target,
                     std::int64_t target_bytes) {
  source_.add(source);
  target_.add(target);
  target_bytes_ += target_bytes;
}

std::int64_t TokenPairs::longest() const {
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < size(); ++i) most = std::max({most, std::ssize(source(i)), std::ssize(target(i))});
  return most;
}

TokenPairs encode_pairs(std::span<const SentencePair> pairs, const Tokenizer& source, const Tokenizer& target,
                        const PairLimits& limits, const ProgressCallback& progress) {
  const auto count = static_cast<std::int64_t>(pairs.size());
  check(count > 0, "no sentence pairs given");
  const auto encode = [&](std::int64_t i, TokenPairs& out) {
    const SentencePair& pair = pairs[i];
    if (!is_usable(pair, out.skipped_)) return;
    const auto source_ids = source.encode(pair.source), target_ids = target.encode(pair.target);
    if (!is_usable(source_ids, target_ids, limits, out.skipped_)) return;
    out.add(source_ids, target_ids, static_cast<std::int64_t>(pair.target.size()));
  };

  std::vector<TokenPairs> parts(chunk_count(count, kPairsPerChunk));
  for (std::int64_t from = 0; from < count; from += kPairsPerReport) {
    const std::int64_t to = std::min(count, from + kPairsPerReport);
    parallel_for(from, to, kPairsPerChunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        try {
          encode(i, parts[begin / kPairsPerChunk]);
        } catch (const Error& error) {
          fail("sentence pair ", i + 1, ": ", error.what());
        }
      }
    });
    if (progress) progress(static_cast<double>(to) / static_cast<double>(count));
  }

  TokenPairs all;
  for (auto lists : {&TokenPairs::source_, &TokenPairs::target_}) {
    std::size_t ids = 0, begins = 1;
    for (const TokenPairs& part : parts) {
      ids += (part.*lists).ids.size();
      begins += (part.*lists).size();
    }
    (all.*lists).ids.reserve(ids);
    (all.*lists).begins.reserve(begins);
  }
  for (TokenPairs& part : parts) {
    all.source_.append(part.source_);
    all.target_.append(part.target_);
    all.target_bytes_ += part.target_bytes_;
    all.skipped_.empty += part.skipped_.empty;
    all.skipped_.invalid_utf8 += part.skipped_.invalid_utf8;
    all.skipped_.too_long += part.skipped_.too_long;
    part = {};  // frees the memory of the part that was copied
  }
  check(all.size() > 0, "none of ", count, " sentence pairs can be used: ", describe(all.skipped_, limits));
  return all;
}

}  // namespace tapeformer
