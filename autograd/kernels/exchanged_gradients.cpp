#include "autograd/kernels/exchanged_gradients.h"

#include <algorithm>
#include <type_traits>

#include "core/parallel.h"

namespace tapeformer::kernels {
namespace {

constexpr std::int64_t kExchangeGrain = 1 << 14;  // elements in a chunk of a parallel loop

// Calls f(i) for every i of [0, n).
template <class F>
void for_each(std::int64_t n, const F& f) {
  parallel_for(0, n, kExchangeGrain, [&](std::int64_t i, std::int64_t end) {
    for (; i < end; ++i) f(i);
  });
}

}  // namespace

template <class T, class W>
void add_pieces(T* sums, const W* mine, const W* received, std::int64_t count, int rank, int ranks) {
  const auto widened = [](W value) {
    if constexpr (std::is_same_v<W, Bf16>) {
      return static_cast<T>(widen(value));
    } else {
      return value;
    }
  };
  parallel_for(0, count, kExchangeGrain, [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t kBlock = 1 << 9;
    T block[kBlock];
    for (; begin < end; begin += kBlock) {
      const std::int64_t length = std::min(kBlock, end - begin);
      for (int r = 0; r < ranks; ++r) {
        const W* const piece = (r == rank ? mine : received + r * count) + begin;
        if (r == 0) {
          for (std::int64_t k = 0; k < length; ++k) block[k] = widened(piece[k]);
        } else {
          for (std::int64_t k = 0; k < length; ++k) block[k] += widened(piece[k]);
        }
      }
      std::copy_n(block, length, sums + begin);
    }
  });
}
template void add_pieces(float*, const float*, const float*, std::int64_t, int, int);
template void add_pieces(float*, const Bf16*, const Bf16*, std::int64_t, int, int);
template void add_pieces(double*, const double*, const double*, std::int64_t, int, int);
template void add_pieces(double*, const Bf16*, const Bf16*, std::int64_t, int, int);

template <class T>
void round_all(Bf16* rounded, const T* values, std::int64_t count) {
  for_each(count, [&](std::int64_t k) { rounded[k] = round_to_bf16(static_cast<float>(values[k])); });
}
template void round_all(Bf16*, const float*, std::int64_t);
template void round_all(Bf16*, const double*, std::int64_t);

template <class T>
void take_changes(Bf16* rounded, T* values, const T* before, std::int64_t count) {
  for_each(count, [&](std::int64_t k) {
    rounded[k] = round_to_bf16(static_cast<float>(values[k] - before[k]));
    values[k] = before[k];
  });
}
template void take_changes(Bf16*, float*, const float*, std::int64_t);
template void take_changes(Bf16*, double*, const double*, std::int64_t);

template <class T>
void add_changes(T* values, const Bf16* changes, std::int64_t count) {
  for_each(count, [&](std::int64_t k) { values[k] += widen(changes[k]); });
}
template void add_changes(float*, const Bf16*, std::int64_t);
template void add_changes(double*, const Bf16*, std::int64_t);

}  // namespace tapeformer::kernels
