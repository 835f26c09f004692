// Shared by the tests of kernels: arrays at unaligned addresses, differences from a reference in double, and loops over
// instruction sets and numbers of threads.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "autograd/kernels/simd/simd.h"
#include "core/parallel.h"
#include "core/random.h"
// After simd.h, which chooses the targets.
#include "hwy/targets.h"

namespace tapeformer {

// n elements; the first is one element past an aligned address, and no memory is allocated after the last. They are NaN
// at first, which shows if a kernel reads an output that it should only write.
template <class T>
class Array {
 public:
  explicit Array(std::int64_t n, T value = std::numeric_limits<T>::quiet_NaN()) : elements_(n + 1, value) {}
  T* data() { return elements_.data() + 1; }
  const T* data() const { return elements_.data() + 1; }
  operator T*() { return data(); }
  operator const T*() const { return data(); }
  T& operator[](std::int64_t i) { return data()[i]; }
  const T& operator[](std::int64_t i) const { return data()[i]; }
  std::int64_t size() const { return static_cast<std::int64_t>(elements_.size()) - 1; }

 private:
  std::vector<T> elements_;
};

// n random numbers, uniform in [low, high).
template <class T>
std::vector<T> random_values(std::int64_t n, std::uint64_t stream, double low = -2, double high = 2) {
  std::vector<T> values(n);
  RandomStream random(RandomKey{.seed = 1, .stream = stream});
  for (T& value : values) value = static_cast<T>(low + (high - low) * random.uniform());
  return values;
}
template <class T>
Array<T> random_array(std::int64_t n, std::uint64_t stream, double low = -2, double high = 2) {
  const std::vector<T> values = random_values<T>(n, stream, low, high);
  Array<T> array(n);
  std::copy(values.begin(), values.end(), array.data());
  return array;
}

// 0 for the same value (or two NaN), infinity where only one is NaN or the infinities differ.
inline double difference(double got, double expected) {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return 0;
  const double difference = std::abs(got - expected);
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

// The largest |got − expected(i)| / max(1, |expected(i)|).
template <class T, class F>
double worst_error(const Array<T>& got, const F& expected) {
  double worst = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double value = static_cast<double>(expected(i));
    worst = std::max(worst, difference(got[i], value) / std::max(1.0, std::isinf(value) ? 1.0 : std::abs(value)));
  }
  return worst;
}

// The largest |got − expected(i)| in units of T's spacing at expected(i), over elements that differ by more than
// `absolute`.
template <class T, class F>
double worst_ulps(const Array<T>& got, const F& expected, double absolute = 0) {
  double worst = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double value = static_cast<double>(expected(i)), off = difference(got[i], value);
    if (off <= absolute) continue;
    if (std::isinf(off)) return off;  // divided by the spacing of an infinity it would not be a number
    const T magnitude = std::abs(static_cast<T>(value));
    worst = std::max(worst, off / (std::nextafter(magnitude, std::numeric_limits<T>::infinity()) - magnitude));
  }
  return worst;
}

template <class T>
bool same_bits(const Array<T>& a, const Array<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// A few rounding errors of T, for kernels with short sums.
template <class T>
constexpr double kTolerance = 8 * std::numeric_limits<T>::epsilon();

// Lengths with every tail, of several chunks, and some between.
inline std::vector<std::int64_t> test_sizes() {
  std::vector<std::int64_t> sizes{1000, kernels::kGrain, 2 * kernels::kGrain + 77};
  for (std::int64_t n = 0; n <= 70; ++n) sizes.push_back(n);
  return sizes;
}

// kernel(out, beta) must make beta·out + expected(i) of n elements, and with beta 0 overwrite whatever was there.
template <class T, class K, class F>
void check_accumulates(std::int64_t n, const K& kernel, const F& expected, double tolerance = kTolerance<T>) {
  for (T beta : {T{0}, T{1}, T{0.5}}) {
    CAPTURE(n);
    CAPTURE(beta);
    const Array<T> before = random_array<T>(n, 99);
    Array<T> out = beta == 0 ? Array<T>(n) : before;
    kernel(out.data(), beta);
    CHECK(worst_error(out, [&](std::int64_t i) {
            return double{beta} * before[i] + static_cast<double>(expected(i));
          }) <= tolerance);
  }
}

// kernel(y, x, n) must give each element the same bits at every place in the array.
template <class T, class K>
void check_position_does_not_matter(const Array<T>& x, const K& kernel) {
  const std::int64_t n = x.size();
  Array<T> y(n);
  kernel(y, x, n);
  for (std::int64_t offset = 1; offset <= 17; ++offset) {
    Array<T> shifted(n);
    std::copy(y.data(), y.data() + offset, shifted.data());
    kernel(shifted.data() + offset, x.data() + offset, n - offset);
    CAPTURE(offset);
    CHECK(same_bits(shifted, y));
  }
}

// Calls f under each instruction set that this binary has and this CPU can run.
template <class F>
void for_each_simd_target(const F& f) {
  const struct Restore {
    ~Restore() { hwy::SetSupportedTargetsForTest(0); }
  } restore;
  for (std::int64_t left = (hwy::SupportedTargets() | HWY_STATIC_TARGET) & HWY_TARGETS; left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    hwy::SetSupportedTargetsForTest(target);
    INFO("instruction set ", std::string(hwy::TargetName(target)));
    f();
  }
}

// Calls f, which returns an Array, with 1, 2 and 3 threads: the bits must be the same.
template <class F>
void check_same_for_any_thread_count(const F& f) {
  const struct Restore {
    int threads = thread_count();
    ~Restore() { set_thread_count(threads); }
  } restore;
  set_thread_count(1);
  const auto expected = f();
  for (int threads : {2, 3}) {
    set_thread_count(threads);
    INFO(threads, " threads");
    CHECK(same_bits(f(), expected));
  }
}

}  // namespace tapeformer
