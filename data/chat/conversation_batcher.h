// Batches of conversations: several in a row where they fit, for a model that reads each as if it was alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/parallel.h"
#include "core/shuffle.h"
#include "data/chat/chat_format.h"

namespace tapeformer {

// All matrices are (rows, length), row-major; the target of a position is the next token of its conversation if that
// belongs to an answer, else kIgnoredTarget.
struct ConversationBatch {
  std::int64_t rows = 0, length = 0;
  bool packs = true;                       // ConversationRowOptions::packs
  std::int64_t scored = 0, positions = 0;  // targets that are not ignored; positions that are no padding
  std::vector<std::int32_t> inputs, targets;
  std::vector<std::int32_t> first_tokens;  // for each position, the index in its row where its conversation begins
  std::vector<std::int32_t> lengths;       // of each row, without the padding behind it
};

struct ConversationRowOptions {
  std::int64_t batch = 16;  // rows of a batch
  std::int64_t length = 0;  // positions of a row, at most; a conversation of n tokens takes n − 1
  bool packs = true;        // several conversations share a row
  std::uint64_t seed = 1;
};

class ConversationBatcher {
 public:
  // The conversations must outlive the object. Throws Error if there is none, and for one that does not fit into a row.
  ConversationBatcher(std::span<const ChatTokens> conversations, const ConversationRowOptions& options);

  std::int64_t rows() const { return static_cast<std::int64_t>(rows_.size()); }

  // For training: the rows of step `step` (from 1) that begin with row `first` of the step, which has `of_step` rows.
  // The rows are read in a new order in each epoch, which is a pure function of the seed. draw() reuses the memory of
  // `out`; count() only fills its numbers.
  void draw(std::int64_t step, std::int64_t of_step, std::int64_t first, std::int64_t count, ConversationBatch& out);
  void count(std::int64_t step, std::int64_t of_step, std::int64_t first, std::int64_t count, ConversationBatch& out);

  // For evaluation: batch i of batches() in the order of the rows; the last one may have fewer rows.
  std::int64_t batches() const { return chunk_count(rows(), options_.batch); }
  void fill(std::int64_t i, ConversationBatch& out) const;

 private:
  struct Row {
    std::vector<std::int64_t> conversations;
    std::int64_t positions = 0, scored = 0;
  };
  std::vector<const Row*> rows_of(std::int64_t step, std::int64_t of_step, std::int64_t first, std::int64_t count);
  void write(std::span<const Row* const> rows, ConversationBatch& out) const;

  const std::span<const ChatTokens> conversations_;
  const ConversationRowOptions options_;
  std::vector<Row> rows_;
  EpochOrder order_;  // of the rows
};

}  // namespace tapeformer
