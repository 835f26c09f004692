#include "nn/module/init.h"

#include <cmath>
#include <numbers>

#include "core/parallel.h"

namespace tapeformer {
namespace {

constexpr std::int64_t kGrain = 1 << 14;

// Returns two uniform numbers, in (0, 1] and in [0, 1), from the four words of one block.
std::array<double, 2> uniform_pair(const RandomKey& key, std::uint64_t block) {
  const auto words = key.words(block);
  const auto unit = [](std::uint32_t high, std::uint32_t low) {
    return static_cast<double>((std::uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
  };
  return {1.0 - unit(words[0], words[1]), unit(words[2], words[3])};
}

// Returns a standard normal number (Box-Muller).
double normal_of(double u, double v) { return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v); }

// Calls fill(i, u, v) for each element i with its pair of uniform numbers.
template <class Fill>
void for_each_random(std::int64_t n, const RandomKey& key, const Fill& fill) {
  parallel_for(0, n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto [u, v] = uniform_pair(key, static_cast<std::uint64_t>(i));
      fill(i, u, v);
    }
  });
}

}  // namespace

void initialize(const Tensor& tensor, const Init& init, const RandomKey& key) {
  tensor.mark_changed();
  if (init.kind == Init::Kind::constant) tensor.fill(init.value);
  dispatch_floating(tensor.dtype(), [&]<class T>(T) {
    T* data = tensor.span<T>().data();
    const auto fill_uniform = [&](double bound) {
      for_each_random(tensor.numel(), key,
                      [&](std::int64_t i, double, double v) { data[i] = static_cast<T>(bound * (2 * v - 1)); });
    };
    switch (init.kind) {
      case Init::Kind::constant:
        break;
      case Init::Kind::normal:
        for_each_random(tensor.numel(), key, [&](std::int64_t i, double u, double v) {
          data[i] = static_cast<T>(init.value * normal_of(u, v));
        });
        break;
      case Init::Kind::truncated_normal:
        for_each_random(tensor.numel(), key, [&](std::int64_t i, double u, double v) {
          double z = normal_of(u, v);
          for (std::uint64_t block = i; std::abs(z) > 2;) {
            const auto [next_u, next_v] = uniform_pair(key, block += tensor.numel());
            z = normal_of(next_u, next_v);
          }
          data[i] = static_cast<T>(init.value * z);
        });
        break;
      case Init::Kind::uniform:
        fill_uniform(init.value);
        break;
      case Init::Kind::xavier_uniform:
        check(tensor.rank() == 2, "xavier_uniform: expected a matrix, got ", tensor.sizes());
        fill_uniform(std::sqrt(6.0 / static_cast<double>(tensor.size(0) + tensor.size(1))));
        break;
    }
    for (std::int64_t i = init.shift.begin; i < init.shift.end; ++i) data[i] += static_cast<T>(init.shift.value);
  });
}

}  // namespace tapeformer
