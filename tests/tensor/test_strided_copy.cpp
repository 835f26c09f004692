#include "autograd/tensor/strided_copy.h"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "core/parallel.h"
#include "core/random.h"

using namespace tapeformer;

namespace {

// The storage position of every element in row-major order, by counting through all axes.
std::vector<std::int64_t> positions(const Layout& layout) {
  std::vector<std::int64_t> found;
  Dims at = Dims::filled(layout.rank(), 0);
  for (std::int64_t n = layout.numel(); n > 0; --n) {
    std::int64_t position = layout.offset;
    for (int i = 0; i < layout.rank(); ++i) position += at[i] * layout.strides[i];
    found.push_back(position);
    for (int i = layout.rank() - 1; i >= 0; --i) {
      if (++at[i] < layout.sizes[i]) break;
      at[i] = 0;
    }
  }
  return found;
}

std::int64_t storage_size(const Layout& layout) {
  std::int64_t last = layout.offset;
  for (int i = 0; i < layout.rank(); ++i) last += std::max<std::int64_t>(0, layout.sizes[i] - 1) * layout.strides[i];
  return last + 1;
}

template <class T>
std::vector<T> counted(std::int64_t n) {
  std::vector<T> values(n);
  std::iota(values.begin(), values.end(), T{1});
  return values;
}

template <class T>
void check_copy(const Layout& layout) {
  const std::vector<T> in = counted<T>(storage_size(layout));
  std::vector<T> out(layout.numel()), expected;
  for (std::int64_t position : positions(layout)) expected.push_back(in[position]);
  copy_to_contiguous(out.data(), in.data(), layout);
  CHECK_MESSAGE(out == expected, "sizes ", layout.sizes, ", strides ", layout.strides);
}

template <class T>
void check_accumulate(const Layout& layout, T beta) {
  const std::vector<T> x = counted<T>(layout.numel());
  std::vector<T> out = counted<T>(storage_size(layout));
  std::vector<T> expected = out;
  const std::vector<std::int64_t> places = positions(layout);
  for (std::size_t i = 0; i < places.size(); ++i) {
    T& to = expected[places[i]];
    to = beta == 0 ? x[i] : beta * to + x[i];
    if (beta == 0) out[places[i]] = std::numeric_limits<T>::quiet_NaN();
  }
  accumulate_strided(out.data(), layout, x.data(), beta);
  CHECK_MESSAGE(out == expected, "sizes ", layout.sizes, ", strides ", layout.strides, ", beta ", beta);
}

// Returns whether each element has a place of its own.
bool is_injective(const Layout& layout) {
  for (int i = 0; i < layout.rank(); ++i) {
    if (layout.sizes[i] > 1 && layout.strides[i] == 0) return false;
  }
  return true;
}

void check_all(const Layout& layout) {
  check_copy<float>(layout);
  check_copy<double>(layout);
  check_copy<std::int32_t>(layout);
  if (!is_injective(layout)) return;
  check_accumulate<float>(layout, 0);
  check_accumulate<float>(layout, 1);
  check_accumulate<double>(layout, 2);
}

Layout random_layout(RandomStream& random) {
  const int rank = static_cast<int>(random.below(6));
  Dims sizes, order;
  for (int i = 0; i < rank; ++i) {
    sizes.push_back(1 + random.below(rank <= 2 ? 90 : rank == 3 ? 40 : 9));
    order.push_back(i);
  }
  for (int i = rank - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  Layout layout = Layout::contiguous(sizes);
  for (int i = 0; i < rank; ++i) {
    if (random.below(3) != 0) continue;
    const std::int64_t start = random.below(layout.sizes[i]);
    layout = layout.slice(i, start, layout.sizes[i], 1 + random.below(3));
  }
  layout = layout.permute(order);
  if (rank > 0 && random.below(3) == 0) {
    const int i = static_cast<int>(random.below(rank));
    Dims to = layout.sizes;
    layout = layout.slice(i, 0, 1);
    to[i] = 1 + random.below(5);
    layout = layout.expand(to);
  }
  return layout;
}

}  // namespace

TEST_CASE("copy: random views, permuted, sliced and expanded, against plain counting") {
  RandomStream random(RandomKey{.seed = 3});
  for (int i = 0; i < 600; ++i) check_all(random_layout(random));
}

TEST_CASE("copy: views large enough to run in parallel, for every number of threads") {
  const int before = thread_count();
  for (int threads : {1, 2, 3}) {
    set_thread_count(threads);
    check_all(Layout::contiguous({70001}));
    check_all(Layout::contiguous({3, 40000}).slice(1, 5, 39000));
    check_all(Layout::contiguous({300, 333}).transpose(0, 1));
    check_all(Layout::contiguous({2, 64, 3, 4, 40}).slice(2, 1, 2).permute({0, 3, 2, 1, 4}));
    check_all(Layout::contiguous({2, 64, 4, 40}).permute({0, 2, 3, 1}));
    check_all(Layout::contiguous({1, 200}).expand({150, 200}));
    check_all(Layout::contiguous({200, 1}).expand({200, 150}));
  }
  set_thread_count(before);
}

TEST_CASE("copy: no elements, and a single element") {
  check_all(Layout::contiguous({}));
  check_all(Layout::contiguous({3, 0, 2}).transpose(0, 2));
  check_all(Layout::contiguous({5, 5}).slice(0, 2, 3).slice(1, 4, 5));
}
