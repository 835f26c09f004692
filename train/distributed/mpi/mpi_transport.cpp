// The module libtapeformer_mpi.so: a Transport over MPI.
//
// A background thread advances the transfers while the program computes, and sends heartbeats: every rank regularly
// sends a byte to the next one, and a rank whose byte does not arrive in time counts as lost. So a transfer may wait
// for as long as the slowest rank computes, but never for a rank that is dead or stopped. A thread in wait() advances
// the transfers itself. Only one thread calls MPI at a time.
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <limits>
#include <list>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "train/distributed/transport.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// The pieces of a buffer, as MPI takes them.
struct Pieces {
  Pieces() = default;
  Pieces(const std::int64_t* bytes, int size) {
    std::int64_t end = 0;
    for (int r = 0; r < size; ++r) {
      begins.push_back(static_cast<int>(end));
      end += bytes[r];
      if (end > std::numeric_limits<int>::max()) throw std::runtime_error("a transfer of 2 GiB or more");
      counts.push_back(static_cast<int>(bytes[r]));
    }
  }
  std::vector<int> counts, begins;
};

struct Transfer {
  Transfer(int number, Pieces sent, Pieces received)
      : number(number), sent(std::move(sent)), received(std::move(received)) {}
  int number;
  Pieces sent, received;  // MPI reads these lists until the transfer is done
  MPI_Request request = MPI_REQUEST_NULL;
};

class MpiTransport : public tapeformer::Transport {
 public:
  MpiTransport(double silence_s, void (*lost)(const char*)) : silence_s_(silence_s), lost_(lost) {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    if (provided < MPI_THREAD_SERIALIZED) fail("MPI: it was built without support for threads");
    require(MPI_Comm_dup(MPI_COMM_WORLD, &beats_));
    now_ = last_beat_ = Clock::now();
    if (size_ > 1) listen();
    thread_ = std::thread([this] { run(); });
  }
  ~MpiTransport() override {
    if (thread_.joinable()) end_thread();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  int start_all_to_all(const void* send, const std::int64_t* send_bytes, void* receive,
                       const std::int64_t* receive_bytes) override {
    Pieces sent(send_bytes, size_), received(receive_bytes, size_);
    sent.counts[rank_] = received.counts[rank_] = 0;
    return start(send, std::move(sent), receive, std::move(received));
  }
  int start_all_gather(void* buffer, const std::int64_t* bytes) override {
    return start(nullptr, Pieces(), buffer, Pieces(bytes, size_));
  }
  bool is_done(int transfer) override {
    const std::lock_guard lock(mutex_);
    advance_transfers();
    return std::ranges::find(running_, transfer, &Transfer::number) == running_.end();
  }
  void wait(int transfer) override {
    waiting_ = true;
    while (!is_done(transfer)) sched_yield();
    waiting_ = false;
  }
  void finish() override {
    const std::vector<std::int64_t> bytes(size_, 1);
    std::vector<char> here(size_);
    wait(start_all_gather(here.data(), bytes.data()));
    end_thread();
    if (size_ > 1) {
      MPI_Cancel(&heard_);
      MPI_Wait(&heard_, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
  }

 private:
  int start(const void* send, Pieces sent, void* receive, Pieces received) {
    const std::lock_guard lock(mutex_);
    Transfer& t = running_.emplace_back(++last_, std::move(sent), std::move(received));
    require(send ? MPI_Ialltoallv(send, t.sent.counts.data(), t.sent.begins.data(), MPI_BYTE, receive,
                                  t.received.counts.data(), t.received.begins.data(), MPI_BYTE, MPI_COMM_WORLD,
                                  &t.request)
                 : MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, receive, t.received.counts.data(),
                                   t.received.begins.data(), MPI_BYTE, MPI_COMM_WORLD, &t.request));
    wake_.notify_one();
    return last_;
  }

  // The background thread runs this: it drives the transfers until the object ends.
  void run() {
    std::unique_lock lock(mutex_);
    while (!ended_) {
      advance_transfers();
      if (running_.empty() || waiting_) {
        wake_.wait_for(lock, std::chrono::duration<double>(beat_s() / 4));
      } else {
        lock.unlock();
        std::this_thread::sleep_for(std::chrono::microseconds(500));
        lock.lock();
      }
    }
  }
  void end_thread() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      wake_.notify_one();
    }
    thread_.join();
  }

  // The following functions are called with the mutex held.

  void advance_transfers() {
    std::erase_if(running_, [&](Transfer& transfer) {
      int done = 0;
      require(MPI_Test(&transfer.request, &done, MPI_STATUS_IGNORE));
      return done != 0;
    });
    if (size_ > 1) beat();
  }

  double beat_s() const { return std::min(1.0, silence_s_ / 8); }
  int previous_rank() const { return (rank_ + size_ - 1) % size_; }

  void listen() { require(MPI_Irecv(&heard_byte_, 1, MPI_BYTE, previous_rank(), 0, beats_, &heard_)); }

  void beat() {
    const Clock::time_point now = Clock::now();
    if (seconds_between(now_, now) < beat_s() / 8) return;
    // A long gap between two calls means that this process itself was stopped: it is not a silence of the other rank.
    silence_ += std::min(seconds_between(now_, now), 2 * beat_s());
    now_ = now;
    int done = 0;
    require(MPI_Test(&heard_, &done, MPI_STATUS_IGNORE));
    if (done) {
      silence_ = 0;
      listen();
    }
    if (silence_ > silence_s_) {
      fail("rank " + std::to_string(previous_rank()) + " has been silent for " +
           std::to_string(static_cast<int>(silence_s_)) +
           " s (killed, stopped or cut off): the job ends, and its last checkpoint is whole");
    }
    if (seconds_between(last_beat_, now) < beat_s()) return;
    require(MPI_Test(&sent_, &done, MPI_STATUS_IGNORE));  // at the beginning sent_ is a null request, which is done
    if (!done) return;
    require(MPI_Isend(&sent_byte_, 1, MPI_BYTE, (rank_ + 1) % size_, 0, beats_, &sent_));
    last_beat_ = now;
  }

  void require(int code) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    fail(std::string("MPI: ") + std::string(text, length));
  }
  [[noreturn]] void fail(const std::string& message) {
    lost_(message.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::_Exit(1);
  }

  const double silence_s_;
  void (*const lost_)(const char*);
  int rank_ = 0, size_ = 1;

  std::mutex mutex_;  // held by the thread that calls MPI
  std::condition_variable wake_;
  std::atomic<bool> waiting_ = false;  // a thread in wait() advances the transfers
  bool ended_ = false;
  int last_ = 0;
  std::list<Transfer> running_;
  MPI_Comm beats_ = MPI_COMM_NULL;
  MPI_Request heard_ = MPI_REQUEST_NULL, sent_ = MPI_REQUEST_NULL;
  char heard_byte_ = 0, sent_byte_ = 0;
  Clock::time_point now_{}, last_beat_{};
  double silence_ = 0;  // seconds since the last heartbeat of the rank before this one
  std::thread thread_;
};

}  // namespace

extern "C" tapeformer::Transport* tapeformer_connect(double silence_s, void (*lost)(const char*)) {
  return new MpiTransport(silence_s, lost);
}
