// Ranks as threads of the test, for what needs several of them and no MPI.
#pragma once

#include <atomic>
#include <barrier>
#include <cstring>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "train/distributed/communicator.h"

namespace tapeformer {

// What the threads of one job have in common.
struct ThreadJob {
  struct Post {
    const char* buffer;
    const std::int64_t* bytes;
  };
  explicit ThreadJob(int size) : posts(size), all(size) {}
  std::vector<Post> posts;
  std::barrier<> all;
  std::atomic<int> started = 0;  // transfers, each counted by every rank
};

class ThreadTransport : public Transport {
 public:
  ThreadTransport(ThreadJob& job, int rank) : job_(job), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(job_.posts.size()); }

  int start_all_to_all(const void* send, const std::int64_t* send_bytes, void* receive,
                       const std::int64_t* receive_bytes) override {
    exchange(send, send_bytes, receive, receive_bytes, [&](int) { return rank_; });
    return 0;
  }
  int start_all_gather(void* buffer, const std::int64_t* bytes) override {
    exchange(buffer, bytes, buffer, bytes, [](int from) { return from; });
    return 0;
  }
  bool is_done(int) override { return true; }
  void wait(int) override {}
  void finish() override {}

 private:
  // Copies piece piece_of(r) of what rank r has posted behind the ones before it.
  template <class Place>
  void exchange(const void* send, const std::int64_t* send_bytes, void* receive, const std::int64_t* receive_bytes,
                const Place& piece_of) {
    ++job_.started;
    job_.posts[rank_] = {static_cast<const char*>(send), send_bytes};
    job_.all.arrive_and_wait();
    char* to = static_cast<char*>(receive);
    for (int r = 0; r < size(); ++r) {
      const ThreadJob::Post& post = job_.posts[r];
      const char* from = post.buffer;
      for (int i = 0; i < piece_of(r); ++i) from += post.bytes[i];
      if (r != rank_) std::memcpy(to, from, receive_bytes[r]);
      to += receive_bytes[r];
    }
    job_.all.arrive_and_wait();
  }

  ThreadJob& job_;
  const int rank_;
};

// Runs f(ranks), or f(ranks, job), on as many threads as ranks, and rethrows what the first rank throws. A rank that
// throws must not leave others waiting for it.
inline void run_ranks(int size, const std::function<void(Communicator&, const ThreadJob&)>& f) {
  ThreadJob job(size);
  std::vector<std::exception_ptr> errors(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        Communicator ranks(size > 1 ? std::make_unique<ThreadTransport>(job, rank) : nullptr);
        f(ranks, job);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}
inline void run_ranks(int size, const std::function<void(Communicator&)>& f) {
  run_ranks(size, [&](Communicator& ranks, const ThreadJob&) { f(ranks); });
}

}  // namespace tapeformer
