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

// Is told of tensors of a forward pass that no module returns, by a name that says what they are, such as attention
// weights: for pictures and alignments. `tensor` computes the one that is named; what is not asked for costs nothing.
using TensorObserver = std::function<void(std::string_view name, const std::function<Tensor()>& tensor)>;

// Is told of every op of a tape, forward and backward: to find out which one made a value.
class OpObserver {
 public:
  virtual ~OpObserver() = default;
  // Before an op computes its outputs, and after. `node` is the op's place among those of the tape, where it is
  // recorded. An op may write its output into the memory of an input when nothing is recorded.
  virtual void forward_begins(const char* op, std::span<const Variable* const> inputs) = 0;
  virtual void forward_ended(const char* op, std::size_t node, std::span<const Tensor> outputs) = 0;
  // After the backward of the op at `node`: the gradients of its outputs, and those of its inputs as far as they are
  // gathered. Undefined where there is none.
  virtual void backward_ended(const char* op, std::size_t node, std::span<const Tensor> dy,
                              std::span<const Tensor> gradients) = 0;
};

// Is told of the gradient of a parameter when backward has added its last part to it: to work on it while backward goes
// on. Not told of parameters that the root does not depend on.
using GradientObserver = std::function<void(const Tensor& gradient)>;

struct TapeOptions {
  bool record = true;      // off: ops compute values only, and nothing is kept for a backward
  bool training = false;   // on: dropout drops
  bool recompute = false;  // on: recompute() trades time for memory; off: it changes nothing
  RandomKey random = {};   // seed, step and micro-step of the random ops
  // Observers must outlive the tape. Null: nobody observes.
  const TensorObserver* observer = nullptr;
  OpObserver* op_observer = nullptr;                    // called around every op
  const GradientObserver* gradient_observer = nullptr;  // called when a parameter's gradient is complete
};
inline constexpr TapeOptions no_grad{.record = false};

// One recorded op: what it saved, and where its gradients go.
class Node {
 public:
  virtual ~Node() = default;
  virtual const char* name() const = 0;
  // dy[i] is the gradient of output i (undefined where nobody wrote one); slots are those of the inputs, no two of
  // which lead to the same memory.
  virtual void backward(std::span<const Tensor> dy, std::span<GradSlot> slots) = 0;
  // Whether the output is cheap to compute again from what the op keeps anyway, and its value computed again.
  virtual bool has_cheap_output() const { return false; }
  virtual Tensor recompute_output() const { return {}; }
};

namespace detail {
struct TapeAccess;  // what record() and recompute() may do to a tape
}

class Tape {
 public:
  explicit Tape(const TapeOptions& options = {}) : options_(options) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  const TapeOptions& options() const { return options_; }
  std::size_t node_count() const { return records_.size(); }
  std::vector<std::string> node_names() const;  // of the recorded ops, in order

  // The random numbers of one op: the same op in the same place of the same step draws the same.
  RandomKey next_random_key() { return options_.random.with_stream(next_stream_++); }

  // Adds d(root)/d(parameter), contracted with dy (ones when undefined, for a root of one element), to every parameter
  // that the root depends on. Frees what each op saved as it passes; a tape is run backward once.
  void backward(const Variable& root, Tensor dy = {});

 private:
  friend class OpContext;
  friend class Saved;
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
    std::vector<StorageState> states = {};  // of the inputs, then of the outputs
  };
  // Whether ops keep what their backwards need: not in the first run of recompute().
  bool keeping() const { return options_.record && keeping_; }
  // Puts an op on the tape and returns its outputs as variables. While not keeping, the node is dropped, and the
  // outputs only know that a gradient would flow.
  std::vector<Variable> push(std::unique_ptr<Node> node, std::span<const Variable* const> inputs,
                             std::span<const Tensor> outputs);
  // Keeps a variable for a backward: as `tensor`, or as a reference where its op can cheaply compute it again.
  Saved save(const Variable& variable, const Tensor& tensor) const;
  Tensor recompute_value(int id) const;  // the value of such a reference
  // Runs f and keeps nothing of it.
  Variable run_unkept(const std::function<Variable()>& f);
  // Within backward: puts the ops of f at the end of the tape, where backward goes on, with the random numbers from
  // `stream` on, and gives the result of f the gradient dy.
  void rerun(const std::function<Variable()>& f, std::uint64_t stream, const Tensor& dy);

  // Throws Error when an input or output, which the op may have saved, was written in place since.
  static void check_unchanged(const Record& record);
  static Input input_of(const Variable& variable);
  GradSlot slot_of(const Input& input);
  void tell_observer(const Record& record, std::span<const Tensor> dy);  // of a backward that has ended
  void count_uses(std::span<const Variable* const> inputs);              // of parameters, for the gradient observer
  void end_uses(const Record& record);                                   // by an op whose backward has ended

  TapeOptions options_;
  std::uint64_t next_stream_ = 0;
  bool keeping_ = true;
  bool spent_ = false;
  std::vector<Record> records_;
  std::vector<int> producer_;  // the record that each id comes from

  std::vector<GradCell> cells_;  // the gradient of each id, during backward
  // How many ops still have to add to a parameter's gradient; empty without a gradient observer.
  std::unordered_map<const Leaf*, std::int64_t> uses_;
};

}  // namespace tapeformer
