// Batches of token ids: random sequences for training, sliding windows for evaluation, and rows in order for a model
// with a recurrent state.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ignored_target.h"
#include "core/parallel.h"
#include "data/text/token_file.h"

namespace tapeformer {

// inputs and targets are (rows, length), row-major; the target of a position is the next token.
struct TextBatch {
  std::int64_t rows = 0, length = 0;
  std::int64_t scored = 0;  // the number of targets that are not kIgnoredTarget
  std::vector<std::int32_t> inputs, targets;
};

// Sequences of `context` tokens from random positions of a text. A sequence is a pure function of the seed, the step
// and its row in the whole effective batch: 1×32, 2×16 and 4×8 draw the same 32 sequences in the same order.
class TextBatcher {
 public:
  // The tokens must outlive the batcher. Throws Error when there are fewer than context + 1.
  TextBatcher(TokenView tokens, std::int64_t batch, std::int64_t context, std::uint64_t seed);

  // Row r of the batch is row micro_step·batch + r of the step. Its inputs are tokens[o, o + context), its targets are
  // tokens[o + 1, o + context + 1), with o uniform over all possible offsets. Reuses the memory of `out`.
  void draw(std::uint32_t step, std::uint32_t micro_step, TextBatch& out) const;
  // Asks the system to read from disk the tokens of a batch that will be drawn soon.
  void read_ahead(std::uint32_t step, std::uint32_t micro_step) const;

 private:
  // The offset in the text where a row of the batch begins.
  std::int64_t place(std::uint32_t step, std::uint32_t micro_step, std::int64_t row) const;

  TokenView tokens_;
  std::int64_t batch_, context_;
  std::uint64_t seed_;
};

// Windows over a text that score every token except the first one exactly once. Windows of `context` tokens begin at 0,
// stride, 2·stride, …; each scores the tokens that no earlier window has scored. From the second window on, a token is
// predicted from at least context - stride + 1 tokens. All batches have the same shape: unused positions at the end
// have input 0 and are not scored.
class WindowBatcher {
 public:
  // The tokens must outlive the batcher. Throws Error for fewer than two tokens, and unless 1 <= stride <= context.
  WindowBatcher(TokenView tokens, std::int64_t batch, std::int64_t context, std::int64_t stride);

  std::int64_t windows() const { return windows_; }
  std::int64_t batches() const { return chunk_count(windows_, batch_); }
  // Batch i of batches(); out.scored counts its scored tokens. Reuses the memory of `out`.
  void fill(std::int64_t i, TextBatch& out) const;

 private:
  TokenView tokens_;
  std::int64_t batch_, context_, stride_, windows_;
};

// A text in order, for a model with a recurrent state: it is cut into streams of equal length, which are read side by
// side, `length` tokens in each step. Row r of a step continues where row r of the step before ended; at the end of the
// streams, they begin again.
class StreamBatcher {
 public:
  // All rows are full: the remainder at the end of a stream is not read. Throws Error when the text is too short for
  // one row of each stream. The tokens must outlive the batcher.
  static StreamBatcher full_rows(TokenView tokens, std::int64_t streams, std::int64_t length);
  // Every token but the first one is a target once. A stream first reads up to `warm_up` tokens before its beginning,
  // without scoring them, so that its recurrent state is not empty; its last row may end in unused positions, which
  // have input 0 and are not scored either. Streams that would be empty are left out. Throws Error for fewer than two
  // tokens.
  static StreamBatcher every_token(TokenView tokens, std::int64_t streams, std::int64_t length, std::int64_t warm_up);

  std::int64_t streams() const { return streams_; }
  // The number of steps that read the streams once.
  std::int64_t batches() const { return steps_; }
  // Whether the streams begin (again) with this step, counted from 0.
  bool begins(std::int64_t step) const { return step % steps_ == 0; }
  // Fills `out` with the rows first_row … first_row + rows − 1 of a step. Reuses the memory of `out`.
  void fill(std::int64_t step, std::int64_t first_row, std::int64_t rows, TextBatch& out) const;
  // Fills `out` with all rows of a step.
  void fill(std::int64_t step, TextBatch& out) const { fill(step, 0, streams_, out); }
  // Asks the system to read from disk the tokens of rows that will be filled soon.
  void read_ahead(std::int64_t step, std::int64_t first_row, std::int64_t rows) const;

 private:
  StreamBatcher(TokenView tokens, std::int64_t streams, std::int64_t length, std::int64_t stream_length,
                std::int64_t warm_up, std::int64_t steps)
      : tokens_(tokens),
        streams_(streams),
        length_(length),
        stream_length_(stream_length),
        warm_up_(warm_up),
        steps_(steps) {}
  // The offset of a row's first token in the text.
  std::int64_t begin_of(std::int64_t step, std::int64_t row) const;

  TokenView tokens_;
  std::int64_t streams_, length_;
  std::int64_t stream_length_;  // the number of targets in a stream; the last stream may have fewer
  std::int64_t warm_up_;
  std::int64_t steps_;
};

}  // namespace tapeformer
