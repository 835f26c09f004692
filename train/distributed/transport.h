// The interface that carries bytes between the ranks of a job. It is all that the program needs of MPI: the module
// libtapeformer_mpi.so has an implementation, which is loaded only when mpirun has started the program.
#pragma once

#include <cstdint>

namespace tapeformer {

// Every rank calls the same functions in the same order. A transfer is started, proceeds while the program works, and
// is waited for; its memory must stay valid until then. Several may be under way. Lengths are in bytes, and the pieces
// of the ranks are contiguous, in the order of the ranks.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Sends piece r of `send` to rank r, and receives the piece that rank r sends as piece r of `receive`. The own piece
  // stays in `send`; its place in `receive` is not written. The pieces together are shorter than 2 GiB. Returns the
  // handle for wait().
  virtual int start_all_to_all(const void* send, const std::int64_t* send_bytes, void* receive,
                               const std::int64_t* receive_bytes) = 0;
  // An all-gather: piece r of `buffer` belongs to rank r; sends the own piece to all ranks, and receives the others.
  virtual int start_all_gather(void* buffer, const std::int64_t* bytes) = 0;
  virtual bool is_done(int transfer) = 0;
  virtual void wait(int transfer) = 0;

  // Says that every rank has succeeded and calls no other function. Destroying the object without this call means that
  // the job has failed.
  virtual void finish() = 0;
};

// The function that a module exports by the name kConnectName: it joins the job that this process belongs to. When a
// rank has been silent for `silence_s` seconds (killed, stopped or cut off), the whole job ends: `lost` is called with
// one line about it, from another thread, and the process ends with exit code 1. Throws std::runtime_error.
using ConnectFunction = Transport*(double silence_s, void (*lost)(const char* message));
inline constexpr const char* kConnectName = "tapeformer_connect";

}  // namespace tapeformer
