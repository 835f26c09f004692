#include "autograd/gradcheck/check_ops.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "autograd/ops/ops.h"
#include "autograd/tape/record.h"
#include "core/text/nearest_name.h"

namespace tapeformer {
namespace {

using View = std::function<Variable(const Variable&)>;

OpCase labelled(OpCase row, const std::string& label) {
  row.label += (row.label.empty() ? "" : ", ") + label;
  return row;
}

// The row with another leaf for one input; the function sees a view of the leaf.
OpCase seen_through(const OpCase& row, std::size_t input, Tensor leaf, const View& view, const std::string& label) {
  OpCase variant = labelled(row, str_cat("input ", input, " ", label));
  variant.inputs[input] = std::move(leaf);
  variant.function = [input, view, f = row.function](std::span<const Variable> inputs) {
    std::vector<Variable> seen(inputs.begin(), inputs.end());
    seen[input] = view(inputs[input]);
    return f(seen);
  };
  return variant;
}

OpCase transposed(const OpCase& row, std::size_t input, int axis) {
  return seen_through(
      row, input, row.inputs[input].transpose(axis, axis + 1).clone(),
      [axis](const Variable& leaf) { return transpose(leaf, axis, axis + 1); },
      str_cat("transposed (", axis, ", ", axis + 1, ")"));
}

OpCase sliced(const OpCase& row, std::size_t input, int axis) {
  Dims sizes = row.inputs[input].sizes();
  const std::int64_t stop = 2 * sizes[axis] + 1;
  sizes[axis] = stop;
  const Tensor leaf = Tensor::zeros(sizes, row.inputs[input].dtype());
  leaf.slice(axis, 1, stop, 2).copy_from(row.inputs[input]);
  return seen_through(
      row, input, leaf, [axis, stop](const Variable& x) { return slice(x, axis, 1, stop, 2); },
      str_cat("sliced along ", axis));
}

OpCase expanded(const OpCase& row, std::size_t input, int axis) {
  const Tensor& whole = row.inputs[input];
  return seen_through(
      row, input, whole.slice(axis, 0, 1).clone(),
      [sizes = whole.sizes()](const Variable& leaf) { return expand(leaf, sizes); }, str_cat("expanded along ", axis));
}

OpCase shared(const OpCase& row, std::size_t first, std::size_t second) {
  OpCase variant = labelled(row, str_cat("input ", first, " also as input ", second));
  variant.inputs.erase(variant.inputs.begin() + static_cast<std::ptrdiff_t>(second));
  variant.function = [first, second, f = row.function](std::span<const Variable> inputs) {
    std::vector<Variable> seen(inputs.begin(), inputs.end());
    seen.insert(seen.begin() + static_cast<std::ptrdiff_t>(second), inputs[first]);
    return f(seen);
  };
  return variant;
}

OpCase used_twice(const OpCase& row) {
  OpCase variant = labelled(row, "used twice");
  variant.function = [f = row.function](std::span<const Variable> inputs) {
    const Variable first = f(inputs);
    return add(first, scale(f(inputs), -0.6));
  };
  return variant;
}

// Whether the row's function records the op that the row is for.
bool records_its_op(const OpCase& row, const TapeOptions& options) {
  Tape tape(options);
  std::vector<Variable> inputs;
  for (const Tensor& input : row.inputs) {
    const bool constant = input.dtype() == DType::i32;
    inputs.push_back(constant ? Variable::constant(tape, input) : Variable::parameter(input).on(tape));
  }
  row.function(inputs);
  return std::ranges::count(tape.node_names(), row.op) > 0;
}

}  // namespace

std::vector<OpCase> input_variants(const OpCase& row) {
  std::vector<OpCase> variants{row};
  for (std::size_t input = 0; input < row.inputs.size(); ++input) {
    const Dims& sizes = row.inputs[input].sizes();
    for (int axis = 0; axis + 1 < sizes.rank(); ++axis) variants.push_back(transposed(row, input, axis));
    for (int axis = 0; axis < sizes.rank(); ++axis) {
      variants.push_back(sliced(row, input, axis));
      if (sizes[axis] > 1) variants.push_back(expanded(row, input, axis));
    }
    for (std::size_t other = input + 1; other < row.inputs.size(); ++other) {
      if (sizes == row.inputs[other].sizes() && row.inputs[input].dtype() == row.inputs[other].dtype()) {
        variants.push_back(shared(row, input, other));
      }
    }
  }
  variants.push_back(used_twice(row));
  return variants;
}

GradCheckOptions op_check_options() {
  // Dropout draws the same numbers in every evaluation: they depend on the key and the op's place on the tape.
  return {.tape = {.training = true, .recompute = true, .random = {.seed = 7, .step = 3}}};
}

OpCheck check_op(const std::string& op, std::span<const OpCase> rows) {
  const GradCheckOptions options = op_check_options();
  OpCheck total{.op = op, .message = {}};
  for (const OpCase& row : rows) {
    if (row.shown_name() != op) continue;
    for (const OpCase& variant : input_variants(row)) {
      GradCheckResult result;
      try {
        check(records_its_op(variant, options.tape), "the row does not record the op");
        result = check_gradients(variant.function, variant.inputs, options);
      } catch (const Error& error) {
        result = {.ok = false, .worst = INFINITY, .error = INFINITY, .message = error.what()};
      }
      ++total.checks;
      if (!result.ok && (total.ok || result.worst > total.worst)) {
        total.message = str_cat(op, variant.label.empty() ? "" : " (" + variant.label + ")", ": ", result.message);
      }
      total.ok &= result.ok;
      if (result.worst > total.worst || total.checks == 1)
        total.worst = result.worst, total.error = result.error, total.tolerance = result.tolerance;
    }
  }
  if (total.checks == 0) total = {.op = op, .ok = false, .message = op + ": no row in autograd/gradcheck/*_cases.cpp"};
  return total;
}

std::vector<std::string> gradient_check_ops() {
  std::set<std::string> names, without_row;
  for (const std::string& name : recorded_op_names()) without_row.insert(name);
  for (const OpCase& row : op_cases()) {
    names.insert(row.shown_name());
    without_row.erase(row.op);
  }
  names.merge(without_row);
  return {names.begin(), names.end()};
}

std::vector<OpCheck> run_gradient_checks(std::span<const std::string> names) {
  const std::vector<OpCase> rows = op_cases();
  const std::vector<std::string> known = gradient_check_ops();
  std::set<std::string> wanted;
  for (const std::string& name : names) {
    if (std::ranges::count(known, name) > 0) wanted.insert(name);
    for (const OpCase& row : rows) {
      if (row.op == name) wanted.insert(row.shown_name());
    }
  }
  for (const std::string& name : names) {
    if (wanted.contains(name) || std::ranges::count(rows, name, &OpCase::op) > 0) continue;
    const std::vector<std::string_view> names_known(known.begin(), known.end());
    fail_usage("gradcheck: there is no op ", name, "; the nearest is ", nearest_name(name, names_known));
  }
  std::vector<OpCheck> checks;
  for (const std::string& op : known) {
    if (names.empty() || wanted.contains(op)) checks.push_back(check_op(op, rows));
  }
  return checks;
}

}  // namespace tapeformer
