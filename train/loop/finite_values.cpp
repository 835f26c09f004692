#include "train/loop/finite_values.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "autograd/kernels/reduce.h"

namespace tapeformer {
namespace {

constexpr std::int64_t kNeighbours = 2;  // how many neighbours are shown on each side
constexpr std::string_view kSlowerAdvice = "a lower optimizer.lr or a longer schedule.warmup may help";

// 8-bit codes (u8) are always finite: if a number of a block was not, the block's scale is not finite.
bool all_finite(const Tensor& values) {
  if (values.dtype() == DType::u8) return true;
  if (values.dtype() == DType::bf16) {
    return std::ranges::all_of(values.span<kernels::Bf16>(), [](auto x) { return std::isfinite(kernels::widen(x)); });
  }
  return dispatch_floating(values.dtype(), [&]<class T>(T) {
    const std::span<T> elements = values.span<T>();
    return std::isfinite(kernels::sum_of_squares(elements.data(), static_cast<std::int64_t>(elements.size())));
  });
}

template <class T>
std::optional<std::int64_t> first_bad(const Tensor& dense) {
  const std::span<T> values = dense.span<T>();
  if (std::isfinite(kernels::sum_of_squares(values.data(), dense.numel()))) return std::nullopt;
  const auto bad = std::ranges::find_if(values, [](T value) { return !std::isfinite(value); });
  return bad == values.end() ? std::nullopt : std::optional(bad - values.begin());
}

std::string text_of(double value) { return std::isnan(value) ? "nan" : str_cat(value); }

// Describes the first value that is not finite: "nan at (0, 3), beside 0.5, -1, [nan], 2". Returns "" if all values are
// finite, or if the tensor has no floating-point numbers.
std::string describe_bad(const Tensor& tensor) {
  if (!tensor.defined() || tensor.dtype() == DType::i32 || tensor.numel() == 0) return "";
  const Tensor dense = tensor.dtype() == DType::bf16 ? tensor.to(DType::f32) : tensor.contiguous();
  return dispatch_floating(dense.dtype(), [&]<class T>(T) -> std::string {
    const std::optional<std::int64_t> bad = first_bad<T>(dense);
    if (!bad) return "";
    const std::span<T> values = dense.span<T>();
    std::string index;
    std::int64_t rest = *bad, row = 1;  // the size of the last axis
    for (int axis = dense.rank() - 1; axis >= 0; --axis) {
      const std::int64_t size = dense.size(axis);
      index = str_cat(rest % size, index.empty() ? "" : ", ", index);
      rest /= size;
      if (axis == dense.rank() - 1) row = size;
    }
    const std::int64_t begin = *bad / row * row, from = std::max(begin, *bad - kNeighbours);
    std::string beside;
    for (std::int64_t i = from; i < std::min(begin + row, *bad + kNeighbours + 1); ++i) {
      const std::string value = text_of(static_cast<double>(values[i]));
      beside += str_cat(i == from ? "" : ", ", i == *bad ? "[" + value + "]" : value);
    }
    return str_cat(text_of(static_cast<double>(values[*bad])), " at (", index, "), beside ", beside);
  });
}

// Thrown to end the repeated step.
struct Found {
  std::string message;
};

// Throws Found at the first value that is not finite.
class NanTracer : public OpObserver {
 public:
  // `forward`: whether the outputs of ops are checked, or only the gradients.
  NanTracer(const Module& model, bool forward)
      : forward_(forward), parameters_(model.named_parameters()), modules_(model.named_modules()) {}

  void forward_begins(const char*, std::span<const Variable* const> inputs) override {
    now_ = {.where = where(), .names = {}, .bad = {}};
    for (const Variable* input : inputs) {
      now_.names.push_back(input->defined() ? name_of(*input) : "");
      now_.bad.push_back(forward_ && input->defined() ? describe_bad(input->value()) : "");
    }
  }

  void forward_ended(const char* op, std::size_t node, std::span<const Tensor> outputs) override {
    if (nodes_.size() <= node) nodes_.resize(node + 1);
    nodes_[node] = now_;
    if (!forward_) return;
    for (const Tensor& output : outputs) {
      const std::string bad = describe_bad(output);
      if (bad.empty()) continue;
      std::string inputs;
      for (std::size_t i = 0; i < now_.names.size(); ++i) {
        if (now_.names[i].empty()) continue;
        inputs += str_cat(inputs.empty() ? "" : "; ", now_.names[i]);
        if (!now_.bad[i].empty()) inputs += str_cat(", not finite already: ", now_.bad[i]);
      }
      throw Found{str_cat("the first value that is not finite is of the forward of ", op, now_.where, ": its output ",
                          output.sizes(), " has ", bad, "; its inputs: ", inputs)};
    }
  }

  void backward_ended(const char* op, std::size_t node, std::span<const Tensor> dy,
                      std::span<const Tensor> gradients) override {
    const Inputs& inputs = nodes_[node];
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const std::string bad = describe_bad(gradients[i]);
      if (bad.empty()) continue;
      std::string of_outputs;
      for (const Tensor& gradient : dy) {
        if (!gradient.defined()) continue;
        const std::string already = describe_bad(gradient);
        of_outputs += str_cat(of_outputs.empty() ? "" : "; ", gradient.sizes(),
                              already.empty() ? ", finite" : ", not finite already: " + already);
      }
      throw Found{str_cat("the first value that is not finite is of the backward of ", op, inputs.where,
                          ": the gradient of its input ", inputs.names[i], " has ", bad,
                          "; the gradient of its output: ", of_outputs)};
    }
  }

 private:
  // The module that an op belongs to, and its inputs: their names ("" if an optional input is absent), and descriptions
  // of their values that are not finite.
  struct Inputs {
    std::string where;
    std::vector<std::string> names, bad;
  };

  std::string where() const {
    const Module* const module = running_.innermost();
    const auto named = std::ranges::find(modules_, module, &NamedModule::module);
    if (named == modules_.end()) return "";
    return named->name.empty() ? " in the model itself" : " in " + named->name;
  }

  // "blocks.0.attention.qkv.weight (48, 16)" for a parameter; only the sizes for other inputs.
  std::string name_of(const Variable& input) const {
    const auto parameter = std::ranges::find_if(
        parameters_, [&](const NamedParameter& other) { return other.variable.same_parameter(input); });
    const std::string name = parameter == parameters_.end() ? "" : parameter->name + " ";
    return str_cat(name, input.dtype() == DType::i32 ? "i32 " : "", input.sizes());
  }

  const bool forward_;
  const std::vector<NamedParameter> parameters_;
  const std::vector<NamedModule> modules_;
  const RunningModules running_;
  Inputs now_;
  std::vector<Inputs> nodes_;  // by the index of the op on the tape
};

}  // namespace

// The tape of the forward passes does not record, because a recorded loss may be computed only in backward.
std::string trace_nan(Objective& objective, const ResolvedConfig& config, std::int64_t step,
                      const std::function<void()>& restore_state) {
  const MicroSteps all{0, config.train.accumulate};
  const MeanOver mean = objective.mean_over(step, all);
  try {
    for (const bool forward : {true, false}) {
      restore_state();
      objective.model().zero_grad();
      for (std::int64_t micro = all.begin; micro < all.end; ++micro) {
        NanTracer tracer(objective.model(), forward);
        TapeOptions options = training_tape(config, step, micro);
        options.record = !forward;
        options.op_observer = &tracer;
        Tape tape(options);
        const Variable loss = objective.micro_loss(tape, step, micro, mean);
        if (!forward && loss.defined()) tape.backward(loss);
      }
    }
  } catch (const Found& found) {
    return found.message;
  }
  return "";
}

bool tells_of_divergence(std::string_view message) { return message.ends_with(kSlowerAdvice); }

void require_finite_values(const ParameterSlab& slab, const Optimizer& optimizer, std::int64_t step) {
  for (const ParameterSlab::Part& part : slab.parts()) {
    check(all_finite(part.variable.value()), "step ", step, ": the weights ", part.name, " are not finite numbers; ",
          kSlowerAdvice);
  }
  for (const auto& [name, values] : optimizer.state()) {
    check(all_finite(values), "step ", step, ": the optimizer's state ", name, " is not finite; ", kSlowerAdvice);
  }
}

void require_finite(const char* what, double value, Objective& objective, const ResolvedConfig& config,
                    std::int64_t step, const std::function<void()>& restore_state) {
  if (std::isfinite(value)) return;
  std::string cause = "train.trace_nan = true names the op that made it";
  if (config.train.trace_nan)
    cause = trace_nan(objective, config, step, restore_state ? restore_state : objective.hold_state());
  fail("step ", step, ": the ", what, " is ", value, cause.empty() ? "" : "; ", cause, "; ", kSlowerAdvice);
}

void require_usable_weights(Objective& objective, const ResolvedConfig& config, std::int64_t step) {
  Tape tape(no_grad);
  Variable part;
  const MicroSteps mine = objective.ranks().share(config.train.accumulate);
  const MeanOver mean = objective.mean_over(step, mine);
  for (std::int64_t micro = mine.begin; micro < mine.end && !part.defined(); ++micro) {
    part = objective.micro_loss(tape, step, micro, mean);
  }
  if (!part.defined()) return;  // a step without targets
  require_finite("loss after the update", part.value().item(), objective, config, step);
}

}  // namespace tapeformer
