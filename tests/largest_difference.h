// How far apart two rows of numbers are.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

// The largest |a[i] − b[i]|; infinite when the sizes differ or a difference is not a number, which std::max passes
// over.
template <class A, class B>
double largest_difference(const std::vector<A>& a, const std::vector<B>& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return kInfinity;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    largest = std::max(largest, std::isnan(difference) ? kInfinity : difference);
  }
  return largest;
}
