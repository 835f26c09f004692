// Checks the rows of the op table on every kind of input that the tape can meet.
#pragma once

#include "autograd/gradcheck/op_cases.h"

namespace tapeformer {

// The row itself, and variants of it: each input transposed (every two neighbouring axes), sliced with a step (every
// axis) and expanded (every axis above 1); every two inputs of one shape as one variable; the whole function used
// twice. Where an input is a view, the leaf is contiguous and the op sees the view of it.
std::vector<OpCase> input_variants(const OpCase& row);

// The options with which the rows are checked.
GradCheckOptions op_check_options();

struct OpCheck {
  std::string op;  // its name, or that of what its rows check (OpCase::shown_name)
  bool ok = true;
  int checks = 0;    // how many gradients were compared: rows times variants
  double worst = 0;  // as in GradCheckResult, with the two below
  double error = 0, tolerance = 0;
  std::string message;  // the worst failure: row, variant, input, element, analytic and numeric value
};

// Checks the rows that are shown under one name. An op without a row fails, and an exception of the op is a failure
// too.
OpCheck check_op(const std::string& op, std::span<const OpCase> rows);

// The names of all rows, and of the ops that this program can record and that have none.
std::vector<std::string> gradient_check_ops();

// Checks the rows of each name: one of gradient_check_ops(), or an op that has rows of several names. Without names,
// all. Throws UsageError for an unknown name, with the nearest known one.
std::vector<OpCheck> run_gradient_checks(std::span<const std::string> names = {});

}  // namespace tapeformer
