// What training does in a step: the learning rate, and backward.
#include "autograd/ops/ops.h"
#include "autograd/tape/tape.h"
#include "core/text/numbers.h"
#include "nn/optim/schedule.h"
#include "report/explain/topics.h"

#include <cmath>
#include <limits>

namespace tapeformer::explain {
namespace {

// Keeps the values and gradients of the ops of a tape.
class TapeDiary : public OpObserver {
 public:
  void forward_begins(const char*, std::span<const Variable* const>) override {}
  void forward_ended(const char* op, std::size_t, std::span<const Tensor> outputs) override {
    names.emplace_back(op);
    values.push_back(outputs.front().clone());
    gradients.emplace_back();
  }
  void backward_ended(const char*, std::size_t node, std::span<const Tensor> dy, std::span<const Tensor>) override {
    gradients[node] = dy.front().clone();
    order.push_back(static_cast<std::int64_t>(node));
  }

  std::vector<std::string> names;
  std::vector<Tensor> values, gradients;  // by the index of the op on the tape
  std::vector<std::int64_t> order;        // the indices of the ops in the order in which backward visits them
};

}  // namespace

WorkedExample explain_schedule(const TopicOptions& options) {
  WorkedExample out{"schedule", "The learning rate of each step"};
  const std::int64_t dim = options.integer("dim", 512, 1), warmup = options.integer("warmup", 4000, 1);
  const std::int64_t last = 5 * warmup;
  out.formula("lr = d^−0.5 · min(step^−0.5, step · warmup^−1.5), d = " + format_count(dim) +
              ", warmup = " + format_count(warmup));
  // The two parts of the minimum come from the same schedule: without warm-up it only falls, and with a warm-up that
  // never ends it only grows.
  const ScheduleSpec both{.kind = ScheduleKind::inverse_sqrt, .factor = 1, .dim = dim, .warmup = warmup};
  ScheduleSpec falls = both, grows = both;
  falls.warmup = 1;
  grows.warmup = 1000 * last;
  grows.factor = std::pow(static_cast<double>(grows.warmup) / static_cast<double>(warmup), 1.5);
  Curves rates{"the paper's schedule",
               "step",
               {},
               {{"decay alone, step^−0.5", {}}, {"growth alone, step · warmup^−1.5", {}}, {"their minimum", {}}}};
  CellTable table{"rates", {"step", "decay alone", "growth alone", "their minimum"}, {}};
  const std::int64_t stride = std::max<std::int64_t>(last / 400, 1);
  const double most = 3 * learning_rate(both, warmup);  // what is above it is not drawn
  for (std::int64_t step = stride; step <= last; step += stride) {
    const double values[] = {learning_rate(falls, step), learning_rate(grows, step), learning_rate(both, step)};
    rates.x.push_back(static_cast<double>(step));
    for (std::size_t i = 0; i < 3; ++i) {
      rates.curves[i].y.push_back(values[i] <= most ? values[i] : std::numeric_limits<double>::quiet_NaN());
    }
  }
  for (const std::int64_t step : {std::int64_t{1}, warmup / 4, warmup / 2, warmup, 2 * warmup, last}) {
    if (step < 1) continue;
    table.rows.push_back({step, learning_rate(falls, step), learning_rate(grows, step), learning_rate(both, step)});
  }
  out.show(std::move(rates));
  out.show(std::move(table));
  out.say("The peak is at the end of warm-up: 1/√(d · warmup).");
  out.show(Values{"peak", Tensor::scalar(learning_rate(both, warmup), DType::f64)});
  out.heading("Other schedules");
  out.say(
      "A run of 1000 steps with the peak 1 and a warm-up of 100 steps; cosine, linear and wsd end at 0, "
      "and wsd cools down in the last 40 % of the steps, as training does by default.");
  Curves others{"the rate by schedule.kind", "step", {}, {}};
  for (const auto& [kind, word] : Words<ScheduleKind>::list) {
    if (kind == ScheduleKind::plateau) continue;  // depends on the evaluations
    const ScheduleSpec schedule{.kind = kind, .peak = 1, .warmup = 100, .total = 1000};
    Curve curve{std::string(word), {}};
    for (std::int64_t step = 5; step <= 1000; step += 5) curve.y.push_back(learning_rate(schedule, step));
    others.curves.push_back(std::move(curve));
  }
  for (int step = 5; step <= 1000; step += 5) others.x.push_back(step);
  out.show(std::move(others));
  return out;
}

WorkedExample explain_backward(const TopicOptions& options) {
  WorkedExample out{"backward", "A tape, forward and backward"};
  const Tensor numbers = options.vector("x", "0.5 2 -0.8 1");
  if (numbers.size(0) != 4) fail_usage("explain backward: --x: expected 4 numbers w x b y, got ", numbers.size(0));
  const auto number = [&](std::int64_t i) { return Tensor::scalar(numbers.data<double>()[i], DType::f64); };
  out.formula("L = (tanh(w x + b) − y)²");
  out.say("w, b and x are parameters here, and y is a constant.");
  TapeDiary diary;
  Tape tape({.op_observer = &diary});
  const Variable w = Variable::parameter(number(0)), x = Variable::parameter(number(1));
  const Variable b = Variable::parameter(number(2)), y = Variable::constant(tape, number(3));
  const Variable loss = square(sub(tanh(add(mul(w.on(tape), x), b)), y));
  tape.backward(loss);
  const std::vector<std::string> results{"w x", "w x + b", "tanh(w x + b)", "tanh(w x + b) − y", "L"};
  CellTable table{"tape", {"op", "result", "value", "∂L/∂result", "backward"}, {}};
  for (std::size_t i = 0; i < diary.names.size(); ++i) {
    const auto turn = std::ranges::find(diary.order, static_cast<std::int64_t>(i)) - diary.order.begin();
    table.rows.push_back(
        {diary.names[i], results.at(i), diary.values[i].item(), diary.gradients[i].item(), str_cat("step ", turn + 1)});
  }
  out.say(
      "Forward writes the ops on the tape from the top; backward reads them from the bottom. Each multiplies the "
      "gradient of its result by its own derivative.");
  out.show(std::move(table));
  CellTable parameters{"parameters", {"parameter", "value", "gradient"}, {}};
  for (const auto& [name, variable] : {std::pair{"w", w}, {"x", x}, {"b", b}}) {
    parameters.rows.push_back({name, variable.value().item(), variable.grad().item()});
  }
  out.show(std::move(parameters));
  return out;
}

}  // namespace tapeformer::explain
