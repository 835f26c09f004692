// What carries bytes between the ranks of a job. This is all that the program asks of MPI: the module
// libtapeformer_mpi.so has an implementation, which is loaded only when mpirun has started the program.
#pragma once

#include <cstdint>

namespace tapeformer {

// Every rank calls the same functions in the same order. A transfer is started, goes on beside the program's own work,
// and is waited for; its memory must stay until then. Several may be under way. Lengths are in bytes, and a rank's
// pieces lie one behind the other in the order of the ranks.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Sends piece r of `send` to rank r, and receives the piece that rank r sends as piece r of `receive`. The own piece
  // stays in `send`: nothing is written to its place in `receive`. Each piece is shorter than 2 GiB, and so are all
  // together. Returns what wait() takes.
  virtual int start_all_to_all(const void* send, const std::int64_t* send_bytes, void* receive,
                               const std::int64_t* receive_bytes) = 0;
  // Piece r of `buffer` belongs to rank r: sends the own one to all, and receives the others.
  virtual int start_all_gather(void* buffer, const std::int64_t* bytes) = 0;
  virtual bool is_done(int transfer) = 0;
  virtual void wait(int transfer) = 0;

  // Every rank has ended well, and calls no other function any more. An object that is destroyed without it leaves a
  // job that has failed.
  virtual void finish() = 0;
};

// What a module offers, by the name kConnectName: it joins the job that this process was started for. A rank that has
// been silent for `silence_s` seconds (killed, stopped or cut off) ends the whole job: `lost` is then called with one
// line about it, from another thread, and the process ends with exit code 1. Throws std::runtime_error.
using ConnectFunction = Transport*(double silence_s, void (*lost)(const char* message));
inline constexpr const char* kConnectName = "tapeformer_connect";

}  // namespace tapeformer
