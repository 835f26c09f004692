#include "autograd/tape/tape.h"

#include <algorithm>
#include <utility>

#include "autograd/core/profile.h"

namespace tapeformer {

std::vector<Variable> Tape::push(std::unique_ptr<Node> node, std::span<const Variable* const> inputs,
                                 std::span<const Tensor> outputs) {
  check(!spent_, node->name(), ": the tape has been run backward already; start a new one");
  Record record{std::move(node), {}, static_cast<int>(producer_.size()), static_cast<int>(outputs.size())};
  record.inputs.reserve(inputs.size());
  record.states.reserve(inputs.size() + outputs.size());
  for (const Variable* input : inputs) {
    record.states.push_back(input->value().storage_state());
    if (!input->requires_grad()) {
      record.inputs.emplace_back();
    } else {
      record.inputs.push_back({input->id_, input->leaf_, input->sizes(), input->dtype()});
    }
  }
  std::vector<Variable> variables;
  for (const Tensor& output : outputs) {
    record.states.push_back(output.storage_state());
    Variable variable = Variable::constant(*this, output);
    variable.id_ = static_cast<int>(producer_.size());
    producer_.push_back(static_cast<int>(records_.size()));
    variables.push_back(std::move(variable));
  }
  records_.push_back(std::move(record));
  return variables;
}

std::vector<std::string> Tape::node_names() const {
  std::vector<std::string> names;
  for (const Record& record : records_) names.emplace_back(record.node->name());
  return names;
}

GradSlot Tape::slot_of(const Input& input) {
  if (input.leaf) return {&input.leaf->grad, input.sizes, input.dtype, nullptr, -1};
  if (input.id >= 0) return {&cells_[input.id], input.sizes, input.dtype, this, input.id};
  return {};
}

Tensor Tape::take_place(int id) {
  const int producer = producer_[id];
  if (!places_asked_[producer]) {
    places_asked_[producer] = true;
    Record& record = records_[producer];
    std::vector<GradSlot> slots;
    for (const Input& input : record.inputs) slots.push_back(slot_of(input));
    std::vector<Tensor> places = record.node->place_output_gradients(slots);
    std::move(places.begin(), places.end(), places_.begin() + record.first_output);
  }
  return std::exchange(places_[id], Tensor());
}

void Tape::check_unchanged(const Record& record) {
  for (std::size_t i = 0; i < record.states.size(); ++i) {
    const bool input = i < record.inputs.size();
    check(!record.states[i].changed(), "backward of ", record.node->name(), ": its ", input ? "input " : "output ",
          input ? i : i - record.inputs.size(), " was written in place after the op");
  }
}

void Tape::backward(const Variable& root, Tensor dy) {
  check(root.tape_ == this && root.id_ >= 0, "backward: the root is not on this tape, or depends on no parameter");
  check(!spent_, "backward: the tape has been run backward already");
  if (!dy.defined()) {
    check(root.value().numel() == 1, "backward: the root is ", root.sizes(), "; pass a dy of that shape");
    dy = Tensor::full(root.sizes(), root.dtype(), 1);
  }
  check(dy.sizes() == root.sizes() && dy.dtype() == root.dtype(), "backward: dy is ", dy.sizes(), " ", dy.dtype(),
        ", the root ", root.sizes(), " ", root.dtype());
  spent_ = true;
  cells_.resize(producer_.size());
  places_.resize(producer_.size());
  places_asked_.resize(records_.size());
  cells_[root.id_] = {.gradient = std::move(dy), .written = true};

  std::vector<Tensor> dys;
  std::vector<GradSlot> slots;
  std::vector<GradCell> repeats;
  for (; !records_.empty(); records_.pop_back()) {
    Record& record = records_.back();
    bool any = false;
    for (int i = 0; i < record.output_count; ++i) {
      GradCell& cell = cells_[record.first_output + i];
      any |= cell.written;
      dys.push_back(cell.written ? std::move(cell.gradient) : Tensor());
      cell = {};
    }
    if (any) {
      check_unchanged(record);
      // A backward may write its gradients in any order or all at once, so a value that the op takes twice gets a cell
      // of its own for each later use, added when all are written.
      repeats.assign(record.inputs.size(), {});
      for (std::size_t i = 0; i < record.inputs.size(); ++i) {
        const Input& input = record.inputs[i];
        const bool repeated = std::any_of(record.inputs.begin(), record.inputs.begin() + i,
                                          [&](const Input& other) { return input.same_value(other); });
        slots.push_back(repeated ? GradSlot(&repeats[i], input.sizes, input.dtype, nullptr, -1) : slot_of(input));
      }
      {
        const Span span(SpanKind::backward, record.node->name());
        record.node->backward(dys, slots);
      }
      for (std::size_t i = 0; i < repeats.size(); ++i) {
        if (repeats[i].written) slot_of(record.inputs[i]).accumulate(repeats[i].gradient);
      }
    }
    dys.clear();
    slots.clear();
    repeats.clear();
  }
}

}  // namespace tapeformer
