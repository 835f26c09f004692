#include "report/principal_components.h"

#include <lapack.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace tapeformer {
namespace {

// Returns the dot products of all pairs of centred vectors, (n, n).
std::vector<double> centred_products(const Tensor& vectors) {
  const std::int64_t n = vectors.size(0), width = vectors.size(1);
  const float* const x = vectors.data<float>();
  std::vector<double> centred(n * width);
  for (std::int64_t j = 0; j < width; ++j) {
    double mean = 0;
    for (std::int64_t i = 0; i < n; ++i) mean += x[i * width + j];
    mean /= static_cast<double>(n);
    for (std::int64_t i = 0; i < n; ++i) centred[i * width + j] = x[i * width + j] - mean;
  }
  std::vector<double> products(n * n);
  for (std::int64_t a = 0; a < n; ++a) {
    for (std::int64_t b = 0; b <= a; ++b) {
      double sum = 0;
      for (std::int64_t j = 0; j < width; ++j) sum += centred[a * width + j] * centred[b * width + j];
      products[a * n + b] = products[b * n + a] = sum;
    }
  }
  return products;
}

}  // namespace

PrincipalComponents principal_components(const Tensor& vectors) {
  const std::int64_t n = vectors.size(0);
  std::vector<double> matrix = centred_products(vectors), values(n);
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += matrix[i * n + i];
  const int size = static_cast<int>(n), work_size = 3 * size;
  std::vector<double> work(work_size);
  int info = 0;
  // dsyev computes the eigenvalues, in ascending order, and the eigenvectors of a symmetric matrix.
  LAPACK_dsyev("V", "U", &size, matrix.data(), &size, values.data(), work.data(), &work_size, &info);
  check(info == 0, "the principal components were not found (LAPACK's dsyev: ", info, ")");

  PrincipalComponents found{std::vector<std::array<double, 2>>(n), {}};
  for (std::int64_t axis = 0; axis < std::min<std::int64_t>(2, n); ++axis) {
    const std::int64_t index = n - 1 - axis;  // the largest eigenvalues come last
    const double variance = std::max(values[index], 0.0);
    const double* const direction = &matrix[index * n];
    const double* const first = std::find_if(direction, direction + n, [](double x) { return std::abs(x) > 1e-9; });
    const double scale = std::sqrt(variance) * (first != direction + n && *first < 0 ? -1 : 1);
    for (std::int64_t i = 0; i < n; ++i) found.coordinates[i][axis] = scale * direction[i];
    found.shares[axis] = total > 0 ? variance / total : 0;
  }
  return found;
}

}  // namespace tapeformer
