// Element types of tensors.
#pragma once

#include <cstdint>
#include <ostream>
#include <type_traits>

#include "autograd/kernels/gemm/q8/q8.h"
#include "core/error.h"

namespace tapeformer {

// f32 is for training, f64 for gradient checks, i32 for token ids. bf16 (in C++ the bits, kernels::Bf16) is for weights
// that are only read: matrix products and embeddings take it, other ops do not; and for the state of optimizers, as u8
// is, whose numbers are codes. q8_0 (in C++ std::int8_t) is for weights that are only read, too: after the elements
// come their scales (kernels::Q8Rows), so that only whole tensors of whole blocks have it.
enum class DType { f32, f64, i32, bf16, u8, q8_0 };

template <class T>
constexpr DType dtype_of() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t> ||
                std::is_same_v<T, kernels::Bf16> || std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::int8_t>);
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  if constexpr (std::is_same_v<T, kernels::Bf16>) return DType::bf16;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::u8;
  if constexpr (std::is_same_v<T, std::int8_t>) return DType::q8_0;
  return DType::i32;
}

// The bytes of an element; of q8_0 without its scale.
constexpr std::int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
      return 2;
    case DType::u8:
    case DType::q8_0:
      return 1;
  }
  return 0;
}
// The bytes of so many elements.
constexpr std::int64_t bytes_of(DType dtype, std::int64_t count) {
  const std::int64_t scales = dtype == DType::q8_0 ? count / kernels::kQ8Block : 0;
  return count * size_of(dtype) + scales * static_cast<std::int64_t>(sizeof(kernels::F16));
}
// Whether ops compute in the dtype.
constexpr bool is_floating(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

inline const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::i32:
      return "i32";
    case DType::bf16:
      return "bf16";
    case DType::u8:
      return "u8";
    case DType::q8_0:
      return "q8_0";
  }
  return "?";
}

inline std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }

// Calls f(T{}) with the C++ type of a floating dtype: `dispatch_floating(x.dtype(), [&](auto zero) { using T =
// decltype(zero); … })`. Throws Error for the others.
template <class F>
decltype(auto) dispatch_floating(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::i32:
    case DType::bf16:
    case DType::u8:
    case DType::q8_0:
      break;
  }
  fail("expected a floating-point tensor (f32 or f64), got ", dtype);
}

// The same for i32 as well. Throws Error for the others.
template <class F>
decltype(auto) dispatch_all(DType dtype, F&& f) {
  if (dtype == DType::i32) return f(std::int32_t{});
  return dispatch_floating(dtype, f);
}

// Calls f with a value of any dtype but q8_0: for code that moves elements and does not compute with them.
template <class F>
decltype(auto) dispatch_stored(DType dtype, F&& f) {
  if (dtype == DType::bf16) return f(kernels::Bf16{});
  if (dtype == DType::u8) return f(std::uint8_t{});
  return dispatch_all(dtype, f);
}

}  // namespace tapeformer
