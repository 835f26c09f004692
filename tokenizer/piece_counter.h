// Counts the distinct pieces of texts, in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "tokenizer/split_pattern.h"

namespace tapeformer {

// The distinct pieces of some texts and how often each occurs.
class PieceCounts {
 public:
  // Counts of 1 or more. The piece is there during the call alone.
  using Visit = std::function<void(std::string_view piece, std::int64_t count)>;

  virtual ~PieceCounts() = default;
  // Calls f for every distinct piece, once, in no particular order; may be called again. Throws Error where the system
  // refuses to read a temporary file.
  virtual void for_each(const Visit& f) const = 0;
};

struct CountOptions {
  SplitPattern pattern = SplitPattern::gpt2;
  // Bytes that the tables of pieces may take, all threads together; 0 for no bound. (Each thread's table has a few
  // kilobytes at least, and room for one piece, however long.) A table that would outgrow its share is written to a
  // temporary file in order, and all of them are put together in the end: the counts are exact either way.
  std::size_t max_memory = 0;
};

// Bytes of text; called by one thread at a time.
using CountProgress = std::function<void(std::int64_t done, std::int64_t wanted)>;

// Each text is split by itself; neither their order nor the number of threads matters. Throws Error where a temporary
// file (in $TMPDIR, else /tmp) cannot be written.
std::unique_ptr<PieceCounts> count_pieces(std::span<const std::string_view> texts, const CountOptions& options = {},
                                          const CountProgress& progress = {});

}  // namespace tapeformer
