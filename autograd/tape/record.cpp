#include "autograd/tape/record.h"

#include <set>

namespace tapeformer {
namespace {

std::set<std::string>& op_names() {
  static std::set<std::string> names;
  return names;
}

}  // namespace

std::vector<std::string> recorded_op_names() { return {op_names().begin(), op_names().end()}; }

bool detail::register_op_name(const char* name) { return op_names().insert(name).second; }

Tape& common_tape(const char* op, std::span<const Variable* const> inputs) {
  Tape* tape = nullptr;
  for (const Variable* input : inputs) {
    if (!input->tape()) continue;
    check(!tape || tape == input->tape(), op, ": the inputs are on different tapes");
    tape = input->tape();
  }
  check(tape != nullptr, op, ": no input is on a tape; put one there with Variable::constant or Variable::on");
  for (const Variable* input : inputs) {
    check(!input->tape() || input->is_on(*tape), op,
          ": an input is on a tape that was destroyed; put its value on this one with Variable::constant");
    check(input->kept() || !detail::TapeAccess::keeping(*tape), op,
          ": takes a variable from inside of recompute(); only its result may leave it");
  }
  return *tape;
}

}  // namespace tapeformer
