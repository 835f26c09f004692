// Counts the distinct pretokens of texts, in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/bpe/pretoken_table.h"
#include "tokenizer/split_pattern.h"

namespace tapeformer {

class SortedRuns;

// The distinct pretokens of some texts and how often each occurs.
class PretokenCounts {
 public:
  // Counts of 1 or more. The pretoken is there during the call alone.
  using Visit = std::function<void(std::string_view pretoken, std::int64_t count)>;

  virtual ~PretokenCounts() = default;
  // Calls f for every distinct pretoken, once, in no particular order; may be called again. Throws Error where the
  // system refuses to read a temporary file.
  virtual void for_each(const Visit& f) const = 0;
};

struct CountOptions {
  SplitPattern pattern = SplitPattern::gpt2;
  // Bytes that the tables of pretokens may take, all threads together; 0 for no bound. (Each thread's table has a few
  // kilobytes at least, and room for one pretoken, however long.) A table that would outgrow its share is written to a
  // temporary file in order, and all of them are put together in the end: the counts are exact either way.
  std::size_t max_memory = 0;
};

// Takes texts a few at a time. Each is split by itself; neither their order nor the number of threads matters.
class PretokenCounter {
 public:
  explicit PretokenCounter(const CountOptions& options = {});
  ~PretokenCounter();
  PretokenCounter(const PretokenCounter&) = delete;
  PretokenCounter& operator=(const PretokenCounter&) = delete;

  // Uses all threads. Throws Error where a temporary file (in $TMPDIR, else /tmp) cannot be written.
  void add(std::span<const std::string_view> texts);
  // What was added. To be called once, as the last.
  std::unique_ptr<PretokenCounts> finish();

 private:
  void count(std::string_view text, PretokenTable& table);

  CountOptions options_;
  std::size_t share_;  // of the memory, a table's
  std::unique_ptr<SortedRuns> runs_;
  std::mutex mutex_;                   // of the tables
  std::vector<PretokenTable> tables_;  // that no thread works with now
};

}  // namespace tapeformer
