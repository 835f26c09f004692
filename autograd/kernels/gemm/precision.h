// How exactly products of f32 matrices are computed.
#pragma once

#include <string_view>
#include <utility>

#include "core/keys.h"

namespace tapeformer::kernels {

// The words of PyTorch's set_float32_matmul_precision, and `low`. Sums are kept in f32, those of 8 bits exactly.
enum class MatmulPrecision {
  highest,  // in f32
  high,     // each operand as the sum of two bf16, by three products: nearly f32
  medium,   // operands rounded to bf16
  low,      // as medium, but linear layers compute x·Wᵀ and dy·W with operands rounded to 8 bits (int8_gemm.h), and
            // dW = dyᵀ·x as medium does (Wortsman et al. 2023, "Stable and low-precision training", SwitchBack)
};
// Whether products that have no rule of their own round their operands to bf16.
constexpr bool rounds_to_bf16(MatmulPrecision precision) {
  return precision == MatmulPrecision::medium || precision == MatmulPrecision::low;
}

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
      {highest, "highest"}, {high, "high"}, {medium, "medium"}, {low, "low"}};
};
