// Every way to multiply bf16 that can be tested on this machine.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "autograd/kernels/gemm/bf16/amx_product.h"
#include "autograd/kernels/gemm/precision.h"

namespace tapeformer {

// x rounded to bf16 by its definition, in double: 8 significant bits, ties to even, subnormal numbers to zero.
inline double rounded(double x) {
  if (x == 0 || std::abs(x) < std::numeric_limits<float>::min()) return 0;
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8);
}

// The tiles of AMX in plain C++, so that the code for AMX runs on every CPU.
struct EmulatedTiles {
  static inline thread_local float memory[8][16][16];

  template <int kTile>
  static void zero() {
    std::memset(memory[kTile], 0, sizeof(memory[kTile]));
  }
  template <int kTile>
  static void load(const void* from, std::int64_t row_bytes) {
    for (int i = 0; i < 16; ++i) std::memcpy(memory[kTile][i], static_cast<const char*>(from) + i * row_bytes, 64);
  }
  template <int kTile>
  static void store(float* to, std::int64_t row_bytes) {
    for (int i = 0; i < 16; ++i) std::memcpy(reinterpret_cast<char*>(to) + i * row_bytes, memory[kTile][i], 64);
  }
  template <int kSums, int kLeft, int kRight>
  static void add_product() {
    for (int i = 0; i < 16; ++i) {
      for (int p = 0; p < 16; ++p) {
        const auto a = std::bit_cast<std::uint32_t>(memory[kLeft][i][p]);
        const float even = std::bit_cast<float>(a << 16), odd = std::bit_cast<float>(a & 0xFFFF0000);
        for (int j = 0; j < 16; ++j) {
          const auto b = std::bit_cast<std::uint32_t>(memory[kRight][p][j]);
          memory[kSums][i][j] += even * std::bit_cast<float>(b << 16);
          memory[kSums][i][j] += odd * std::bit_cast<float>(b & 0xFFFF0000);
        }
      }
    }
  }
};

inline const kernels::Bf16Unit& emulated_amx_unit() {
  static const kernels::Bf16Unit unit = [] {
    kernels::Bf16Unit made = kernels::software_bf16_unit();
    made.name = "AMX, emulated";
    made.rows = kernels::kAmxRows, made.depth = kernels::kAmxDepth, made.row_distance = kernels::kAmxRowDistance;
    made.multiply = kernels::multiply_by_tiles<EmulatedTiles>;
    return made;
  }();
  return unit;
}

// Every unit that this machine can run.
inline std::vector<const kernels::Bf16Unit*> bf16_units() {
  std::vector<const kernels::Bf16Unit*> all{&kernels::software_bf16_unit(), &emulated_amx_unit()};
  for (const kernels::Bf16Unit* unit : {kernels::avx512_bf16_unit(), kernels::amx_unit()}) {
    if (unit) all.push_back(unit);
  }
  return all;
}

// While it lives, bf16_unit() is this one.
class ForcedBf16Unit {
 public:
  explicit ForcedBf16Unit(const kernels::Bf16Unit& unit) { kernels::force_bf16_unit(&unit); }
  ~ForcedBf16Unit() { kernels::force_bf16_unit(nullptr); }
  ForcedBf16Unit(const ForcedBf16Unit&) = delete;
  ForcedBf16Unit& operator=(const ForcedBf16Unit&) = delete;
};

// Calls f() with every unit as bf16_unit().
template <class F>
void for_each_bf16_unit(const F& f) {
  for (const kernels::Bf16Unit* unit : bf16_units()) {
    INFO(unit->name);
    const ForcedBf16Unit forced(*unit);
    f();
  }
}

// Calls f() under every precision but the highest, on every unit.
template <class F>
void for_each_bf16_product(const F& f) {
  for_each_bf16_unit([&] {
    for (const auto precision : {kernels::MatmulPrecision::high, kernels::MatmulPrecision::medium}) {
      INFO("precision ", static_cast<int>(precision));
      const kernels::MatmulPrecisionScope scope(precision);
      f();
    }
  });
}

}  // namespace tapeformer
