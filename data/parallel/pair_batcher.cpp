#include "data/parallel/pair_batcher.h"

#include <algorithm>
#include <tuple>

#include "core/error.h"
#include "core/shuffle.h"

namespace tapeformer {

namespace {

constexpr std::uint64_t kPairStream = 0x7061697262617421;  // differs from the streams of ops, which are 0, 1, 2, …

}  // namespace

LengthBuckets::LengthBuckets(const TokenPairs& pairs, PairSymbols symbols, const PairBatchOptions& options)
    : pairs_(&pairs), symbols_(symbols), pieces_(options.pieces), order_(arange(pairs.size())) {
  check(pairs.size() > 0, "no sentence pairs to make batches of");
  check(pieces_ >= 1, "pieces of a bucket: expected at least 1, got ", pieces_);
  std::ranges::sort(order_, {}, [this](std::int64_t pair) {
    const auto [target, source] = lengths(pair);
    return std::tuple(target, target % 2 == 0 ? source : -source, pair);
  });
  cut(options);
}

std::pair<std::int64_t, std::int64_t> LengthBuckets::lengths(std::int64_t pair) const {
  return {pairs_->target(pair).size() + 1, pairs_->source(pair).size() + 1};
}

void LengthBuckets::cut(const PairBatchOptions& options) {
  const bool by_tokens = options.tokens != 0;
  check(options.tokens >= 0, "train.batch_tokens: expected at least 1, or 0 for none, got ", options.tokens);
  check(by_tokens || options.sentences >= 1, "batch: expected at least 1 sentence pair, got ", options.sentences);
  const std::int64_t most = by_tokens ? options.tokens : options.sentences;
  std::int64_t longest_source = 0, longest_target = 0;  // over all pairs
  std::int64_t rows = 0, longest = 0;                   // in the current bucket
  begins_ = {0};
  for (std::size_t at = 0; at < order_.size(); ++at) {
    const auto [target, source] = lengths(order_[at]);
    longest_source = std::max(longest_source, source);
    longest_target = std::max(longest_target, target);
    ++rows;
    longest = std::max({longest, source, target});
    if (rows * (by_tokens ? longest : 1) > most * pieces_) {
      begins_.push_back(static_cast<std::int64_t>(at));
      rows = 1;
      longest = std::max(source, target);
    }
  }
  begins_.push_back(static_cast<std::int64_t>(order_.size()));
  check(!by_tokens || std::max(longest_source, longest_target) <= most, "train.batch_tokens: expected at least ",
        std::max(longest_source, longest_target), ", which the longest ",
        longest_source > longest_target ? "source" : "target", " sentence takes with its end, got ", most);
}

LengthBuckets::Shape LengthBuckets::shape(std::int64_t i) const {
  check(i >= 0 && i < batches(), "batch ", i, " of sentence pairs is out of range for ", batches());
  const std::int64_t bucket = i / pieces_, piece = i % pieces_;
  const std::int64_t pairs = begins_[bucket + 1] - begins_[bucket];
  const auto cut = [&](std::int64_t at) { return begins_[bucket] + pairs * at / pieces_; };
  Shape out{.begin = cut(piece), .rows = cut(piece + 1) - cut(piece)};
  for (std::int64_t at = out.begin; at < out.begin + out.rows; ++at) {
    const auto [target, source] = lengths(order_[at]);
    out.source_length = std::max(out.source_length, source);
    out.target_length = std::max(out.target_length, target);
    out.source_tokens += source;
    out.target_tokens += target;
  }
  return out;
}

void LengthBuckets::fill(std::int64_t i, PairBatch& out) const {
  const Shape batch = shape(i);
  out.rows = batch.rows;
  out.source_length = batch.source_length;
  out.target_length = batch.target_length;
  out.scored = batch.target_tokens;
  out.source.assign(batch.rows * batch.source_length, symbols_.source.padding);
  out.source_lengths.resize(batch.rows);
  out.inputs.assign(batch.rows * batch.target_length, symbols_.target.padding);
  out.targets.assign(batch.rows * batch.target_length, kIgnoredTarget);
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    const std::int64_t pair = order_[batch.begin + row];
    const auto source = pairs_->source(pair), target = pairs_->target(pair);
    *std::ranges::copy(source, out.source.begin() + row * batch.source_length).out = symbols_.source.end;
    out.source_lengths[row] = static_cast<std::int32_t>(source.size()) + 1;
    const auto inputs = out.inputs.begin() + row * batch.target_length;
    *inputs = symbols_.target.begin;
    std::ranges::copy(target, inputs + 1);
    *std::ranges::copy(target, out.targets.begin() + row * batch.target_length).out = symbols_.target.end;
  }
}

double LengthBuckets::padding_share() const {
  std::int64_t positions = 0, tokens = 0;
  for (std::int64_t i = 0; i < batches(); ++i) {
    const Shape batch = shape(i);
    positions += batch.rows * (batch.source_length + batch.target_length);
    tokens += batch.source_tokens + batch.target_tokens;
  }
  return static_cast<double>(positions - tokens) / static_cast<double>(positions);
}

void LengthBuckets::draw_ties(RandomStream& random) {
  const auto differ = [this](std::int64_t a, std::int64_t b) { return lengths(a) != lengths(b); };
  for (auto begin = order_.begin(); begin != order_.end();) {
    const auto last = std::adjacent_find(begin, order_.end(), differ);
    const auto end = last == order_.end() ? last : last + 1;
    std::sort(begin, end);  // so that the earlier order has no influence
    shuffle({begin, end}, random);
    begin = end;
  }
}

PairBatcher::PairBatcher(const TokenPairs& pairs, PairSymbols symbols, const PairBatchOptions& options)
    : batches_(pairs, symbols, options), seed_(options.seed), pieces_(options.pieces) {}

std::int64_t PairBatcher::plan(std::int64_t index) {
  check(index >= 0, "batch of sentence pairs: expected at least 0, got ", index);
  const std::int64_t epoch = index / batches_per_epoch();
  if (epoch != epoch_) {
    RandomStream random(RandomKey{.seed = seed_, .step = static_cast<std::uint32_t>(epoch), .stream = kPairStream});
    batches_.draw_ties(random);
    order_ = arange(batches_.buckets());
    shuffle(order_, random);
    epoch_ = epoch;
  }
  const std::int64_t batch = index % batches_per_epoch();
  return order_[batch / pieces_] * pieces_ + batch % pieces_;
}

}  // namespace tapeformer
