#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "autograd/tensor/layout.h"
#include "core/error.h"

using namespace tapeformer;

namespace {

// The places in the storage of a layout's elements, in row-major order.
std::vector<std::int64_t> places(const Layout& layout) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < layout.numel(); ++i) {
    std::int64_t rest = i, place = layout.offset;
    for (int axis = layout.rank() - 1; axis >= 0; --axis) {
      place += rest % layout.sizes[axis] * layout.strides[axis];
      rest /= layout.sizes[axis];
    }
    out.push_back(place);
  }
  return out;
}

}  // namespace

TEST_CASE("layout: contiguous strides, offset and element count") {
  const Layout layout = Layout::contiguous({2, 3, 4});
  CHECK(layout.strides == Dims{12, 4, 1});
  CHECK(layout.numel() == 24);
  CHECK(layout.is_contiguous());
  CHECK(Layout::contiguous({}).numel() == 1);
}

TEST_CASE("layout: transpose, permute, slice and expand are views with the right elements") {
  const Layout base = Layout::contiguous({2, 3});
  CHECK(places(base.transpose(0, 1)) == std::vector<std::int64_t>{0, 3, 1, 4, 2, 5});
  CHECK(places(base.slice(1, 1, 3)) == std::vector<std::int64_t>{1, 2, 4, 5});
  CHECK(places(base.slice(-1, 0, 3, 2)) == std::vector<std::int64_t>{0, 2, 3, 5});
  CHECK(places(Layout::contiguous({3}).expand({2, 3})) == std::vector<std::int64_t>{0, 1, 2, 0, 1, 2});
  CHECK(places(Layout::contiguous({2, 1}).expand({2, 2})) == std::vector<std::int64_t>{0, 0, 1, 1});
  CHECK(Layout::contiguous({2, 3, 4}).permute({2, 0, 1}).sizes == Dims{4, 2, 3});
  CHECK_FALSE(base.transpose(0, 1).is_contiguous());
}

TEST_CASE("layout: reshape is a view exactly where row-major order allows it") {
  // Every view below, reshaped to every shape of as many elements: either the places agree or reshape needs a copy,
  // and it needs one only if no strides could give those places.
  const Layout base = Layout::contiguous({2, 3, 4});
  const std::vector<Layout> views = {base,
                                     base.transpose(0, 1),
                                     base.transpose(1, 2),
                                     base.permute({2, 0, 1}),
                                     base.slice(2, 1, 3),
                                     base.slice(0, 1, 2),
                                     base.slice(1, 0, 3, 2),
                                     Layout::contiguous({2, 1, 3}).expand({2, 4, 3}),
                                     Layout::contiguous({1, 1}).expand({4, 6}),
                                     Layout::contiguous({6, 1}).expand({6, 4})};
  int viewed = 0, copied = 0;
  for (const Layout& view : views) {
    const std::int64_t n = view.numel();
    for (std::int64_t a = 1; a <= n; ++a) {
      for (std::int64_t b = 1; n % a == 0 && b <= n / a; ++b) {
        if (n / a % b) continue;
        const Dims to{a, b, n / a / b};
        const auto reshaped = view.reshape(to);
        // The strides that would give the wanted places, if there are any.
        const auto wanted = places(view);
        Layout guess{to, Dims::filled(3, 0), view.offset};
        if (to[2] > 1) guess.strides[2] = wanted[1] - wanted[0];
        if (to[1] > 1) guess.strides[1] = wanted[to[2]] - wanted[0];
        if (to[0] > 1) guess.strides[0] = wanted[to[1] * to[2]] - wanted[0];
        const bool possible = places(guess) == wanted;
        CAPTURE(to);
        CHECK(reshaped.has_value() == possible);
        if (reshaped) CHECK(places(*reshaped) == wanted);
        ++(reshaped ? viewed : copied);
      }
    }
  }
  CHECK(viewed > 50);
  CHECK(copied > 50);
  CHECK(base.reshape_sizes({-1, 4}) == Dims{6, 4});
}

TEST_CASE("layout: errors name the expected and the actual value") {
  const Layout base = Layout::contiguous({2, 3});
  CHECK_THROWS_WITH_AS(base.slice(1, 2, 4), "slice: 2 to 4 is out of range for axis 1 of shape (2, 3)", Error);
  CHECK_THROWS_WITH_AS(base.transpose(0, 2), "transpose: axis 2 is out of range for shape (2, 3)", Error);
  CHECK_THROWS_WITH_AS(base.reshape({4, 2}), "reshape: cannot view (2, 3) (6 elements) as (4, 2)", Error);
  CHECK_THROWS_WITH_AS(Layout::contiguous({1, 3}).expand({-1, 3}),
                       "expand: cannot expand (1, 3) to (-1, 3): a size is negative", Error);
  CHECK_THROWS_WITH_AS(base.expand({3, 3}), "expand: cannot expand (2, 3) to (3, 3): size 2 against 3", Error);
  CHECK_THROWS_WITH_AS(base.permute({0, 0}), "permute: axis 0 stands twice in order (0, 0)", Error);
  CHECK_THROWS_WITH_AS(broadcast_sizes({2, 3}, {2, 4}, "add"),
                       "add: a is (2, 3), b is (2, 4): sizes 3 and 4 cannot be broadcast together", Error);
}
