// Operands of bf16 products in packed form, and their product on the calling thread. For bf16_gemm and attention.
#pragma once

#include <algorithm>
#include <cstdint>

#include "autograd/kernels/gemm/band_gemm.h"
#include "autograd/kernels/gemm/bf16/bf16_unit.h"
#include "autograd/kernels/read_ahead.h"

namespace tapeformer::kernels {

enum class Side { left, right };

// Packs `count` columns, `depth` long, of a row-major matrix of bf16 with rows ld apart as a column panel.
inline void pack_rounded_rows(Bf16* to, const Bf16* rows, std::int64_t ld, std::int64_t count, std::int64_t depth) {
  for (std::int64_t p = 0; p < packed_depth(depth); p += 2, to += 2 * kPanelColumns) {
    const Bf16* const even = rows + p * ld;
    const Bf16* const odd = even + ld;
    if (p + 1 < depth && count == kPanelColumns) {
      for (std::int64_t j = 0; j < kPanelColumns; ++j) to[2 * j] = even[j], to[2 * j + 1] = odd[j];
      continue;
    }
    for (std::int64_t j = 0; j < count; ++j) {
      to[2 * j] = p < depth ? even[j] : Bf16{};
      to[2 * j + 1] = p + 1 < depth ? odd[j] : Bf16{};
    }
  }
}

// How an operand is packed: in blocks of k, each of panels of its rows (left) or columns (right). With `split`, a panel
// is followed by what rounding took away from it.
struct PanelLayout {
  const Bf16Unit& unit;
  Side side;
  bool split;
  std::int64_t size, k;  // rows or columns; length of each

  std::int64_t panel_size() const { return side == Side::left ? unit.rows : kPanelColumns; }
  std::int64_t panels() const { return (size + panel_size() - 1) / panel_size(); }
  // The rows or columns that a panel has.
  std::int64_t count(std::int64_t panel) const { return std::min(panel_size(), size - panel * panel_size()); }
  // Blocks of k, at least one, and the length of each.
  std::int64_t blocks() const { return std::max<std::int64_t>(1, (k + unit.depth - 1) / unit.depth); }
  std::int64_t depth(std::int64_t block) const { return std::min(unit.depth, k - block * unit.depth); }

  // In elements: a panel without and with its second part, and all panels of a block.
  std::int64_t part_room() const {
    const std::int64_t depth = std::clamp(packed_depth(k), kPackedDepth, unit.depth);
    return side == Side::left ? unit.rows * unit.row_distance : kPanelColumns * depth;
  }
  std::int64_t panel_room() const { return part_room() * (split ? 2 : 1); }
  std::int64_t block_room() const { return panels() * panel_room(); }

  // Packs the elements [begin, end) of k of one panel, at most unit.depth. `source` begins at the operand's first one.
  void pack(Bf16* to, const PackSource& source, std::int64_t panel, std::int64_t begin, std::int64_t end) const {
    const std::int64_t first = panel * panel_size();
    const std::int64_t skipped = source.k_contiguous ? first * source.ld + begin : begin * source.ld + first;
    const PackSource part{source.data + skipped, source.ld, source.k_contiguous};
    Bf16* const low = split ? to + part_room() : nullptr;
    if (side == Side::left) {
      unit.pack_rows(to, low, unit.row_distance, part, count(panel), end - begin);
    } else {
      unit.pack_columns(to, low, part, count(panel), end - begin);
    }
  }
  // Packs one panel of a right operand that is rounded already.
  void pack(Bf16* to, PackSourceOf<Bf16> source, std::int64_t panel, std::int64_t begin, std::int64_t end) const {
    const std::int64_t first = panel * panel_size();
    if (source.k_contiguous) {
      unit.pack_rounded_columns(to, source.data + first * source.ld + begin, source.ld, count(panel), end - begin);
    } else {
      pack_rounded_rows(to, source.data + begin * source.ld + first, source.ld, count(panel), end - begin);
    }
  }
  template <class T>
  void pack_block(Bf16* to, const PackSourceOf<T>& source, std::int64_t block, std::int64_t panel) const {
    pack(to, source, panel, block * unit.depth, block * unit.depth + depth(block));
  }
};

// c (rows, columns), rows ldc apart = beta·c + alpha·the product of `depth` elements of k of two panels.
inline void multiply_panels(const PanelLayout& left, const PanelLayout& right, float* c, std::int64_t ldc,
                            const Bf16* a, const Bf16* b, std::int64_t rows, std::int64_t columns, std::int64_t depth,
                            float alpha, float beta) {
  const auto multiply = left.unit.multiply;
  if (left.split) {
    multiply(c, ldc, a + left.part_room(), b, rows, columns, depth, alpha, beta);
    multiply(c, ldc, a, b + right.part_room(), rows, columns, depth, alpha, 1);
    beta = 1;
  }
  multiply(c, ldc, a, b, rows, columns, depth, alpha, beta);
}

// A whole right operand, packed in `memory`, which has room() elements.
struct PackedColumns {
  PanelLayout layout;
  Bf16* memory;

  static std::int64_t room(const PanelLayout& layout) { return layout.blocks() * layout.block_room(); }
  Bf16* panel(std::int64_t block, std::int64_t panel) const {
    return memory + block * layout.block_room() + panel * layout.panel_room();
  }
  void pack(const PackSource& source) const {
    for (std::int64_t block = 0; block < layout.blocks(); ++block) {
      for (std::int64_t j = 0; j < layout.panels(); ++j) layout.pack_block(panel(block, j), source, block, j);
    }
  }
};

// The elements of packed columns that a product takes: n columns from `first_column` on, a multiple of kPanelColumns,
// and k of their elements from first_k on, a multiple of unit.depth.
struct PackedWindow {
  std::int64_t first_column, n, first_k, k;
};

// c (m, n), rows ldc apart = beta·c + alpha·a (m, k)·b (k, n) on the calling thread, a packed row panel by row panel.
// What the mask hides is not computed, as in band_gemm. The unit has begun. `ahead` advances panel by panel; null:
// nothing is read ahead.
void packed_gemm(float* c, std::int64_t ldc, const PackSource& a, std::int64_t m, const PackedColumns& b,
                 const PackedWindow& window, float alpha, float beta, const Band& band, ReadAhead* ahead = nullptr);

}  // namespace tapeformer::kernels
