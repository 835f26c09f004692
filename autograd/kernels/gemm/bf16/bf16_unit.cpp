#include "autograd/kernels/gemm/bf16/bf16_unit.h"

#include <atomic>

namespace tapeformer::kernels {
namespace {

std::atomic<const Bf16Unit*> forced = nullptr;

const Bf16Unit& fastest_unit() {
  for (const Bf16Unit* unit : {amx_unit(), avx512_bf16_unit()}) {
    if (unit) return *unit;
  }
  return software_bf16_unit();
}

}  // namespace

const Bf16Unit& bf16_unit() {
  static const Bf16Unit& fastest = fastest_unit();
  const Bf16Unit* const chosen = forced.load(std::memory_order_relaxed);
  return chosen ? *chosen : fastest;
}

void force_bf16_unit(const Bf16Unit* unit) { forced.store(unit, std::memory_order_relaxed); }

}  // namespace tapeformer::kernels
