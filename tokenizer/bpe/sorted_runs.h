// Counts of pretokens that memory does not hold: runs in the order of their pretokens, in a temporary file, put
// together again as they are read.
#pragma once

#include <mutex>
#include <vector>

#include "tokenizer/bpe/pretoken_counter.h"
#include "tokenizer/bpe/pretoken_table.h"

namespace tapeformer {

class SortedRuns : public PretokenCounts {
 public:
  // At most `buffer_bytes` at a time for reading. Nothing is written before the first run. Errors are thrown as Error.
  explicit SortedRuns(std::size_t buffer_bytes) : buffer_bytes_(buffer_bytes) {}
  ~SortedRuns() override;
  SortedRuns(const SortedRuns&) = delete;
  SortedRuns& operator=(const SortedRuns&) = delete;

  bool empty() const { return runs_.empty(); }
  // Moves what the table holds into one more run. May be called from several threads at once.
  void add(PretokenTable& table);
  void for_each(const Visit& f) const override;

 private:
  struct Run {
    std::int64_t begin, end;
  };
  class Reader;

  std::size_t buffer_bytes_;
  std::mutex mutex_;
  int fd_ = -1;
  std::int64_t size_ = 0;
  std::vector<Run> runs_;
};

}  // namespace tapeformer
