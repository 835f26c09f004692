// The beginning of every kernel that is written with Highway. Such a .cpp is compiled once per instruction set
// (AVX-512, AVX2 and plain C++), and the best one that the CPU has is chosen at run time. Kernels of double, which
// serve gradient checks, tests and a few sums of evaluations, are compiled once, for the instruction set that every CPU
// has: they would double the time of a build. The pattern:
//
//   #include "autograd/kernels/simd/simd-inl.h"
//
//   HWY_BEFORE_NAMESPACE();
//   namespace tapeformer::kernels::HWY_NAMESPACE {
//   template <class T> void square(T* y, const T* x, std::int64_t n) { … vectors, on the calling thread … }
//   SIMD_FLOATS(square);
//   }
//   HWY_AFTER_NAMESPACE();
//
//   #if HWY_ONCE
//   namespace tapeformer::kernels {
//   SIMD_EXPORT(square);
//   template <class T> void square(T* y, const T* x, std::int64_t n) {
//     parallel_for(0, n, kGrain, [&](auto i, auto end) { SIMD_CALL(square, T)(y + i, x + i, end - i); });
//   }
//   SIMD_INSTANTIATE(square);
//   }
//   #endif
//
// CMakeLists.txt makes one unit of several such files (simd_unit.cpp.in), which Highway includes again for each
// instruction set: its headers are read once for all of them. So names in HWY_NAMESPACE must differ within a unit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#ifdef HWY_TARGETS
#error "simd.h comes before Highway's headers: it chooses the targets"
#endif
// Further targets that a build does not want: one under sanitizers compiles for the widest and the narrowest vectors.
#ifndef TAPEFORMER_LEFT_OUT
#define TAPEFORMER_LEFT_OUT 0
#endif
// SSSE3 and SSE4 gain too little for their compile time: CPUs without AVX2 are older than 2013. Vectors of SVE and RVV,
// whose size is known only at run time, cannot be members of a struct (Arm runs NEON code).
#define HWY_DISABLED_TARGETS \
  (TAPEFORMER_LEFT_OUT | HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

namespace tapeformer::kernels {

// The number of elements of an elementwise loop that are worth a chunk. It is a multiple of the length of every vector
// and cache line, so that chunks change neither alignment nor tails.
inline constexpr std::int64_t kGrain = 1 << 14;

// The same for loops over rows or tasks of `cols` elements each.
inline std::int64_t rows_per_chunk(std::int64_t cols) {
  return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, cols));
}

template <class T, class F32, class F64>
constexpr auto choose_by_type(F32 f32, F64 f64) {
  if constexpr (std::is_same_v<T, float>) return f32;
  if constexpr (std::is_same_v<T, double>) return f64;
}

}  // namespace tapeformer::kernels

// SIMD_FLOATS(name), in simd-inl.h, makes a target's instances of a template and names them NAME_f32 and NAME_f64.
#define SIMD_EXPORT(name) HWY_EXPORT(name##_f32)
// The instance for T to be called: that of the best target for float, that of the static one for double.
#define SIMD_CALL(name, T) (*choose_by_type<T>(&HWY_DYNAMIC_DISPATCH(name##_f32), &HWY_STATIC_DISPATCH(name##_f64)))
// Instances of the template that the header declares.
#define SIMD_INSTANTIATE(name)                \
  template decltype(name<float>) name<float>; \
  template decltype(name<double>) name<double>
