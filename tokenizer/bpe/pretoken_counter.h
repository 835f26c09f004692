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
  // The count is at least 1. The pretoken is valid during the call only.
  using Visit = std::function<void(std::string_view pretoken, std::int64_t count)>;

  virtual ~PretokenCounts() = default;
  // Calls f once for every distinct pretoken, in no particular order. May be called again. Throws Error where the
  // system refuses to read a temporary file.
  virtual void for_each(const Visit& f) const = 0;
};

struct CountOptions {
  SplitPattern pattern = SplitPattern::gpt2;
  // Bytes of memory for the tables of pretokens of all threads together; 0 for no bound. (The table of a thread has at
  // least a few kilobytes, and room for one pretoken of any length.) A table that would become larger than its share is
  // written to a temporary file, sorted, and the files are merged at the end. The counts are exact in both cases.
  std::size_t max_memory = 0;
};

// Texts are added a few at a time. Each is split by itself. Their order and the number of threads have no influence.
class PretokenCounter {
 public:
  explicit PretokenCounter(const CountOptions& options = {});
  ~PretokenCounter();
  PretokenCounter(const PretokenCounter&) = delete;
  PretokenCounter& operator=(const PretokenCounter&) = delete;

  // Uses all threads. Throws Error where a temporary file (in $TMPDIR, else /tmp) cannot be written.
  void add(std::span<const std::string_view> texts);
  // The counts of all texts. Must be called once, at the end.
  std::unique_ptr<PretokenCounts> finish();

 private:
  void count(std::string_view text, PretokenTable& table);

  CountOptions options_;
  std::size_t share_;  // the memory of one table
  std::unique_ptr<SortedRuns> runs_;
  std::mutex mutex_;                   // guards tables_
  std::vector<PretokenTable> tables_;  // those that no thread is using
};

}  // namespace tapeformer
