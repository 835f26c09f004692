#include "train/distributed/votes.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapeformer {
namespace {

// Within a step, the ranks ask each other whether to stop about once in so many seconds.
constexpr double kSecondsBetweenVotes = 1;

}  // namespace

Agreement::Agreement(Communicator& ranks, std::int64_t micro_steps, std::function<bool()> stop_requested)
    : ranks_(ranks), micro_steps_(micro_steps), stop_requested_(std::move(stop_requested)) {}

Votes Agreement::after_step(const Votes& own, double step_s) {
  const auto vote = [](bool asks) { return asks ? 1.0 : 0.0; };
  double votes[] = {vote(own.save),      vote(stop_requested()),       vote(own.time_is_out),
                    vote(own.cool_down), static_cast<double>(own.end), step_s};
  ranks_.sum(votes);
  if (ranks_.size() > 1) {
    const double most = static_cast<double>(micro_steps_), micro_step_s = votes[5] / most;
    ask_every_ = static_cast<std::int64_t>(std::clamp(std::ceil(kSecondsBetweenVotes / micro_step_s), 1.0, most));
  }
  return {.save = votes[0] > 0,
          .stop = votes[1] > 0,
          .time_is_out = votes[2] > 0,
          .cool_down = votes[3] > 0,
          .end = static_cast<std::int64_t>(votes[4])};
}

}  // namespace tapeformer
