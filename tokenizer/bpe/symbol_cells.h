// Words as rows of symbols that can be merged. There is one cell of 32 bits for each byte, also after merges, and the
// neighbours of a symbol are found without links.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace tapeformer {

// A symbol has as many cells as bytes: the first holds its id; the last, if it is another one, holds minus its length;
// the cells between are negative. There is an end mark before and after the cells of a word.
class SymbolCells {
 public:
  static constexpr std::int32_t kEnd = std::numeric_limits<std::int32_t>::min();
  static constexpr std::uint32_t kMostCells = std::numeric_limits<std::int32_t>::max();

  // Makes an empty row of cells, to which words of one symbol per byte are added. `lengths` holds the length of each
  // symbol, by id, and may grow later.
  explicit SymbolCells(const std::vector<std::uint32_t>& lengths) : lengths_(&lengths) {}
  std::vector<std::int32_t>& cells() { return cells_; }

  std::uint32_t size() const { return static_cast<std::uint32_t>(cells_.size()); }
  // The symbol that begins at this cell; negative if no symbol begins here.
  std::int32_t symbol(std::uint32_t at) const { return cells_[at]; }
  // The first cell of the symbol after, or before, the one at this cell; or the cell of an end mark.
  std::uint32_t next(std::uint32_t at) const { return at + (*lengths_)[cells_[at]]; }
  std::uint32_t previous(std::uint32_t at) const {
    const std::int32_t before = cells_[at - 1];
    return before >= 0 || before == kEnd ? at - 1 : at + static_cast<std::uint32_t>(before);
  }
  // Whether `right` follows `left` at this cell.
  bool is_pair(std::uint32_t at, std::int32_t left, std::int32_t right) const {
    return cells_[at] == left && cells_[next(at)] == right;
  }
  // The symbol at this cell and the one after it become `result`, which is as long as both together.
  void merge(std::uint32_t at, std::int32_t result) {
    const std::uint32_t right = next(at), end = next(right);
    cells_[right] = -1;
    cells_[end - 1] = -static_cast<std::int32_t>(end - at);
    cells_[at] = result;
  }

  void prefetch(std::uint32_t at) const { __builtin_prefetch(cells_.data() + at); }

 private:
  const std::vector<std::uint32_t>* lengths_;
  std::vector<std::int32_t> cells_;
};

}  // namespace tapeformer
