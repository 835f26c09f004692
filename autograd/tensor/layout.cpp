#include "autograd/tensor/layout.h"

#include "core/error.h"

namespace tapeformer {

Dims::Dims(std::initializer_list<std::int64_t> values) : Dims(std::span(values.begin(), values.size())) {}

Dims::Dims(std::span<const std::int64_t> values) {
  check(values.size() <= kMaxRank, "a shape has ", values.size(), " axes: at most ", kMaxRank, " are supported");
  std::copy(values.begin(), values.end(), values_.begin());
  rank_ = static_cast<int>(values.size());
}

Dims Dims::filled(int rank, std::int64_t value) {
  Dims dims;
  for (int i = 0; i < rank; ++i) dims.push_back(value);
  return dims;
}

void Dims::push_back(std::int64_t value) {
  check(rank_ < kMaxRank, "a shape has more than ", kMaxRank, " axes");
  values_[rank_++] = value;
}

std::int64_t Dims::product() const {
  std::int64_t product = 1;
  for (std::int64_t value : *this) product *= value;
  return product;
}

std::ostream& operator<<(std::ostream& out, const Dims& dims) {
  out << '(';
  for (int i = 0; i < dims.rank(); ++i) out << (i ? ", " : "") << dims[i];
  return out << ')';
}

Layout Layout::contiguous(const Dims& sizes) {
  Layout layout{sizes, Dims::filled(sizes.rank(), 1), 0};
  for (int i = sizes.rank() - 2; i >= 0; --i) {
    layout.strides[i] = layout.strides[i + 1] * std::max<std::int64_t>(sizes[i + 1], 1);
  }
  return layout;
}

bool Layout::is_contiguous() const {
  std::int64_t expected = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= std::max<std::int64_t>(sizes[i], 1);
  }
  return true;
}

int Layout::axis(std::int64_t i, const char* what) const {
  const std::int64_t positive = i < 0 ? i + rank() : i;
  check(positive >= 0 && positive < rank(), what, ": axis ", i, " is out of range for shape ", sizes);
  return static_cast<int>(positive);
}

Layout Layout::transpose(int a, int b) const {
  const int i = axis(a, "transpose"), j = axis(b, "transpose");
  Layout view = *this;
  std::swap(view.sizes[i], view.sizes[j]);
  std::swap(view.strides[i], view.strides[j]);
  return view;
}

Layout Layout::permute(const Dims& order) const {
  check(order.rank() == rank(), "permute: order ", order, " has ", order.rank(), " axes, the shape ", sizes, " has ",
        rank());
  Layout view{{}, {}, offset};
  std::array<bool, Dims::kMaxRank> seen{};
  for (std::int64_t o : order) {
    const int i = axis(o, "permute");
    check(!seen[i], "permute: axis ", o, " stands twice in order ", order);
    seen[i] = true;
    view.sizes.push_back(sizes[i]);
    view.strides.push_back(strides[i]);
  }
  return view;
}

Layout Layout::slice(int along, std::int64_t start, std::int64_t stop, std::int64_t step) const {
  const int i = axis(along, "slice");
  check(step >= 1, "slice: step is ", step, ", expected at least 1");
  check(start >= 0 && start <= stop && stop <= sizes[i], "slice: ", start, " to ", stop, " is out of range for axis ",
        along, " of shape ", sizes);
  Layout view = *this;
  view.offset += start * strides[i];
  view.sizes[i] = (stop - start + step - 1) / step;
  view.strides[i] *= step;
  return view;
}

Layout Layout::expand(const Dims& to) const {
  const int extra = to.rank() - rank();
  check(extra >= 0, "expand: cannot expand ", sizes, " to ", to, ", which has fewer axes");
  for (std::int64_t size : to) check(size >= 0, "expand: cannot expand ", sizes, " to ", to, ": a size is negative");
  Layout view{to, Dims::filled(to.rank(), 0), offset};
  for (int i = 0; i < rank(); ++i) {
    const bool same = sizes[i] == to[i + extra];
    check(same || sizes[i] == 1, "expand: cannot expand ", sizes, " to ", to, ": size ", sizes[i], " against ",
          to[i + extra]);
    view.strides[i + extra] = same ? strides[i] : 0;
  }
  return view;
}

Dims Layout::reshape_sizes(Dims to) const {
  int unknown = -1;
  std::int64_t known = 1;
  for (int i = 0; i < to.rank(); ++i) {
    if (to[i] == -1) {
      check(unknown < 0, "reshape: more than one -1 in ", to);
      unknown = i;
    } else {
      known *= to[i];
    }
  }
  if (unknown >= 0 && known > 0 && numel() % known == 0) to[unknown] = numel() / known;
  check(to.product() == numel() && (unknown < 0 || to[unknown] >= 0), "reshape: cannot view ", sizes, " (", numel(),
        " elements) as ", to);
  return to;
}

std::optional<Layout> Layout::reshape(const Dims& requested) const {
  const Dims to = reshape_sizes(requested);
  Layout view = contiguous(to);
  view.offset = offset;
  if (numel() == 0 || is_contiguous()) return view;

  // Old axes whose elements are evenly spaced together form a run; whole new axes must cover each run.
  int next = to.rank() - 1;
  for (int i = rank() - 1; i >= 0;) {
    const std::int64_t step = strides[i];
    std::int64_t run = sizes[i];
    for (--i; i >= 0 && (sizes[i] == 1 || (run > 1 && strides[i] == step * run)); --i) run *= sizes[i];
    std::int64_t covered = 1;
    while (next >= 0 && (covered < run || to[next] == 1)) {
      view.strides[next] = step * covered;
      covered *= to[next--];
    }
    if (covered != run) return std::nullopt;
  }
  return view;
}

Dims broadcast_sizes(const Dims& a, const Dims& b, const char* what) {
  Dims out = Dims::filled(std::max(a.rank(), b.rank()), 1);
  for (int i = 1; i <= out.rank(); ++i) {
    const std::int64_t x = i <= a.rank() ? a[a.rank() - i] : 1, y = i <= b.rank() ? b[b.rank() - i] : 1;
    check(x == y || x == 1 || y == 1, what, ": a is ", a, ", b is ", b, ": sizes ", x, " and ", y,
          " cannot be broadcast together");
    out[out.rank() - i] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace tapeformer
