#include "autograd/kernels/gemm/bf16/bf16_gemm.h"

#include <algorithm>
#include <utility>

#include "autograd/kernels/gemm/bf16/bf16_panels.h"
#include "autograd/kernels/scratch.h"
#include "core/error.h"
#include "core/parallel.h"

namespace tapeformer::kernels {
namespace {

// Packed at a time: at most 4 MiB for all threads, which stay in L3, and 512 KiB by a task, which stay in L2; but at
// least one block.
constexpr std::int64_t kSharedElements = 1 << 21, kOwnElements = 1 << 18;
// A task has at most so many panels. Each of them meets every shared panel while that one is in L1: the more panels a
// task has, the less often a shared one comes from L3.
constexpr std::int64_t kMostPanels = 8;
constexpr std::int64_t kTasksPerThread = 4;
// An operand of no more elements (2 MiB of f32) is in a cache anyway: to fetch it would only take instructions.
constexpr std::int64_t kCachedElements = 1 << 19;

// Prefetches share `part` of `parts` of the elements [begin, end) of k of one panel, which will be packed soon. It is
// inlined by force: g++ 12 takes a function that only prefetches for one without effects, and removes its calls.
template <class T>
[[gnu::always_inline]] inline void prefetch_panel(PackSourceOf<T> source, const PanelLayout& layout, std::int64_t panel,
                                                  std::int64_t begin, std::int64_t end, std::int64_t part,
                                                  std::int64_t parts) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  constexpr int kRead = 0, kIntoL2 = 2;
  std::int64_t first = panel * layout.panel_size(), last = first + layout.count(panel);
  if (!source.k_contiguous) {
    std::swap(first, begin);
    std::swap(last, end);
  }
  const std::int64_t lines = last - first;
  for (std::int64_t i = first + lines * part / parts; i < first + lines * (part + 1) / parts; ++i) {
    for (std::int64_t l = begin; l < end; l += kLine) {
      __builtin_prefetch(source.data + i * source.ld + l, kRead, kIntoL2);
    }
  }
}

// The smaller operand is packed first, by all threads, some blocks of k at a time. Then each task packs the same blocks
// of some panels of the other operand and multiplies them with all of the first. Meanwhile the memory that it will pack
// next is fetched.
template <class T>
void blocked_gemm(const Bf16Unit& unit, bool split, float* c, std::int64_t ldc, MatrixView<float> a, MatrixView<T> b,
                  std::int64_t m, std::int64_t n, std::int64_t k, float alpha, float beta) {
  const PanelLayout left{unit, Side::left, split, m, k}, right{unit, Side::right, split, n, k};
  const PackSource rows{a.data, a.ld, !a.transposed};
  const PackSourceOf<T> columns{b.data, b.ld, b.transposed};
  const bool share_rows = m <= n;
  const PanelLayout &shared = share_rows ? left : right, &own = share_rows ? right : left;
  const auto pack = [&](bool is_left, Bf16* to, std::int64_t block, std::int64_t panel) {
    is_left ? left.pack_block(to, rows, block, panel) : right.pack_block(to, columns, block, panel);
  };

  const int threads = available_threads();
  const std::int64_t panels_per_task =
      std::clamp<std::int64_t>(own.panels() / (kTasksPerThread * threads), 1, kMostPanels);
  const std::int64_t blocks_at_once = std::clamp<std::int64_t>(
      std::min(kSharedElements / shared.block_room(), kOwnElements / (panels_per_task * own.panel_room())), 1,
      shared.blocks());
  const bool fetches = own.size * k > kCachedElements;
  const Scratch<Bf16> memory(blocks_at_once * shared.block_room());

  for (std::int64_t first_block = 0; first_block < shared.blocks(); first_block += blocks_at_once) {
    const std::int64_t end_block = std::min(shared.blocks(), first_block + blocks_at_once);
    const auto shared_panel = [&](std::int64_t block, std::int64_t panel) {
      return memory.data() + (block - first_block) * shared.block_room() + panel * shared.panel_room();
    };
    parallel_for(0, (end_block - first_block) * shared.panels(), panels_per_task, [&](auto i, auto end) {
      for (; i < end; ++i) {
        const std::int64_t block = first_block + i / shared.panels(), panel = i % shared.panels();
        pack(share_rows, shared_panel(block, panel), block, panel);
      }
    });
    parallel_for(0, own.panels(), panels_per_task, [&](std::int64_t first, std::int64_t last) {
      const Scratch<Bf16> own_memory((end_block - first_block) * (last - first) * own.panel_room());
      const auto own_panel = [&](std::int64_t block, std::int64_t panel) {
        return own_memory.data() + ((block - first_block) * (last - first) + panel - first) * own.panel_room();
      };
      const auto multiply = [&](std::int64_t block, std::int64_t i, std::int64_t j) {
        multiply_panels(left, right, c + i * unit.rows * ldc + j * kPanelColumns, ldc,
                        share_rows ? shared_panel(block, i) : own_panel(block, i),
                        share_rows ? own_panel(block, j) : shared_panel(block, j), left.count(i), right.count(j),
                        left.depth(block), alpha, block == 0 ? beta : 1);
      };
      // Fetches a part of the panel that this thread may expect to pack next, since tasks begin in order.
      const auto prefetch = [&](std::int64_t block, std::int64_t panel, std::int64_t part)
          __attribute__((always_inline)) {
        panel += panels_per_task * threads;
        if (!fetches || panel >= own.panels()) return;
        const std::int64_t begin = block * unit.depth, end = begin + own.depth(block);
        if (share_rows) {
          prefetch_panel(columns, own, panel, begin, end, part, shared.panels());
        } else {
          prefetch_panel(rows, own, panel, begin, end, part, shared.panels());
        }
      };
      unit.begin();
      for (std::int64_t block = first_block; block < end_block; ++block) {
        for (std::int64_t panel = first; panel < last; ++panel)
          pack(!share_rows, own_panel(block, panel), block, panel);
      }
      // All blocks of k in turn for the sums of one shared panel, which stay in the cache.
      for (std::int64_t i = 0; i < shared.panels(); ++i) {
        for (std::int64_t block = first_block; block < end_block; ++block) {
          for (std::int64_t j = first; j < last; ++j) {
            prefetch(block, j, i);
            share_rows ? multiply(block, i, j) : multiply(block, j, i);
          }
        }
      }
      unit.end();
    });
  }
}

}  // namespace

void bf16_gemm(const Bf16Unit& unit, bool split, float* c, std::int64_t ldc, MatrixView<float> a, MatrixView<float> b,
               std::int64_t m, std::int64_t n, std::int64_t k, float alpha, float beta) {
  blocked_gemm(unit, split, c, ldc, a, b, m, n, k, alpha, beta);
}

void bf16_gemm(const Bf16Unit& unit, float* c, std::int64_t ldc, MatrixView<float> a, MatrixView<Bf16> b,
               std::int64_t m, std::int64_t n, std::int64_t k, float alpha, float beta) {
  check(b.transposed, "bf16_gemm: expected the rounded matrix transposed");
  blocked_gemm(unit, false, c, ldc, a, b, m, n, k, alpha, beta);
}

void packed_gemm(float* c, std::int64_t ldc, const PackSource& a, std::int64_t m, const PackedColumns& b,
                 const PackedWindow& window, float alpha, float beta, const Band& band) {
  const Bf16Unit& unit = b.layout.unit;
  const PanelLayout left{unit, Side::left, b.layout.split, m, window.k};
  const std::int64_t first_panel = window.first_column / kPanelColumns, first_block = window.first_k / unit.depth;
  const Scratch<Bf16> memory(left.panel_room());
  for (std::int64_t i = 0; i < left.panels(); ++i) {
    const std::int64_t row = i * unit.rows, rows = left.count(i);
    float keep = beta;
    for (std::int64_t block = 0; block < left.blocks(); ++block, keep = 1) {
      const std::int64_t first = block * unit.depth;
      const auto [begin, end] = band.visible_depth(row, rows, first, first + left.depth(block));
      if (begin == end && keep == 1) continue;
      const std::int64_t skipped = (begin - first) / kPackedDepth * kPackedDepth;
      left.pack(memory.data(), a, i, first + skipped, end);
      for (std::int64_t column = 0; column < window.n; column += kPanelColumns) {
        const std::int64_t columns = std::min(kPanelColumns, window.n - column);
        if (band.hides(row, rows, column, columns)) continue;
        const Bf16* const panel = b.panel(first_block + block, first_panel + column / kPanelColumns);
        multiply_panels(left, b.layout, c + row * ldc + column, ldc, memory.data(), panel + skipped * kPanelColumns,
                        rows, columns, end - first - skipped, alpha, keep);
      }
    }
  }
}

}  // namespace tapeformer::kernels
