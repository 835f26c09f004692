// Batches of rows with masked positions, from a text of token ids.
#pragma once

#include <vector>

#include "core/parallel.h"
#include "data/masked/token_masker.h"
#include "data/text/token_file.h"
#include "tokenizer/masked_symbols.h"

namespace tapeformer {

// All matrices are (rows, length), row-major.
struct MaskedBatch {
  std::int64_t rows = 0, length = 0;
  std::vector<std::int32_t> ids, targets;  // targets are kIgnoredTarget at positions that are not masked
  std::vector<std::int32_t> lengths;       // (rows)
  std::int64_t masked = 0;                 // the number of masked positions: targets that are not ignored
  // Only with pairs: the segment of each token; and (rows) the label of each row: 0 if the second segment follows the
  // first, 1 if it does not, kIgnoredTarget for a row without a second segment.
  std::vector<std::int32_t> segments, sentence_labels;
  std::int64_t sentences = 0;  // labels that are not ignored
};

struct MaskedRowOptions {
  std::int64_t batch = 16;
  std::int64_t length = 128;  // tokens of a row, with [CLS] and [SEP]
  bool pairs = false;         // rows are [CLS] A [SEP] B [SEP] instead of [CLS] A [SEP]
  MaskRates rates = {};
  std::uint64_t seed = 1;  // seed of draw()

  // The number of special tokens in a row: [CLS] and each [SEP].
  std::int64_t special_tokens() const { return pairs ? 3 : 2; }
  // The length of a row with one token in each segment.
  std::int64_t shortest() const { return 2 * special_tokens() - 1; }
};

// A row is [CLS], as many tokens of the text as fit, and [SEP]. With pairs the tokens are two segments of equal length
// (the first may be one token longer): in half of the rows the second segment follows the first in the text, in the
// others it comes from elsewhere.
class MaskedBatcher {
 public:
  // The tokens must outlive the batcher. Throws Error when a row has no room for text, and as TokenMasker does.
  MaskedBatcher(TokenView tokens, const Tokenizer& tokenizer, const MaskedRowOptions& options);

  const TokenMasker& masker() const { return masker_; }

  // The number of the text's tokens in a full row.
  std::int64_t block_size() const { return first_ + second_; }

  // For training: row r of a batch is row micro_step·batch + r of the step, and comes from a random position of the
  // text. The row and its masks are a pure function of the seed, the step (from 1) and that number. Throws Error for a
  // text shorter than a row. Reuses the memory of `out`.
  void draw(std::uint32_t step, std::uint32_t micro_step, MaskedBatch& out) const;

  // For evaluation: the text is cut into windows of block_size() tokens, the last one shorter, so that every token is
  // in one row. With pairs, every other window has the second segment of a window half of the text away. The masks
  // depend only on the number of the window, so that runs of any seed are comparable. The last batch may have fewer
  // rows.
  std::int64_t windows() const;
  std::int64_t batches() const { return chunk_count(windows(), options_.batch); }
  void fill(std::int64_t i, MaskedBatch& out) const;

  // One window without masked positions and with its own second segment.
  void plain(std::int64_t window, MaskedBatch& out) const;

 private:
  struct Part {
    std::int64_t begin = 0, size = 0;
  };
  struct RowPlan {
    Part first, second;
    std::int32_t label = 0;
  };
  void resize(std::int64_t rows, MaskedBatch& out) const;
  RowPlan window(std::int64_t i) const;
  // Writes row `row` of `out`, and masks it if there is a key.
  void write(const RowPlan& plan, const RandomKey* key, std::int64_t row, MaskedBatch& out) const;

  TokenView tokens_;
  TokenMasker masker_;
  MaskedSymbols symbols_;
  MaskedRowOptions options_;
  std::int64_t first_, second_;  // the numbers of tokens in the segments of a full row
};

}  // namespace tapeformer
