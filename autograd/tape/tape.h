// The tape: ops in execution order; backward is one reverse loop over them.
//
//   Tape tape;
//   Variable loss = mean(square(linear(Variable::constant(tape, x), weight, bias) - target));
//   tape.backward(loss);          // weight.grad() and bias.grad() now hold dloss/dweight and dloss/dbias
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "autograd/tape/saved.h"
#include "autograd/tape/variable.h"
#include "core/random.h"

namespace tapeformer {

// Called with the name of a tensor of the forward pass that no module returns, such as attention weights; used for
// pictures and alignments. Calling `tensor` computes it; an observer that does not call it costs nothing.
using TensorObserver = std::function<void(std::string_view name, const std::function<Tensor()>& tensor)>;

// Receives every op of a tape, in forward and in backward, for example to find the op that made a value.
class OpObserver {
 public:
  virtual ~OpObserver() = default;
  // Called before and after an op computes its outputs. `node` is the op's index on the tape, if it is recorded. If
  // nothing is recorded, an op may write its output to the memory of an input.
  virtual void forward_begins(const char* op, std::span<const Variable* const> inputs) = 0;
  virtual void forward_ended(const char* op, std::size_t node, std::span<const Tensor> outputs) = 0;
  // Called after the backward of the op `node`, with the gradients of its outputs and the gradients of its inputs
  // accumulated so far. A tensor is undefined if there is no gradient.
  virtual void backward_ended(const char* op, std::size_t node, std::span<const Tensor> dy,
                              std::span<const Tensor> gradients) = 0;
};

// Called with the gradient of a parameter when backward has added the last part to it, so that it can be used while
// backward goes on. It is not called for parameters on which the root does not depend.
using GradientObserver = std::function<void(const Tensor& gradient)>;

struct TapeOptions {
  bool record = true;      // false: ops only compute values and keep nothing for backward
  bool training = false;   // true: dropout is active
  bool recompute = false;  // true: recompute() saves memory and costs time; false: it has no effect
  RandomKey random = {};   // seed, step and micro-step of the random ops
  // Observers must outlive the tape; null: no observer.
  const TensorObserver* observer = nullptr;
  OpObserver* op_observer = nullptr;                    // called around every op
  const GradientObserver* gradient_observer = nullptr;  // called when a parameter's gradient is complete
};
inline constexpr TapeOptions no_grad{.record = false};

// One recorded op with the values that it saved for backward.
class Node {
 public:
  virtual ~Node() = default;
  virtual const char* name() const = 0;
  // dy[i] is the gradient of output i, undefined if no op wrote one. slots[i] belongs to input i; no two slots share
  // memory.
  virtual void backward(std::span<const Tensor> dy, std::span<GradSlot> slots) = 0;
  // Whether the output is cheap to compute again from the tensors that the op keeps anyway. recompute_output() computes
  // it.
  virtual bool has_cheap_output() const { return false; }
  virtual Tensor recompute_output() const { return {}; }
};

namespace detail {
struct TapeAccess;  // the access of record() and recompute()
}

class Tape {
 public:
  explicit Tape(const TapeOptions& options = {});
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  const TapeOptions& options() const { return options_; }
  std::size_t node_count() const { return records_.size(); }
  std::vector<std::string> node_names() const;  // the names of the recorded ops, in order

  // Returns the key of one op's random numbers. It depends only on options.random and on the number of keys drawn
  // before.
  RandomKey next_random_key() { return options_.random.with_stream(next_stream_++); }

  // Adds dyᵀ·d(root)/d(parameter) to the gradient of every parameter on which the root depends. dy has the root's
  // sizes; if it is undefined, the root must have one element, and dy is 1. Backward frees what each op saved, so a
  // tape can be run backward only once.
  void backward(const Variable& root, Tensor dy = {});

 private:
  friend class OpContext;
  friend class Saved;
  friend class Variable;
  friend struct detail::TapeAccess;

  struct Input {
    int id = -1;
    std::shared_ptr<Leaf> leaf;
    Dims sizes;
    DType dtype = DType::f32;
    bool same_value(const Input& other) const { return leaf ? leaf == other.leaf : id >= 0 && id == other.id; }
  };
  struct Record {
    std::unique_ptr<Node> node;
    std::vector<Input> inputs;
    int first_output, output_count;
    std::vector<StorageState> states = {};  // those of the inputs, then those of the outputs
  };
  // Whether ops keep what their backward needs. They do not in the first run of recompute().
  bool keeping() const { return options_.record && keeping_; }
  // Puts an op on the tape and returns its outputs as variables. If not keeping(), the node is dropped, and the outputs
  // only know that a gradient would flow.
  std::vector<Variable> push(std::unique_ptr<Node> node, std::span<const Variable* const> inputs,
                             std::span<const Tensor> outputs);
  // Keeps a variable for backward: as a reference if its op can cheaply compute it again, else as `tensor`.
  Saved save(const Variable& variable, const Tensor& tensor) const;
  Tensor recompute_value(int id) const;  // computes the value of a reference again
  // Runs f without keeping its ops.
  Variable run_unkept(const std::function<Variable()>& f);
  // Called within backward: runs f with the random numbers from `stream` on, puts its ops at the end of the tape, where
  // backward continues, and gives the result of f the gradient dy.
  void rerun(const std::function<Variable()>& f, std::uint64_t stream, const Tensor& dy);

  // Throws Error if an input or output, which the op may have saved, was written in place since.
  static void check_unchanged(const Record& record);
  static Input input_of(const Variable& variable);
  GradSlot slot_of(const Input& input);
  void tell_observer(const Record& record, std::span<const Tensor> dy);  // after the backward of an op
  void count_uses(std::span<const Variable* const> inputs);  // counts the uses of parameters, for the gradient observer
  void end_uses(const Record& record);                       // after the backward of an op

  TapeOptions options_;
  // No other tape of the process has it. A tape that a loop declares often has the address of the one before.
  const std::uint64_t number_;
  std::uint64_t next_stream_ = 0;
  bool keeping_ = true;
  bool spent_ = false;
  bool rerunning_ = false;  // within rerun()
  std::vector<Record> records_;
  std::vector<int> producer_;  // the index of the record that made each id

  std::vector<GradCell> cells_;  // the gradient of each id, during backward
  // The number of ops that still have to add to each parameter's gradient; empty without a gradient observer.
  std::unordered_map<const Leaf*, std::int64_t> uses_;
};

}  // namespace tapeformer
