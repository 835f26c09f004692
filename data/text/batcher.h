// Batches of token ids: random ones to train on, sliding windows to evaluate on.
#pragma once

#include <cstdint>
#include <vector>

#include "data/text/token_file.h"

namespace tapeformer {

// The target of a position that is not scored.
inline constexpr std::int32_t kIgnoredTarget = -1;

// inputs and targets are (rows, length), row-major; the target of a position is the token that follows it.
struct Batch {
  std::int64_t rows = 0, length = 0;
  std::int64_t scored = 0;  // targets that are not kIgnoredTarget
  std::vector<std::int32_t> inputs, targets;
};

// Sequences of `context` tokens from random places of a text. What is drawn is a pure function of the seed, the step
// and the row's place in the whole effective batch: 1×32, 2×16 and 4×8 draw the same 32 sequences in the same order.
class TextBatcher {
 public:
  // The tokens must outlive the batcher. Throws Error when there are fewer than context + 1.
  TextBatcher(TokenView tokens, std::int64_t batch, std::int64_t context, std::uint64_t seed);

  // Row r of the batch is row micro_step·batch + r of the step: inputs tokens[o, o + context), targets one further,
  // with o uniform over all places where both fit. Reuses the memory of `out`.
  void draw(std::uint32_t step, std::uint32_t micro_step, Batch& out) const;
  // Has the tokens of a batch that will be drawn soon read from disk meanwhile.
  void read_ahead(std::uint32_t step, std::uint32_t micro_step) const;

 private:
  // Where a row of the batch begins in the text.
  std::int64_t place(std::uint32_t step, std::uint32_t micro_step, std::int64_t row) const;

  TokenView tokens_;
  std::int64_t batch_, context_;
  std::uint64_t seed_;
};

// Windows over a text that score every token but the first exactly once. Windows of `context` tokens begin at 0,
// stride, 2·stride, …; each scores the tokens that no window before it did, so that from the second window on each is
// predicted from at least context - stride + 1 tokens. Grouped into batches of one shape: what is left over at the end
// has input 0 and is not scored.
class WindowBatcher {
 public:
  // The tokens must outlive the batcher. Throws Error with fewer than two tokens or unless 1 <= stride <= context.
  WindowBatcher(TokenView tokens, std::int64_t batch, std::int64_t context, std::int64_t stride);

  std::int64_t windows() const { return windows_; }
  std::int64_t batches() const { return (windows_ + batch_ - 1) / batch_; }
  // Batch i of batches(); out.scored counts its scored tokens. Reuses the memory of `out`.
  void fill(std::int64_t i, Batch& out) const;

 private:
  TokenView tokens_;
  std::int64_t batch_, context_, stride_, windows_;
};

}  // namespace tapeformer
