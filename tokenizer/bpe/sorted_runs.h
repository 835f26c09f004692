// Counts of pretokens for which memory is too small: sorted runs in a temporary file, which are merged when they are
// read.
#pragma once

#include <mutex>
#include <vector>

#include "tokenizer/bpe/pretoken_counter.h"
#include "tokenizer/bpe/pretoken_table.h"

namespace tapeformer {

class SortedRuns : public PretokenCounts {
 public:
  // Uses at most `buffer_bytes` of memory for reading. The file is made with the first run. All functions throw Error
  // where the system refuses.
  explicit SortedRuns(std::size_t buffer_bytes) : buffer_bytes_(buffer_bytes) {}
  ~SortedRuns() override;
  SortedRuns(const SortedRuns&) = delete;
  SortedRuns& operator=(const SortedRuns&) = delete;

  bool empty() const { return runs_.empty(); }
  // Moves the contents of the table to a new run. May be called from several threads at once.
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
