#include "train/distributed/communicator.h"

#include <algorithm>

#include "core/steady_clock.h"

namespace tapeformer {

Communicator::Communicator(std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)),
      rank_(transport_ ? transport_->rank() : 0),
      size_(transport_ ? transport_->size() : 1) {}

Communicator& Communicator::alone() {
  static Communicator communicator;
  return communicator;
}

void Communicator::sum(std::span<double> values) {
  if (size_ == 1) return;
  const std::size_t count = values.size();
  std::vector<double> all(count * size_);
  std::ranges::copy(values, all.begin() + static_cast<std::ptrdiff_t>(count) * rank_);
  const std::vector<std::int64_t> bytes(size_, static_cast<std::int64_t>(count * sizeof(double)));
  finish(start_all_gather(all.data(), bytes));
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = all[i];
    for (int r = 1; r < size_; ++r) values[i] += all[r * count + i];
  }
}

double Communicator::sum(double value) {
  sum({&value, 1});
  return value;
}

std::vector<std::string> Communicator::gather(std::string_view text) {
  if (size_ == 1) return {std::string(text)};
  std::vector<std::int64_t> lengths(size_);
  lengths[rank_] = std::ssize(text);
  finish(start_all_gather(lengths.data(), std::vector<std::int64_t>(size_, sizeof(std::int64_t))));
  std::int64_t total = 0, mine = 0;
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) mine = total;
    total += lengths[r];
  }
  std::string all(total, '\0');
  text.copy(all.data() + mine, text.size());
  finish(start_all_gather(all.data(), lengths));
  std::vector<std::string> texts;
  std::size_t begin = 0;
  for (const std::int64_t length : lengths) {
    texts.push_back(all.substr(begin, length));
    begin += length;
  }
  return texts;
}

std::vector<std::string> Communicator::gather_all(std::span<const std::string> texts) {
  if (size_ == 1) return {texts.begin(), texts.end()};
  // Each rank sends two texts: the lengths of its texts as one text, and all its texts joined.
  std::vector<std::int64_t> own_lengths;
  std::string own;
  for (const std::string& text : texts) {
    own_lengths.push_back(std::ssize(text));
    own += text;
  }
  const auto lengths_of_ranks =
      gather({reinterpret_cast<const char*>(own_lengths.data()), own_lengths.size() * sizeof(std::int64_t)});
  const auto texts_of_ranks = gather(own);
  std::vector<std::string> all;
  for (int r = 0; r < size_; ++r) {
    std::vector<std::int64_t> lengths(lengths_of_ranks[r].size() / sizeof(std::int64_t));
    lengths_of_ranks[r].copy(reinterpret_cast<char*>(lengths.data()), lengths_of_ranks[r].size());
    std::size_t begin = 0;
    for (const std::int64_t length : lengths) {
      all.push_back(texts_of_ranks[r].substr(begin, length));
      begin += length;
    }
  }
  return all;
}

std::string Communicator::broadcast(std::string_view text) { return gather(is_root() ? text : "").front(); }

void Communicator::barrier() { any(false); }

void Communicator::gather_rows(void* matrix, std::int64_t rows, std::int64_t row_bytes) {
  if (size_ == 1) return;
  std::vector<std::int64_t> bytes;
  for (int r = 0; r < size_; ++r) bytes.push_back(share(rows, r).size() * row_bytes);
  finish(start_all_gather(matrix, bytes));
}

int Communicator::start_all_to_all(const void* send, std::span<const std::int64_t> send_bytes, void* receive,
                                   std::span<const std::int64_t> receive_bytes) {
  return transport_->start_all_to_all(send, send_bytes.data(), receive, receive_bytes.data());
}

int Communicator::start_all_gather(void* buffer, std::span<const std::int64_t> bytes) {
  return transport_->start_all_gather(buffer, bytes.data());
}

void Communicator::finish(int transfer) {
  const double begin = steady_seconds();
  transport_->wait(transfer);
  waited_s_ += steady_seconds() - begin;
}

void Communicator::finish_job() {
  if (transport_) transport_->finish();
}

}  // namespace tapeformer
