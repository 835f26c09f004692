// How exactly products of f32 matrices are computed.
#pragma once

#include <string_view>
#include <utility>

#include "core/keys.h"

namespace tapeformer::kernels {

// The words of PyTorch's set_float32_matmul_precision. Sums are always kept in f32.
enum class MatmulPrecision {
  highest,  // in f32
  high,     // each operand as the sum of two bf16, by three products: nearly f32
  medium,   // operands rounded to bf16
};

// While an object lives, the products of f32 matrices and attention that its thread starts have this precision.
// Products of f64 matrices do not change.
class MatmulPrecisionScope {
 public:
  explicit MatmulPrecisionScope(MatmulPrecision precision) : before_(std::exchange(current_, precision)) {}
  ~MatmulPrecisionScope() { current_ = before_; }
  MatmulPrecisionScope(const MatmulPrecisionScope&) = delete;
  MatmulPrecisionScope& operator=(const MatmulPrecisionScope&) = delete;

  // On the calling thread; `highest` outside of any scope. A parallel loop does not hand it on to other threads: ask
  // before the loop.
  static MatmulPrecision current() { return current_; }

 private:
  static inline thread_local MatmulPrecision current_ = MatmulPrecision::highest;
  MatmulPrecision before_;
};

}  // namespace tapeformer::kernels

template <>
struct tapeformer::Words<tapeformer::kernels::MatmulPrecision> {
  using enum kernels::MatmulPrecision;
  static constexpr std::pair<kernels::MatmulPrecision, std::string_view> list[] = {
      {highest, "highest"}, {high, "high"}, {medium, "medium"}};
};
