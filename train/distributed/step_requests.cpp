#include "train/distributed/step_requests.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapeformer {
namespace {

// Within a step, the ranks ask each other whether to stop about once in so many seconds.
constexpr double kSecondsBetweenRequests = 1;

}  // namespace

RequestExchange::RequestExchange(Communicator& ranks, std::int64_t micro_steps, std::function<bool()> stop_requested)
    : ranks_(ranks), micro_steps_(micro_steps), stop_requested_(std::move(stop_requested)) {}

StepRequests RequestExchange::after_step(const StepRequests& own, double step_s) {
  const auto number = [](bool asks) { return asks ? 1.0 : 0.0; };
  double sums[] = {number(own.save),      number(stop_requested()),     number(own.time_is_out),
                   number(own.cool_down), static_cast<double>(own.end), step_s};
  ranks_.sum(sums);
  if (ranks_.size() > 1) {
    const double most = static_cast<double>(micro_steps_), micro_step_s = sums[5] / most;
    ask_every_ = static_cast<std::int64_t>(std::clamp(std::ceil(kSecondsBetweenRequests / micro_step_s), 1.0, most));
  }
  return {.save = sums[0] > 0,
          .stop = sums[1] > 0,
          .time_is_out = sums[2] > 0,
          .cool_down = sums[3] > 0,
          .end = static_cast<std::int64_t>(sums[4])};
}

}  // namespace tapeformer
