// bf16 products by tiles of AMX (Intel, since Sapphire Rapids).
#include "autograd/kernels/gemm/bf16/bf16_unit_functions.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hwy/base.h"

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16")
// Here, so that its template is compiled for these instructions too, and the tiles' functions are inlined into it.
#include "autograd/kernels/gemm/bf16/amx_product.h"

namespace tapeformer::kernels {
namespace {

// The intrinsics take the number of a tile as a literal.
struct AmxTiles {
#define TAPEFORMER_FOR_TILE(DO)    \
  if constexpr (kTile == 0) DO(0); \
  if constexpr (kTile == 1) DO(1); \
  if constexpr (kTile == 2) DO(2); \
  if constexpr (kTile == 3) DO(3); \
  if constexpr (kTile == 4) DO(4); \
  if constexpr (kTile == 5) DO(5); \
  if constexpr (kTile == 6) DO(6); \
  if constexpr (kTile == 7) DO(7)
  template <int kTile>
  static void zero() {
#define DO(t) _tile_zero(t)
    TAPEFORMER_FOR_TILE(DO);
#undef DO
  }
  template <int kTile>
  static void load(const void* from, std::int64_t row_bytes) {
    // GCC's intrinsic does not say that it reads memory, so that what is written to it could be written too late.
    asm volatile("" ::: "memory");
#define DO(t) _tile_loadd(t, from, row_bytes)
    TAPEFORMER_FOR_TILE(DO);
#undef DO
  }
  template <int kTile>
  static void store(float* to, std::int64_t row_bytes) {
#define DO(t) _tile_stored(t, to, row_bytes)
    TAPEFORMER_FOR_TILE(DO);
#undef DO
  }
  template <int kSums, int kLeft, int kRight>
  static void add_product() {
    if constexpr (kSums == 0) _tile_dpbf16ps(0, 4, 6);
    if constexpr (kSums == 1) _tile_dpbf16ps(1, 4, 7);
    if constexpr (kSums == 2) _tile_dpbf16ps(2, 5, 6);
    if constexpr (kSums == 3) _tile_dpbf16ps(3, 5, 7);
  }
#undef TAPEFORMER_FOR_TILE
};

void multiply(float* c, std::int64_t ldc, const Bf16* row_panel, const Bf16* column_panel, std::int64_t rows,
              std::int64_t columns, std::int64_t depth, float alpha, float beta) {
  multiply_by_tiles<AmxTiles>(c, ldc, row_panel, column_panel, rows, columns, depth, alpha, beta);
}

// The layout of the tiles as the processor reads it: palette 1, and for each tile its rows and the bytes of a row.
struct alignas(64) TileLayout {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileLayout) == 64);
// Not a local variable: GCC's intrinsic says that it reads the first eight bytes only, so the others could be left out.
constexpr TileLayout kTileLayout;

void configure_tiles() { _tile_loadconfig(&kTileLayout); }
void release_tiles() { _tile_release(); }

}  // namespace
}  // namespace tapeformer::kernels
HWY_POP_ATTRIBUTES

namespace tapeformer::kernels {
namespace {

// Linux saves the state of tiles only for processes that have asked for it.
bool may_use_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kAmxBf16 = 1U << 22, kAmxTile = 1U << 24;
  if (!has_avx512_bf16() || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  if (!(d & kAmxBf16) || !(d & kAmxTile)) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

const Bf16Unit* amx_unit() {
  static const Bf16Unit unit{.name = "AMX",
                             .rows = kAmxRows,
                             .depth = kAmxDepth,
                             .row_distance = kAmxRowDistance,
                             .pack_rows = pack_rows_avx512,
                             .pack_columns = pack_columns_avx512,
                             .pack_rounded_columns = pack_rounded_columns_avx512,
                             .multiply = multiply,
                             .multiply_few_rows = multiply_few_rows_avx512,
                             .round_and_multiply_few_rows = round_and_multiply_few_rows_avx512,
                             .begin = configure_tiles,
                             .end = release_tiles};
  static const bool present = may_use_tiles();
  return present ? &unit : nullptr;
}

}  // namespace tapeformer::kernels

#else

namespace tapeformer::kernels {
const Bf16Unit* amx_unit() { return nullptr; }
}  // namespace tapeformer::kernels

#endif
