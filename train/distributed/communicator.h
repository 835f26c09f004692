// The ranks of a job, as training and evaluation know them: processes that do the same steps on shares of the work.
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
// depend on the number of ranks alone. A process that is alone is rank 0 of 1, and its calls do nothing.
class Communicator {
 public:
  // Without a transport: alone.
  explicit Communicator(std::unique_ptr<Transport> transport = nullptr);
  // The communicator of a process that is alone.
  static Communicator& alone();

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_ == 0; }  // the one that writes files and messages

  // The stretch [begin, end) of `count` things that a rank works on: lengths differ by one at most.
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
  // Whether a flag is set on any rank.
  bool any(bool flag) { return sum(flag ? 1.0 : 0.0) > 0; }
  // The texts of all ranks, in their order.
  std::vector<std::string> gather(std::string_view text);
  // The same for a list of texts from each rank: all of them, those of rank 0 first.
  std::vector<std::string> gather_all(std::span<const std::string> texts);
  // The text of rank 0.
  std::string broadcast(std::string_view text);
  // Returns when all ranks have come here.
  void barrier();

  // Rows of a row-major matrix in shares: each rank gives its share(rows), and gets the others.
  void gather_rows(void* matrix, std::int64_t rows, std::int64_t row_bytes);

  // Transfers, as Transport has them; finish() waits for one, and must be called for each.
  int start_all_to_all(const void* send, std::span<const std::int64_t> send_bytes, void* receive,
                       std::span<const std::int64_t> receive_bytes);
  int start_all_gather(void* buffer, std::span<const std::int64_t> bytes);
  bool is_done(int transfer) { return transport_->is_done(transfer); }
  void finish(int transfer);
  // The seconds that this process has waited for others so far.
  double waited_s() const { return waited_s_; }

  // Every rank has ended well.
  void finish_job();

 private:
  std::unique_ptr<Transport> transport_;
  int rank_, size_;
  double waited_s_ = 0;
};

}  // namespace tapeformer
