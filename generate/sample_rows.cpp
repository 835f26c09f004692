#include "generate/sample_rows.h"

#include <algorithm>
#include <limits>

#include "autograd/kernels/scratch.h"
#include "core/parallel.h"

namespace tapeformer {

SampledRows::SampledRows(const std::vector<RowStart>& starts, const std::vector<RandomKey>& keys, DecodingRules rules,
                         const SamplingOptions& options, OnToken on_token)
    : rules_(std::move(rules)), options_(options), on_token_(std::move(on_token)) {
  check_options(options);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (starts[i].max_length > 0) rows_.push_back({starts[i], i, keys[i]});
  }
}

TokenRows SampledRows::rows() const {
  TokenRows rows;
  for (const Row& row : rows_) rows.emplace_back(row.ids);
  return rows;
}

std::int32_t SampledRows::next_token(const Row& row, std::span<const float> logits) const {
  if (rules_.must_end && length_ == row.max_length) return rules_.end;
  RandomKey key = row.key;
  key.step = static_cast<std::uint32_t>(length_ - 1);
  if (rules_.excluded.empty() && !row.grammar) return sample_token(logits, options_, key, row.name);
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  const kernels::Scratch<float> memory(std::ssize(logits));
  const std::span<float> allowed(memory.data(), logits.size());
  std::ranges::copy(logits, allowed.begin());
  for (const std::int32_t id : rules_.excluded) {
    if (id != rules_.end) allowed[id] = kNever;
  }
  if (row.grammar) {
    const std::size_t begin = row.ids.size() - (length_ - 1);
    const OutputGrammar::Allowed fits = row.grammar->allowed_after(std::span(row.ids).subspan(begin));
    for (std::int32_t id = 0; id < std::ssize(allowed); ++id) {
      if (!fits(id)) allowed[id] = kNever;
    }
  }
  return sample_token(allowed, options_, key, row.name);
}

std::vector<std::int64_t> SampledRows::extend(const Tensor& logits) {
  ++length_;
  const Tensor values = logits.to(DType::f32).contiguous();
  const auto logits_of = [&](std::int64_t i) {
    const std::int64_t vocab = values.size(1);
    return std::span<const float>(values.data<float>() + i * vocab, vocab);
  };
  std::vector<std::int32_t> tokens(rows_.size());
  parallel_for(0, std::ssize(rows_), 1,
               [&](std::int64_t i, std::int64_t) { tokens[i] = next_token(rows_[i], logits_of(i)); });
  std::vector<std::int64_t> selected;
  std::vector<Row> kept;
  for (std::int64_t i = 0; i < std::ssize(rows_); ++i) {
    Row& row = rows_[i];
    if (!on_token_(row.index, tokens[i], logits_of(i))) continue;
    if (tokens[i] == rules_.end || length_ == row.max_length) continue;
    row.ids.push_back(tokens[i]);
    selected.push_back(i);
    kept.push_back(std::move(row));
  }
  rows_ = std::move(kept);
  return selected;
}

}  // namespace tapeformer
