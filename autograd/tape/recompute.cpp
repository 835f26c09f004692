#include "autograd/tape/recompute.h"

#include <utility>

#include "autograd/tape/record.h"

namespace tapeformer {
namespace {

using detail::TapeAccess;

// The node that replaces the ops of f(x) on the tape. It has no inputs: gradients flow on through those ops when they
// run again.
struct Recompute {
  static constexpr const char* kName = "recompute";
  Tape& tape;
  std::function<Variable()> f;
  std::uint64_t stream;  // the number of the first random sequence that f drew
  StorageState x;
  void backward(std::span<const Tensor> dy, std::span<GradSlot>) {
    check(!x.changed(), "backward of recompute: its input was written in place after the op");
    TapeAccess::rerun(tape, f, stream, dy[0]);
  }
};

}  // namespace

Variable recompute(std::function<Variable(const Variable&)> f, const Variable& x) {
  const Variable* const inputs[] = {&x};
  Tape& tape = common_tape(Recompute::kName, inputs);
  if (!tape.options().recompute || !TapeAccess::keeping(tape)) return f(x);
  const std::uint64_t stream = TapeAccess::next_stream(tape);
  std::function<Variable()> run = [f = std::move(f), x] { return f(x); };
  const Variable y = TapeAccess::run_unkept(tape, run);
  if (y.kept()) return y;  // no gradient flows through an op of f
  auto node =
      std::make_unique<detail::ListNode<Recompute>>(Recompute{tape, std::move(run), stream, x.value().storage_state()});
  return TapeAccess::push(tape, std::move(node), {}, {&y.value(), 1})[0];
}

}  // namespace tapeformer
