#include "autograd/kernels/gemm/bf16/bf16_gemm.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

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

// The blocks of k that are packed at a time: begin to end − 1.
struct BlockRange {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};

// The smaller operand is packed first, by all threads, some blocks of k at a time. Then each task packs the same blocks
// of some panels of the other operand and multiplies them with all of the first. Meanwhile the memory that it will pack
// next is fetched.
template <class T>
class BlockedProduct {
 public:
  BlockedProduct(const Bf16Unit& unit, bool split, MatrixView<float> a, MatrixView<T> b, std::int64_t m, std::int64_t n,
                 std::int64_t k, bool lower)
      : left_{unit, Side::left, split, m, k},
        right_{unit, Side::right, split, n, k},
        rows_{a.data, a.ld, !a.transposed},
        columns_{b.data, b.ld, b.transposed},
        share_rows_(m <= n),
        lower_(lower),
        threads_(available_threads()),
        most_panels_(std::min(kMostPanels, half_of(chunk_count(own().panels(), threads_)))),
        fetches_(own().size * k > kCachedElements) {}

  // c (m, n), rows ldc apart = beta·c + alpha·a·b
  void write(float* c, std::int64_t ldc, float alpha, float beta) const {
    // Every line of a panel of an operand that lies across k is another row of memory. These lines compete for few sets
    // of the cache: those of several blocks would displace each other before they are packed.
    const bool across = !(share_rows_ ? columns_.k_contiguous : rows_.k_contiguous);
    const std::int64_t room =
        std::min(kSharedElements / shared().block_room(), kOwnElements / (most_panels_ * own().panel_room()));
    const std::int64_t blocks_at_once = across ? 1 : std::clamp<std::int64_t>(room, 1, shared().blocks());
    const Scratch<Bf16> memory(blocks_at_once * shared().block_room());
    for (std::int64_t begin = 0; begin < shared().blocks(); begin += blocks_at_once) {
      const BlockRange blocks{begin, std::min(shared().blocks(), begin + blocks_at_once)};
      parallel_for(0, blocks.size() * shared().panels(), 1, [&](std::int64_t i, std::int64_t) {
        const std::int64_t block = blocks.begin + i / shared().panels(), panel = i % shared().panels();
        pack(share_rows_, shared_panel(memory.data(), blocks, block, panel), block, panel);
      });
      for_tasks([&](std::int64_t first, std::int64_t last, const ThreadPanels& all) {
        const Scratch<Bf16> own_memory(blocks.size() * (last - first) * own().panel_room());
        const OwnPanels panels{own_memory.data(), first, last, all};
        for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
          for (std::int64_t panel = first; panel < last; ++panel) {
            pack(!share_rows_, own_panel(panels, blocks, block, panel), block, panel);
          }
        }
        multiply(c, ldc, alpha, beta, memory.data(), panels, blocks);
      });
    }
  }

 private:
  const PanelLayout& shared() const { return share_rows_ ? left_ : right_; }
  const PanelLayout& own() const { return share_rows_ ? right_ : left_; }
  void pack(bool is_left, Bf16* to, std::int64_t block, std::int64_t panel) const {
    is_left ? left_.pack_block(to, rows_, block, panel) : right_.pack_block(to, columns_, block, panel);
  }
  Bf16* shared_panel(Bf16* memory, const BlockRange& blocks, std::int64_t block, std::int64_t panel) const {
    return memory + (block - blocks.begin) * shared().block_room() + panel * shared().panel_room();
  }
  // The panels begin to end − 1, which one thread works on if it gets no help, and how many of them its first task has.
  struct ThreadPanels {
    std::int64_t begin, end, first_size;
  };
  // The packed panels `first` to last − 1 of a task's operand, block by block.
  struct OwnPanels {
    Bf16* memory;
    std::int64_t first, last;
    ThreadPanels all;
  };
  Bf16* own_panel(const OwnPanels& panels, const BlockRange& blocks, std::int64_t block, std::int64_t panel) const {
    return panels.memory +
           ((block - blocks.begin) * (panels.last - panels.first) + panel - panels.first) * own().panel_room();
  }
  static std::int64_t half_of(std::int64_t panels) { return (panels + 1) / 2; }
  // Calls f(first, last, the thread's panels) for the panels of every task. Each thread has as many panels, and each of
  // its tasks takes half of those that it has left, up to most_panels_: the last tasks are short, so that no thread
  // waits long for another (Polychronopoulos & Kuck 1987, "Guided self-scheduling").
  void for_tasks(const auto& f) const {
    const std::int64_t panels = own().panels();
    std::vector<std::int64_t> sizes;
    for (std::int64_t left = chunk_count(panels, threads_); left > 0; left -= sizes.back()) {
      sizes.push_back(std::min(most_panels_, half_of(left)));
    }
    const std::int64_t tasks = std::ssize(sizes);
    parallel_for(0, threads_ * tasks, 1, [&](std::int64_t i, std::int64_t) {
      const std::int64_t thread = i / tasks;
      const ThreadPanels all{panels * thread / threads_, panels * (thread + 1) / threads_, sizes[0]};
      const auto size = sizes.begin() + i % tasks;
      const std::int64_t first = all.begin + std::accumulate(sizes.begin(), size, std::int64_t{0});
      if (first < all.end) f(first, std::min(all.end, first + *size), all);
    });
  }

  // Fetches a part of the panel that this thread may expect to pack after as many others as its first task has: a later
  // one of the same blocks, or one of the next blocks. So each is fetched once.
  [[gnu::always_inline]] inline void prefetch(const ThreadPanels& all, const BlockRange& blocks, std::int64_t block,
                                              std::int64_t panel, std::int64_t part) const {
    panel += all.first_size;
    if (panel >= all.end) panel -= all.end - all.begin, block += blocks.size();
    if (!fetches_ || block >= own().blocks()) return;
    const std::int64_t begin = block * left_.unit.depth, end = begin + own().depth(block);
    if (share_rows_) {
      prefetch_panel(columns_, own(), panel, begin, end, part, shared().panels());
    } else {
      prefetch_panel(rows_, own(), panel, begin, end, part, shared().panels());
    }
  }

  // Multiplies the blocks of all shared panels with those of a task's own panels.
  void multiply(float* c, std::int64_t ldc, float alpha, float beta, Bf16* shared_memory, const OwnPanels& panels,
                const BlockRange& blocks) const {
    const auto multiply = [&](std::int64_t block, std::int64_t i, std::int64_t j) {
      if (lower_ && j * kPanelColumns >= i * left_.unit.rows + left_.count(i)) return;
      multiply_panels(left_, right_, c + i * left_.unit.rows * ldc + j * kPanelColumns, ldc,
                      share_rows_ ? shared_panel(shared_memory, blocks, block, i) : own_panel(panels, blocks, block, i),
                      share_rows_ ? own_panel(panels, blocks, block, j) : shared_panel(shared_memory, blocks, block, j),
                      left_.count(i), right_.count(j), left_.depth(block), alpha, block == 0 ? beta : 1);
    };
    left_.unit.begin();
    // All blocks of k in turn for the sums of one shared panel, which stay in the cache.
    for (std::int64_t i = 0; i < shared().panels(); ++i) {
      for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
        for (std::int64_t j = panels.first; j < panels.last; ++j) {
          prefetch(panels.all, blocks, block, j, i);
          share_rows_ ? multiply(block, i, j) : multiply(block, j, i);
        }
      }
    }
    left_.unit.end();
  }

  PanelLayout left_, right_;
  PackSource rows_;
  PackSourceOf<T> columns_;
  bool share_rows_, lower_;
  std::int64_t threads_, most_panels_;
  bool fetches_;
};

}  // namespace

void bf16_gemm(const Bf16Unit& unit, bool split, float* c, std::int64_t ldc, MatrixView<float> a, MatrixView<float> b,
               std::int64_t m, std::int64_t n, std::int64_t k, float alpha, float beta, bool lower) {
  BlockedProduct<float>(unit, split, a, b, m, n, k, lower).write(c, ldc, alpha, beta);
}

void bf16_gemm(const Bf16Unit& unit, float* c, std::int64_t ldc, MatrixView<float> a, MatrixView<Bf16> b,
               std::int64_t m, std::int64_t n, std::int64_t k, float alpha, float beta) {
  BlockedProduct<Bf16>(unit, false, a, b, m, n, k, false).write(c, ldc, alpha, beta);
}

void packed_gemm(float* c, std::int64_t ldc, const PackSource& a, std::int64_t m, const PackedColumns& b,
                 const PackedWindow& window, float alpha, float beta, const Band& band, ReadAhead* ahead) {
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
        if (ahead) ahead->advance();
      }
    }
  }
}

}  // namespace tapeformer::kernels
