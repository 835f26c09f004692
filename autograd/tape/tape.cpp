#include "autograd/tape/tape.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/profile.h"

namespace tapeformer {
namespace {

// Sets a variable to another value until the end of a scope.
template <class T>
class Scoped {
 public:
  Scoped(T& place, T value) : place_(place), before_(std::exchange(place, value)) {}
  ~Scoped() { place_ = before_; }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  T& place_;
  T before_;
};

std::atomic<std::uint64_t> tapes_made = 0;

}  // namespace

Tape::Tape(const TapeOptions& options) : options_(options), number_(++tapes_made) {}

std::vector<Variable> Tape::push(std::unique_ptr<Node> node, std::span<const Variable* const> inputs,
                                 std::span<const Tensor> outputs) {
  std::vector<Variable> variables;
  for (const Tensor& output : outputs) variables.push_back(Variable::constant(*this, output));
  if (options_.gradient_observer) count_uses(inputs);
  if (!keeping_) {
    for (Variable& variable : variables) variable.id_ = Variable::kUnkept;
    return variables;
  }
  check(!spent_, node->name(), ": the tape has been run backward already; start a new one");
  Record record{std::move(node), {}, static_cast<int>(producer_.size()), static_cast<int>(outputs.size())};
  record.inputs.reserve(inputs.size());
  record.states.reserve(inputs.size() + outputs.size());
  for (const Variable* input : inputs) {
    record.inputs.push_back(input_of(*input));
    record.states.push_back(input->value().storage_state());
  }
  for (const Tensor& output : outputs) record.states.push_back(output.storage_state());
  for (Variable& variable : variables) {
    variable.id_ = static_cast<int>(producer_.size());
    producer_.push_back(static_cast<int>(records_.size()));
  }
  records_.push_back(std::move(record));
  return variables;
}

Variable Tape::run_unkept(const std::function<Variable()>& f) {
  const Scoped unkept(keeping_, false);
  return f();
}

void Tape::rerun(const std::function<Variable()>& f, std::uint64_t stream, const Tensor& dy) {
  const Scoped drawing(next_stream_, stream);
  const Scoped open(spent_, false);
  const Scoped again(rerunning_, true);
  const Variable y = f();
  check(y.requires_grad(), "recompute: f depended on a parameter in its first run, and does not in its second");
  cells_.resize(producer_.size());
  slot_of(input_of(y)).accumulate(dy);
}

std::vector<std::string> Tape::node_names() const {
  std::vector<std::string> names;
  for (const Record& record : records_) names.emplace_back(record.node->name());
  return names;
}

// The ops of recompute() are counted in their first run, but not again when backward runs them.
void Tape::count_uses(std::span<const Variable* const> inputs) {
  const bool in_backward = !cells_.empty();
  if (in_backward) return;
  for (const Variable* input : inputs) {
    if (input->leaf_) ++uses_[input->leaf_.get()];
  }
}

void Tape::end_uses(const Record& record) {
  for (const Input& input : record.inputs) {
    if (!input.leaf || --uses_[input.leaf.get()] > 0) continue;
    if (input.leaf->grad.written) (*options_.gradient_observer)(input.leaf->grad.gradient);
  }
}

Tape::Input Tape::input_of(const Variable& variable) {
  if (!variable.requires_grad()) return {};
  return {variable.id_, variable.leaf_, variable.sizes(), variable.dtype()};
}

GradSlot Tape::slot_of(const Input& input) {
  if (input.leaf) return {input.leaf->grad, input.sizes, input.dtype};
  if (input.id >= 0) return {cells_[input.id], input.sizes, input.dtype};
  return {};
}

void Tape::tell_observer(const Record& record, std::span<const Tensor> dy) {
  std::vector<Tensor> gradients;
  for (const Input& input : record.inputs) {
    const GradCell* const cell = input.leaf ? &input.leaf->grad : input.id >= 0 ? &cells_[input.id] : nullptr;
    gradients.push_back(cell && cell->written ? cell->gradient : Tensor());
  }
  options_.op_observer->backward_ended(record.node->name(), records_.size(), dy, gradients);
}

Saved Tape::save(const Variable& variable, const Tensor& tensor) const {
  const bool cheap = variable.id_ >= 0 && variable.kept() && records_[producer_[variable.id_]].node->has_cheap_output();
  return cheap ? Saved(*this, variable.id_) : Saved(tensor);
}

Tensor Tape::recompute_value(int id) const {
  const Record& record = records_[producer_[id]];
  check_unchanged(record);
  return record.node->recompute_output();
}

void Tape::check_unchanged(const Record& record) {
  for (std::size_t i = 0; i < record.states.size(); ++i) {
    const bool input = i < record.inputs.size();
    check(!record.states[i].changed(), "backward of ", record.node->name(), ": its ", input ? "input " : "output ",
          input ? i : i - record.inputs.size(), " was written in place after the op");
  }
}

void Tape::backward(const Variable& root, Tensor dy) {
  check(root.is_on(*this) && root.id_ >= 0 && root.kept(),
        "backward: the root is not on this tape, or depends on no parameter");
  check(!spent_, "backward: the tape has been run backward already");
  if (!dy.defined()) {
    check(root.value().numel() == 1, "backward: the root is ", root.sizes(), "; pass a dy of that shape");
    dy = Tensor::full(root.sizes(), root.dtype(), 1);
  }
  check(dy.sizes() == root.sizes() && dy.dtype() == root.dtype(), "backward: dy is ", dy.sizes(), " ", dy.dtype(),
        ", the root ", root.sizes(), " ", root.dtype());
  spent_ = true;
  cells_.resize(producer_.size());
  cells_[root.id_] = {.gradient = std::move(dy), .written = true};

  std::vector<Tensor> dys;
  std::vector<GradSlot> slots;
  std::vector<GradCell> repeats;
  while (!records_.empty()) {
    const Record record = std::move(records_.back());  // freed at the end of this iteration
    records_.pop_back();
    bool any = false;
    for (int i = 0; i < record.output_count; ++i) {
      GradCell& cell = cells_[record.first_output + i];
      any |= cell.written;
      dys.push_back(cell.written ? std::move(cell.gradient) : Tensor());
      cell = {};
    }
    if (any) {
      check_unchanged(record);
      // A backward may write its gradients in any order. So if the op takes a value twice, each later use gets its own
      // cell, which is added after all gradients are written.
      repeats.assign(record.inputs.size(), {});
      for (std::size_t i = 0; i < record.inputs.size(); ++i) {
        const Input& input = record.inputs[i];
        const bool repeated = std::any_of(record.inputs.begin(), record.inputs.begin() + i,
                                          [&](const Input& other) { return input.same_value(other); });
        slots.push_back(repeated ? GradSlot(repeats[i], input.sizes, input.dtype) : slot_of(input));
      }
      {
        const Span span(SpanKind::backward, record.node->name());
        record.node->backward(dys, slots);
      }
      for (std::size_t i = 0; i < repeats.size(); ++i) {
        if (repeats[i].written) slot_of(record.inputs[i]).accumulate(repeats[i].gradient);
      }
      if (options_.op_observer && !record.inputs.empty()) tell_observer(record, dys);
    }
    if (options_.gradient_observer) end_uses(record);
    dys.clear();
    slots.clear();
    repeats.clear();
  }
}

}  // namespace tapeformer
