// Checks the rows of the op table on every kind of input that the tape can meet.
#pragma once

#include "autograd/gradcheck/op_cases.h"

namespace tapeformer {

// The row itself, and its function on inputs that are views: each input transposed (every two neighbouring axes),
// sliced with a step (every axis) and expanded (every axis above 1); every two inputs of one shape as one variable;
// everything used twice. The leaf is always contiguous, and the op sees a view of it.
std::vector<OpCase> input_variants(const OpCase& row);

// How the rows are checked.
GradCheckOptions op_check_options();

struct OpCheck {
  std::string op;
  bool ok = true;
  int checks = 0;       // gradients compared: rows times variants
  double worst = 0;     // as in GradCheckResult
  std::string message;  // the worst failure: row, variant, input, element, analytic and numeric value
};

// Checks the rows of one op. No row fails; what an op throws fails.
OpCheck check_op(const std::string& op, std::span<const OpCase> rows);

// Checks the rows of each named op, or of every op that was recorded by this program or has a row when there are no
// names. An op without a row fails. Throws UsageError for a name that no op has, naming the nearest.
std::vector<OpCheck> run_gradient_checks(std::span<const std::string> names = {});

}  // namespace tapeformer
