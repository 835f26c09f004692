// The communication between the ranks of a job: processes that do the same steps, each on its share of the work.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/distributed/transport.h"

namespace tapeformer {

// Every rank calls the same functions in the same order. Sums are taken in the order of the ranks, so that their bits
// depend only on the number of ranks. A process without others is rank 0 of 1: its sums, gathers and broadcasts return
// its own values, and it must not start transfers.
class Communicator {
 public:
  // Without a transport, the process is alone (rank 0 of 1).
  explicit Communicator(std::unique_ptr<Transport> transport = nullptr);
  // Returns the communicator of a process that is alone.
  static Communicator& alone();

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_ == 0; }  // rank 0 writes files and messages

  // The range [begin, end) of `count` items that a rank works on: the sizes of the ranks' ranges differ by at most one.
  struct Share {
    std::int64_t begin, end;
    std::int64_t size() const { return end - begin; }
  };
  Share share(std::int64_t count, int rank) const { return {count * rank / size_, count * (rank + 1) / size_}; }
  Share share(std::int64_t count) const { return share(count, rank_); }

  // Replaces every value by its sum over the ranks.
  void sum(std::span<double> values);
  double sum(double value);
  std::int64_t sum_of(std::int64_t count) { return static_cast<std::int64_t>(sum(static_cast<double>(count))); }
  // Returns whether the flag is set on at least one rank.
  bool any(bool flag) { return sum(flag ? 1.0 : 0.0) > 0; }
  // Returns the texts of all ranks, in the order of the ranks.
  std::vector<std::string> gather(std::string_view text);
  // Gathers a list of texts from each rank: returns all texts in one list, those of rank 0 first.
  std::vector<std::string> gather_all(std::span<const std::string> texts);
  // Returns the text of rank 0 on all ranks.
  std::string broadcast(std::string_view text);
  // Returns when all ranks have called it.
  void barrier();

  // All-gathers the rows of a row-major matrix: each rank gives the rows of share(rows), and receives the others.
  void gather_rows(void* matrix, std::int64_t rows, std::int64_t row_bytes);

  // Start a transfer as the functions of Transport with these names do, and return its handle. finish() waits for the
  // transfer, and must be called for each.
  int start_all_to_all(const void* send, std::span<const std::int64_t> send_bytes, void* receive,
                       std::span<const std::int64_t> receive_bytes);
  int start_all_gather(void* buffer, std::span<const std::int64_t> bytes);
  bool is_done(int transfer) { return transport_->is_done(transfer); }
  void finish(int transfer);
  // Returns the seconds that this process has spent in finish() so far, waiting for other ranks.
  double waited_s() const { return waited_s_; }

  // Ends the job as a success. Returns when every rank has called it.
  void finish_job();

 private:
  std::unique_ptr<Transport> transport_;
  int rank_, size_;
  double waited_s_ = 0;
};

}  // namespace tapeformer
