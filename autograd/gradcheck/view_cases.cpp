#include <array>

#include "autograd/gradcheck/op_table.h"
#include "autograd/ops/ops.h"

namespace tapeformer {

void add_views(OpTable& t) {
  t.add("permute", "transpose", {t.normal({2, 3, 4})}, [](Inputs in) { return transpose(in[0], 0, -1); });
  t.add("permute", "three axes", {t.normal({2, 3, 4})}, [](Inputs in) { return permute(in[0], {2, 0, -2}); });
  t.add("slice", "", {t.normal({3, 4})}, [](Inputs in) { return slice(in[0], 1, 1, 3); });
  t.add("slice", "step", {t.normal({5, 2})}, [](Inputs in) { return slice(in[0], -2, 0, 5, 2); });
  t.add("expand", "axis of one", {t.normal({2, 1, 3})}, [](Inputs in) { return expand(in[0], {2, 4, 3}); });
  t.add("expand", "axes in front", {t.normal({1, 3})}, [](Inputs in) { return expand(in[0], {2, 2, 2, 3}); });
  t.add("reshape", "", {t.normal({2, 6})}, [](Inputs in) { return reshape(in[0], {3, -1}); });
  t.add("reshape", "of a transpose (a copy)", {t.normal({2, 6})}, [](Inputs in) {
    return reshape(transpose(in[0], 0, 1), {3, 4});
  });
  static constexpr std::array<std::int64_t, 3> kParts{2, 1, 2};
  t.add("split", "", {t.normal({3, 5})}, [](Inputs in) {
    const auto parts = split(in[0], kParts, -1);
    return mul(mul(parts[0], parts[1]), parts[2]);
  });
  t.add("split", "an unused part, a part used twice", {t.normal({5, 3})}, [](Inputs in) {
    const auto parts = split(in[0], kParts, 0);
    return add(mul(parts[2], parts[2]), parts[1]);
  });
  t.add("split", "with the whole", {t.normal({5, 3})}, [](Inputs in) {
    const Variable whole = tanh(in[0]);
    const auto parts = split(whole, kParts, 0);
    return concat(Inputs(std::array{mul(parts[0], parts[2]), whole}), 0);
  });
  t.add("concat", "first axis", {t.normal({1, 3}), t.normal({2, 3}), t.normal({2, 3})},
        [](Inputs in) { return concat(in, 0); });
  t.add("concat", "last axis", {t.normal({2, 3}), t.normal({2, 1})}, [](Inputs in) { return concat(in, -1); });
}

void add_reductions(OpTable& t) {
  for (int axis : {0, 1, -1}) {
    const std::string along = "axis " + std::to_string(axis);
    t.add("sum", along, {t.normal({2, 3, 4})}, [axis](Inputs in) { return sum(in[0], axis); });
    t.add("max", along, {t.distinct({2, 3, 4})}, [axis](Inputs in) { return max(in[0], axis); });
  }
  t.add("sum", "axis kept", {t.normal({2, 3})}, [](Inputs in) { return sum(in[0], 0, true); });
  t.add("max", "axis kept", {t.distinct({2, 3})}, [](Inputs in) { return max(in[0], 1, true); });
  t.add("sum", "all elements", {t.normal({2, 3})}, [](Inputs in) { return sum(in[0]); });
  t.add("sum", "mean of an axis", {t.normal({2, 3})}, [](Inputs in) { return mean(in[0], -1); });
  t.add("sum", "mean", {t.normal({2, 3})}, [](Inputs in) { return mean(in[0]); });
}

}  // namespace tapeformer
