#include "nn/attention/key_value_cache.h"

#include <algorithm>

#include "autograd/kernels/elementwise/bf16_numbers.h"
#include "autograd/kernels/gemm/batch_invariant.h"
#include "autograd/kernels/gemm/precision.h"
#include "core/parallel.h"
#include "nn/interfaces/cache.h"

namespace tapeformer {
namespace {

// Returns the format in which a cache keeps keys and values of this dtype: bf16 where products in bf16 would round them
// anyway, except under BatchInvariant, where one query and many must give the same bits.
DType cached_dtype(DType dtype) {
  const bool rounds = kernels::rounds_to_bf16(kernels::MatmulPrecisionScope::current());
  return dtype == DType::f32 && rounds && !kernels::BatchInvariant::is_on() ? DType::bf16 : dtype;
}

// Copies the first tokens of one cache to another, longer one of the same dtype.
void copy_tokens(const Tensor& to, const Tensor& from, std::int64_t tokens) {
  const std::int64_t heads = from.size(0) * from.size(1), d = from.size(3);
  dispatch_stored(from.dtype(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < heads; ++i) {
      std::copy_n(from.data<T>() + i * from.size(2) * d, tokens * d, to.data<T>() + i * to.size(2) * d);
    }
  });
}

// Copies tokens (B, g, T, d) to a cache, from token `begin` on.
void write_tokens(const Tensor& cache, std::int64_t begin, const Tensor& tokens_of_heads) {
  const Tensor to = cache.slice(2, begin, begin + tokens_of_heads.size(2));
  if (to.dtype() == tokens_of_heads.dtype()) return to.copy_from(tokens_of_heads);
  const Tensor x = tokens_of_heads.layout().strides[3] == 1 ? tokens_of_heads : tokens_of_heads.clone();
  const Dims &from_strides = x.layout().strides, &to_strides = to.layout().strides;
  const std::int64_t heads = x.size(1), tokens = x.size(2), d = x.size(3);
  constexpr std::int64_t kElements = 1 << 14;  // worth a thread
  parallel_for(0, x.size(0) * heads * tokens, 1 + kElements / (d + 1), [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) {
      const std::int64_t batch = i / tokens / heads, head = i / tokens % heads, token = i % tokens;
      const auto place = [&](const Dims& strides) {
        return batch * strides[0] + head * strides[1] + token * strides[2];
      };
      kernels::round_all_to_bf16(to.data<kernels::Bf16>() + place(to_strides), x.data<float>() + place(from_strides),
                                 d);
    }
  });
}

}  // namespace

// Allocates memory for `length` tokens with the batch, heads and widths of k and v, and keeps the cached tokens.
void KeyValueCache::reserve(const Tensor& k, const Tensor& v, std::int64_t length) {
  constexpr std::int64_t kLeastLength = 16;
  const std::int64_t allocated = keys_.defined() ? keys_.size(2) : 0;
  const DType dtype = length_ > 0 ? keys_.dtype() : cached_dtype(k.dtype());
  const bool same_rows = keys_.defined() && keys_.size(0) == k.size(0) && keys_.dtype() == dtype;
  check(same_rows || length_ == 0, "key/value cache: holds a batch of ", keys_.defined() ? keys_.size(0) : 0, ", got ",
        k.size(0));
  if (same_rows && length <= allocated) return;
  const std::int64_t grown_length = std::min(capacity_, std::max({length, 2 * allocated, kLeastLength}));
  const auto grow = [&](Tensor& tensor, const Tensor& like) {
    const Tensor grown = Tensor::empty({like.size(0), like.size(1), grown_length, like.size(3)}, dtype);
    if (length_ > 0) copy_tokens(grown, tensor, length_);
    tensor = grown;
  };
  grow(keys_, k), grow(values_, v);
}

void KeyValueCache::append(const Tensor& k, const Tensor& v) {
  const std::int64_t more = k.size(2);
  check(length_ + more <= capacity_, "key/value cache: ", length_, " tokens and ", more,
        " more exceed its capacity of ", capacity_);
  reserve(k, v, length_ + more);
  write_tokens(keys_, length_, k);
  write_tokens(values_, length_, v);
  length_ += more;
}

void KeyValueCache::select(std::span<const std::int64_t> rows) {
  if (length_ == 0) return;
  keys_ = select_rows(keys_, rows);
  values_ = select_rows(values_, rows);
}

void LinearAttentionCache::select(std::span<const std::int64_t> rows) {
  if (length_ > 0) sums_ = select_rows(sums_, rows);
}

Tensor LinearAttentionCache::extend(const Dims& sizes, DType dtype, std::int64_t tokens) {
  if (length_ == 0) sums_ = Tensor::zeros(sizes, dtype);
  check(sums_.sizes() == sizes, "cache of linear attention: holds sums ", sums_.sizes(), ", expected ", sizes);
  length_ += tokens;
  return sums_;
}

}  // namespace tapeformer
