// Recording: how an op is put on the tape.
//
// An op is a struct with a name, a forward that computes its output and keeps what its backward needs as members, and a
// backward that writes one gradient per input:
//
//   struct Square {
//     static constexpr const char* kName = "square";
//     Saved x;
//     Tensor forward(OpContext& context, const Tensor& in);   // x = context.save(0, in);
//     void backward(const Tensor& dy, GradSlot& dx);          // dx = 2 dy·x.get()
//   };
//   Variable square(const Variable& x) { return record(Square{}, x); }
//
// An op without a backward, or with a slot too few in its backward, does not compile.
//
// An op whose output is cheap to compute again from what it keeps for its backward may add
//
//     Tensor recompute_output() const;   // the same bits as forward's output, contiguous
//
// Ops that save this output then keep no copy of it (see Saved). Such an op keeps its own inputs as tensors, not as
// Saved, so that one Saved::get() never costs more than one op.
#pragma once

#include <array>
#include <concepts>
#include <initializer_list>
#include <string>
#include <utility>

#include "autograd/tape/tape.h"
#include "core/profile.h"

namespace tapeformer {

// What a forward can ask about its tape.
class OpContext {
 public:
  OpContext(Tape& tape, bool recording, std::span<const Variable* const> inputs)
      : tape_(tape), recording_(recording), inputs_(inputs) {}
  // Whether a backward will follow. Only then should forward keep what backward needs.
  bool recording() const { return recording_; }
  bool training() const { return tape_.options().training; }
  // Whether an op with a state of its own shall change it: in training, but not when recompute() runs the op again.
  bool updates_state() const { return training() && !tape_.rerunning_; }
  RandomKey next_random_key() { return tape_.next_random_key(); }
  // Keeps an input for backward if recording: as a reference if the input is cheap to compute again, else as `tensor`,
  // which is the input in the form that forward used (a view or a contiguous copy).
  Saved save(std::size_t input, const Tensor& tensor) const {
    return recording_ ? tape_.save(*inputs_[input], tensor) : Saved();
  }

 private:
  Tape& tape_;
  bool recording_;
  std::span<const Variable* const> inputs_;
};

// Returns the sorted names of all ops for which record() was compiled in this program. The op table of the gradient
// checks must have a row for each.
std::vector<std::string> recorded_op_names();

// Returns the tape of an op's inputs; undefined inputs are ignored. Throws Error naming `op` if they are on different
// tapes, on none or on one that was destroyed, or if one comes from inside of recompute(). A function that records
// several ops calls this first, so that errors name the function that the user called.
Tape& common_tape(const char* op, std::span<const Variable* const> inputs);
inline Tape& common_tape(const char* op, std::initializer_list<const Variable*> inputs) {
  return common_tape(op, std::span<const Variable* const>(inputs.begin(), inputs.size()));
}

namespace detail {

// These declarations give the concept below one tensor and one slot for each input.
template <std::size_t>
const Tensor& tensor_at();
template <std::size_t>
GradSlot& slot_at();

template <class Op, class Indices>
inline constexpr bool kOpFits = false;
template <class Op, std::size_t... I>
inline constexpr bool kOpFits<Op, std::index_sequence<I...>> = requires(Op op, OpContext& context, const Tensor& dy) {
  { Op::kName } -> std::convertible_to<const char*>;
  { op.forward(context, tensor_at<I>()...) } -> std::same_as<Tensor>;
  { op.backward(dy, slot_at<I>()...) } -> std::same_as<void>;
};

bool register_op_name(const char* name);

// The access to a tape that only record() and recompute() have.
struct TapeAccess {
  static bool keeping(const Tape& tape) { return tape.keeping(); }
  static std::vector<Variable> push(Tape& tape, std::unique_ptr<Node> node, std::span<const Variable* const> inputs,
                                    std::span<const Tensor> outputs) {
    return tape.push(std::move(node), inputs, outputs);
  }
  static std::uint64_t next_stream(const Tape& tape) { return tape.next_stream_; }
  static Variable run_unkept(Tape& tape, const std::function<Variable()>& f) { return tape.run_unkept(f); }
  static void rerun(Tape& tape, const std::function<Variable()>& f, std::uint64_t stream, const Tensor& dy) {
    tape.rerun(f, stream, dy);
  }
};

template <class Op>
struct NodeBase : Node {
  explicit NodeBase(Op value) : op(std::move(value)) { (void)kRegistered; }
  const char* name() const override { return Op::kName; }
  bool has_cheap_output() const override { return kCheap; }
  Tensor recompute_output() const override {
    if constexpr (kCheap) return op.recompute_output();
    return {};
  }
  Op op;
  static constexpr bool kCheap = requires(const Op& o) {
    { o.recompute_output() } -> std::same_as<Tensor>;
  };
  static inline const bool kRegistered = register_op_name(Op::kName);
};

template <class Op, std::size_t N>
struct FixedNode final : NodeBase<Op> {
  using NodeBase<Op>::NodeBase;
  void backward(std::span<const Tensor> dy, std::span<GradSlot> slots) override {
    [&]<std::size_t... I>(std::index_sequence<I...>) { this->op.backward(dy[0], slots[I]...); }
    (std::make_index_sequence<N>());
  }
};

template <class Op>
struct ListNode final : NodeBase<Op> {
  using NodeBase<Op>::NodeBase;
  void backward(std::span<const Tensor> dy, std::span<GradSlot> slots) override { this->op.backward(dy, slots); }
};

inline bool any_requires_grad(std::span<const Variable* const> inputs) {
  for (const Variable* input : inputs) {
    if (input->requires_grad()) return true;
  }
  return false;
}

// Computes an op by compute(op, context), which returns a list of outputs, and puts it as a node of the given type on
// the tape of its inputs if a gradient can flow. Returns the outputs as variables.
template <class OpNode, class Op, class Compute>
std::vector<Variable> compute_and_record(Op op, std::span<const Variable* const> inputs, const Compute& compute) {
  Tape& tape = common_tape(Op::kName, inputs);
  const bool differentiable = tape.options().record && any_requires_grad(inputs);
  OpContext context(tape, differentiable && TapeAccess::keeping(tape), inputs);
  OpObserver* const observer = tape.options().op_observer;
  if (observer) observer->forward_begins(Op::kName, inputs);
  const auto outputs = [&] {
    const Span span(SpanKind::forward, Op::kName);
    return compute(op, context);
  }();
  if (observer) observer->forward_ended(Op::kName, tape.node_count(), outputs);
  if (differentiable) return TapeAccess::push(tape, std::make_unique<OpNode>(std::move(op)), inputs, outputs);
  std::vector<Variable> constants;
  for (const Tensor& output : outputs) constants.push_back(Variable::constant(tape, output));
  return constants;
}

}  // namespace detail

// An op of a fixed number of inputs: Tensor forward(OpContext&, const Tensor&…) and backward(const Tensor& dy,
// GradSlot&…).
template <class Op, std::size_t N>
concept Differentiable = detail::kOpFits<Op, std::make_index_sequence<N>>;

// An op of any number of inputs and outputs: std::vector<Tensor> forward(OpContext&, std::span<const Tensor>) and
// backward(std::span<const Tensor> dy, std::span<GradSlot>).
template <class Op>
concept DifferentiableList = requires(Op op, OpContext& context, std::span<const Tensor> tensors,
                                      std::span<GradSlot> slots) {
  { Op::kName } -> std::convertible_to<const char*>;
  { op.forward(context, tensors) } -> std::same_as<std::vector<Tensor>>;
  { op.backward(tensors, slots) } -> std::same_as<void>;
};

// Computes an op and, if a gradient can flow, puts it on the tape of its inputs. The op receives undefined inputs as
// undefined tensors, with slots that are not needed.
template <class Op, std::same_as<Variable>... Inputs>
requires Differentiable<Op, sizeof...(Inputs)> Variable record(Op op, const Inputs&... inputs) {
  using OpNode = detail::FixedNode<Op, sizeof...(Inputs)>;
  const std::array<const Variable*, sizeof...(Inputs)> list{&inputs...};
  return detail::compute_and_record<OpNode>(std::move(op), list, [&](Op& own, OpContext& context) {
    return std::array{own.forward(context, inputs.value()...)};
  })[0];
}

template <DifferentiableList Op>
std::vector<Variable> record_list(Op op, std::span<const Variable> inputs) {
  std::vector<const Variable*> list;
  std::vector<Tensor> tensors;
  for (const Variable& input : inputs) {
    list.push_back(&input);
    tensors.push_back(input.value());
  }
  return detail::compute_and_record<detail::ListNode<Op>>(
      std::move(op), list, [&](Op& own, OpContext& context) { return own.forward(context, tensors); });
}

}  // namespace tapeformer
