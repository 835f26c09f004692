// What the ranks of a training ask of each other after each step, such as to save or to stop.
#pragma once

#include <cstdint>
#include <functional>

#include "train/distributed/communicator.h"

namespace tapeformer {

// What a rank asks for after a step. If one rank asks, all do it.
struct StepRequests {
  bool save = false, stop = false, time_is_out = false, cool_down = false;
  std::int64_t end = 0;  // the last step, if it changes; only rank 0 may ask for it
};

// Exchanges the requests, so that all ranks do the same after a step.
class RequestExchange {
 public:
  // `micro_steps` is the number of micro-steps in a step of all ranks; `stop_requested` returns whether this rank is
  // asked to stop.
  RequestExchange(Communicator& ranks, std::int64_t micro_steps, std::function<bool()> stop_requested);

  // Returns what all ranks do after a step that took `step_s` seconds on this rank. `own` is what this rank asks for,
  // except own.stop, which is not read: the constructor's stop_requested() is called instead.
  StepRequests after_step(const StepRequests& own, double step_s);
  // Returns whether the ranks ask each other to stop after `done` micro-steps of a step. They do not ask after every
  // micro-step, because asking takes time on a slow network.
  bool asks_after(std::int64_t done) const { return done % ask_every_ == 0; }
  // Returns whether any rank was asked to stop. All ranks call it after the same number of micro-steps.
  bool stop_within_step() { return ranks_.any(stop_requested()); }

 private:
  bool stop_requested() const { return stop_requested_ && stop_requested_(); }

  Communicator& ranks_;
  const std::int64_t micro_steps_;
  const std::function<bool()> stop_requested_;
  std::int64_t ask_every_ = 1;  // the number of micro-steps after which ranks ask each other whether to stop
};

}  // namespace tapeformer
