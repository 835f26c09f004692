#include "data/text/batcher.h"

#include <algorithm>
#include <span>

#include "core/error.h"
#include "core/parallel.h"
#include "data/text/row_keys.h"

namespace tapeformer {

namespace {

constexpr std::uint64_t kBatcherStream = 0x6261746368657221;

void check_shape(std::int64_t batch, std::int64_t context) {
  check(batch >= 1, "batch: expected at least 1 sequence, got ", batch);
  check(context >= 1, "context: expected at least 1 token, got ", context);
}

void set_shape(TextBatch& out, std::int64_t rows, std::int64_t length) {
  out.rows = rows;
  out.length = length;
  out.inputs.resize(rows * length);
  out.targets.resize(rows * length);
}

}  // namespace

TextBatcher::TextBatcher(TokenView tokens, std::int64_t batch, std::int64_t context, std::uint64_t seed)
    : tokens_(tokens), batch_(batch), context_(context), seed_(seed) {
  check_shape(batch, context);
  check(tokens.size() > context, "text is too short: ", tokens.size(), " tokens, but context ", context,
        " needs at least ", context + 1);
}

std::int64_t TextBatcher::place(std::uint32_t step, std::uint32_t micro_step, std::int64_t row) const {
  RandomStream random(training_row_key(seed_, step, micro_step, batch_, row, kBatcherStream));
  return static_cast<std::int64_t>(random.below(tokens_.size() - context_));
}

void TextBatcher::read_ahead(std::uint32_t step, std::uint32_t micro_step) const {
  for (std::int64_t row = 0; row < batch_; ++row) tokens_.read_ahead(place(step, micro_step, row), context_ + 1);
}

void TextBatcher::draw(std::uint32_t step, std::uint32_t micro_step, TextBatch& out) const {
  set_shape(out, batch_, context_);
  out.scored = batch_ * context_;
  std::vector<std::int32_t> window(context_ + 1);
  for (std::int64_t row = 0; row < batch_; ++row) {
    tokens_.copy(place(step, micro_step, row), window);
    std::copy(window.begin(), window.end() - 1, out.inputs.begin() + row * context_);
    std::copy(window.begin() + 1, window.end(), out.targets.begin() + row * context_);
  }
}

WindowBatcher::WindowBatcher(TokenView tokens, std::int64_t batch, std::int64_t context, std::int64_t stride)
    : tokens_(tokens), batch_(batch), context_(context), stride_(stride) {
  check_shape(batch, context);
  check(stride >= 1 && stride <= context, "stride: expected 1 to ", context, " (the context), got ", stride);
  check(tokens.size() >= 2, "text is too short to evaluate: expected at least 2 tokens, got ", tokens.size());
  const std::int64_t beyond_first = std::max<std::int64_t>(0, tokens.size() - 1 - context);
  windows_ = 1 + chunk_count(beyond_first, stride);
}

void WindowBatcher::fill(std::int64_t i, TextBatch& out) const {
  check(i >= 0 && i < batches(), "evaluation batch ", i, " is out of range for ", batches());
  set_shape(out, batch_, context_);
  std::fill(out.inputs.begin(), out.inputs.end(), 0);
  std::fill(out.targets.begin(), out.targets.end(), kIgnoredTarget);
  out.scored = 0;
  for (std::int64_t window = i * batch_; window < std::min(windows_, (i + 1) * batch_); ++window) {
    const std::int64_t row = window - i * batch_, begin = window * stride_;
    const std::int64_t length = std::min(context_, tokens_.size() - 1 - begin);
    // Positions whose target an earlier window has scored.
    const std::int64_t seen = window == 0 ? 0 : context_ - stride_;
    tokens_.copy(begin, std::span(out.inputs).subspan(row * context_, length));
    tokens_.copy(begin + 1 + seen, std::span(out.targets).subspan(row * context_ + seen, length - seen));
    out.scored += length - seen;
  }
}

StreamBatcher StreamBatcher::full_rows(TokenView tokens, std::int64_t streams, std::int64_t length) {
  check_shape(streams, length);
  const std::int64_t stream_length = (tokens.size() - 1) / streams;
  check(stream_length >= length, "text is too short: ", tokens.size(), " tokens, but ", streams, " rows of ", length,
        " tokens need at least ", streams * length + 1);
  return {tokens, streams, length, stream_length, 0, stream_length / length};
}

StreamBatcher StreamBatcher::every_token(TokenView tokens, std::int64_t streams, std::int64_t length,
                                         std::int64_t warm_up) {
  check_shape(streams, length);
  check(tokens.size() >= 2, "text is too short to evaluate: expected at least 2 tokens, got ", tokens.size());
  const std::int64_t targets = tokens.size() - 1, stream_length = chunk_count(targets, streams);
  const std::int64_t parts = chunk_count(targets, stream_length);
  // The largest number of tokens that a stream reads.
  const std::int64_t read = std::min(targets, stream_length + (parts > 1 ? warm_up : 0));
  return {tokens, parts, std::min(length, read), stream_length, warm_up, chunk_count(read, length)};
}

std::int64_t StreamBatcher::begin_of(std::int64_t step, std::int64_t row) const {
  return std::max<std::int64_t>(0, row * stream_length_ - warm_up_) + step % steps_ * length_;
}

void StreamBatcher::fill(std::int64_t step, std::int64_t first_row, std::int64_t rows, TextBatch& out) const {
  set_shape(out, rows, length_);
  std::fill(out.inputs.begin(), out.inputs.end(), 0);
  std::fill(out.targets.begin(), out.targets.end(), kIgnoredTarget);
  out.scored = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t stream = (first_row + row) * stream_length_, begin = begin_of(step, first_row + row);
    const std::int64_t end = std::min({begin + length_, stream + stream_length_, tokens_.size() - 1});
    if (begin >= end) continue;
    tokens_.copy(begin, std::span(out.inputs).subspan(row * length_, end - begin));
    const std::int64_t scored = std::max(begin, stream);  // the first position whose target is scored
    if (scored >= end) continue;
    tokens_.copy(scored + 1, std::span(out.targets).subspan(row * length_ + scored - begin, end - scored));
    out.scored += end - scored;
  }
}

void StreamBatcher::read_ahead(std::int64_t step, std::int64_t first_row, std::int64_t rows) const {
  for (std::int64_t row = first_row; row < first_row + rows; ++row) {
    tokens_.read_ahead(begin_of(step, row), length_ + 1);
  }
}

}  // namespace tapeformer
