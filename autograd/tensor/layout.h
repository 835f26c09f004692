// How a tensor's elements lie in its storage: sizes, element strides and an offset. It is a pure value; every view is
// a function from Layout to Layout.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <span>

namespace tapeformer {

// A short list of sizes, strides or axes, with at most kMaxRank entries, stored inline.
class Dims {
 public:
  static constexpr int kMaxRank = 8;

  Dims() = default;
  Dims(std::initializer_list<std::int64_t> values);
  explicit Dims(std::span<const std::int64_t> values);
  static Dims filled(int rank, std::int64_t value);

  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  std::int64_t operator[](int i) const { return values_[i]; }
  std::int64_t& operator[](int i) { return values_[i]; }
  std::int64_t back() const { return values_[rank_ - 1]; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + rank_; }
  std::int64_t* begin() { return values_.data(); }
  std::int64_t* end() { return values_.data() + rank_; }

  void push_back(std::int64_t value);
  // The product of the entries; 1 when empty.
  std::int64_t product() const;

  friend bool operator==(const Dims& a, const Dims& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  std::array<std::int64_t, kMaxRank> values_{};
  int rank_ = 0;
};

// Prints it as a shape: (2, 3).
std::ostream& operator<<(std::ostream& out, const Dims& dims);

struct Layout {
  Dims sizes;
  Dims strides;             // in elements; 0 where a size was expanded
  std::int64_t offset = 0;  // in elements, from the start of the storage

  static Layout contiguous(const Dims& sizes);

  int rank() const { return sizes.rank(); }
  std::int64_t numel() const { return sizes.product(); }
  friend bool operator==(const Layout&, const Layout&) = default;

  // Row-major without gaps (the strides of sizes of 1 do not matter).
  bool is_contiguous() const;

  // Converts a negative axis, which counts from the end. Throws Error when out of range, naming `what`.
  int axis(std::int64_t i, const char* what) const;

  Layout transpose(int a, int b) const;
  // Axis i of the result is axis order[i] of this.
  Layout permute(const Dims& order) const;
  // The elements start, start + step, … before stop of one axis; 0 <= start <= stop <= size, step >= 1.
  Layout slice(int axis, std::int64_t start, std::int64_t stop, std::int64_t step = 1) const;
  // NumPy broadcasting: sizes of 1, and axes missing in front, are repeated (stride 0).
  Layout expand(const Dims& to) const;
  // Another shape for the same elements in row-major order; nullopt if that needs a copy. One size may be -1.
  std::optional<Layout> reshape(const Dims& to) const;
  // The new sizes, with the value for -1 filled in. Throws Error when the number of elements differs.
  Dims reshape_sizes(Dims to) const;
};

// The common shape to which two operands broadcast; throws Error naming `what` if there is none.
Dims broadcast_sizes(const Dims& a, const Dims& b, const char* what);

}  // namespace tapeformer
