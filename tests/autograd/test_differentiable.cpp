#include <doctest/doctest.h>

#include "autograd/tape/record.h"

using namespace tapeformer;

// An op that does not fit the tape does not compile; these would not.
namespace {

struct Complete {
  static constexpr const char* kName = "complete";
  Tensor forward(OpContext&, const Tensor& a, const Tensor&) { return a; }
  void backward(const Tensor&, GradSlot&, GradSlot&) {}
};
static_assert(Differentiable<Complete, 2>);
static_assert(!Differentiable<Complete, 1>);
static_assert(!Differentiable<Complete, 3>);

struct NoBackward {
  static constexpr const char* kName = "no_backward";
  Tensor forward(OpContext&, const Tensor& a) { return a; }
};
static_assert(!Differentiable<NoBackward, 1>);

struct SlotTooFew {
  static constexpr const char* kName = "slot_too_few";
  Tensor forward(OpContext&, const Tensor& a, const Tensor&) { return a; }
  void backward(const Tensor&, GradSlot&) {}
};
static_assert(!Differentiable<SlotTooFew, 2>);

struct SlotTooMany {
  static constexpr const char* kName = "slot_too_many";
  Tensor forward(OpContext&, const Tensor& a) { return a; }
  void backward(const Tensor&, GradSlot&, GradSlot&) {}
};
static_assert(!Differentiable<SlotTooMany, 1>);

struct NoName {
  Tensor forward(OpContext&, const Tensor& a) { return a; }
  void backward(const Tensor&, GradSlot&) {}
};
static_assert(!Differentiable<NoName, 1>);

struct NoContext {
  static constexpr const char* kName = "no_context";
  Tensor forward(const Tensor& a) { return a; }
  void backward(const Tensor&, GradSlot&) {}
};
static_assert(!Differentiable<NoContext, 1>);

struct List {
  static constexpr const char* kName = "list";
  std::vector<Tensor> forward(OpContext&, std::span<const Tensor> in) { return {in.begin(), in.end()}; }
  void backward(std::span<const Tensor>, std::span<GradSlot>) {}
};
static_assert(DifferentiableList<List>);
static_assert(!DifferentiableList<Complete>);

struct ListNoBackward {
  static constexpr const char* kName = "list_no_backward";
  std::vector<Tensor> forward(OpContext&, std::span<const Tensor> in) { return {in.begin(), in.end()}; }
};
static_assert(!DifferentiableList<ListNoBackward>);

// Going from a tensor to a variable takes a name, so that no gradient is cut by accident.
static_assert(!std::is_convertible_v<Tensor, Variable>);
static_assert(!std::is_constructible_v<Variable, Tensor>);

}  // namespace

TEST_CASE("record: ops that do not fit the tape are refused by the compiler, and do not count as recorded") {
  for (const std::string& name : recorded_op_names()) CHECK_FALSE(name.starts_with("no_"));
}
