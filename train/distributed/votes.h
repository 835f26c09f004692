// What the ranks of a training agree on after each step.
#pragma once

#include <cstdint>
#include <functional>

#include "train/distributed/communicator.h"

namespace tapeformer {

// What a rank asks for. If one rank asks, all do it.
struct Votes {
  bool save = false, stop = false, time_is_out = false, cool_down = false;
  std::int64_t end = 0;  // the last step, if it changes; only rank 0 may ask for it
};

class Agreement {
 public:
  // `micro_steps`: those of a step; `stop_requested` says whether this rank is asked to stop.
  Agreement(Communicator& ranks, std::int64_t micro_steps, std::function<bool()> stop_requested);

  // Returns what the ranks do after a step, which took so many seconds. `stop` of the argument is not read.
  Votes after_step(const Votes& own, double step_s);
  // Called between two micro-steps, after `done` of them: returns whether any rank was asked to stop. It does not ask
  // the other ranks every time, because that takes time on a slow network.
  bool asks_after(std::int64_t done) const { return done % ask_every_ == 0; }
  bool stop_within_step() { return ranks_.any(stop_requested()); }

 private:
  bool stop_requested() const { return stop_requested_ && stop_requested_(); }

  Communicator& ranks_;
  const std::int64_t micro_steps_;
  const std::function<bool()> stop_requested_;
  std::int64_t ask_every_ = 1;  // the number of micro-steps after which ranks ask each other whether to stop
};

}  // namespace tapeformer
