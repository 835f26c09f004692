#include "train/distributed/slab_shares.h"

#include <algorithm>

#include "autograd/kernels/reduce.h"
#include "core/parallel.h"
#include "nn/optim/parameter_slab.h"

namespace tapeformer {
namespace {

using kernels::Bf16;

constexpr std::int64_t kGrain = 1 << 14;  // elements of a loop's chunk

// A slab as bytes.
template <class T>
char* bytes_of(const Tensor& tensor, std::int64_t element) {
  return reinterpret_cast<char*>(tensor.data<T>() + element);
}

// Calls f(i) for every i of [0, n).
template <class F>
void for_each(std::int64_t n, const F& f) {
  parallel_for(0, n, kGrain, [&](std::int64_t i, std::int64_t end) {
    for (; i < end; ++i) f(i);
  });
}

}  // namespace

SlabShares::SlabShares(std::int64_t elements, DType dtype, Communicator& ranks, CommPrecision precision,
                       std::int64_t bucket)
    : ranks_(ranks), rounds_(precision == CommPrecision::bf16), dtype_(dtype) {
  if (ranks.size() == 1) {
    own_ = {{0, elements}};
    return;
  }
  const std::int64_t length = bucket ? bucket : std::max(kBucket, ranks.size() * kLeastPiece);
  std::int64_t largest = 0, all_own = 0;
  for (std::int64_t begin = 0; begin < elements; begin += length) {
    const std::int64_t end = std::min(elements, begin + length);
    const Piece own = piece(begin, end, ranks.rank());
    buckets_.push_back({begin, end, own});
    if (own.begin < own.end) own_.push_back(own);
    largest = std::max({largest, end - begin, (own.end - own.begin) * ranks.size()});
    all_own += own.end - own.begin;
  }
  for (int i = 0; i < 2; ++i) {
    received_[i] = Tensor::empty({largest}, rounds_ ? DType::bf16 : dtype);
    if (rounds_) sent_[i] = Tensor::empty({largest}, DType::bf16);
  }
  if (rounds_) before_ = Tensor::empty({all_own}, dtype);
}

SlabShares::Piece SlabShares::piece(std::int64_t begin, std::int64_t end, int rank) const {
  constexpr std::int64_t kUnit = ParameterSlab::kAlignment;
  const auto [first, last] = ranks_.share((end - begin) / kUnit, rank);
  return {begin + first * kUnit, begin + last * kUnit};
}

std::int64_t SlabShares::wire_size() const {
  return static_cast<std::int64_t>(size_of(rounds_ ? DType::bf16 : dtype_));
}

std::vector<std::int64_t> SlabShares::piece_bytes(const Bucket& bucket) const {
  std::vector<std::int64_t> bytes;
  for (int r = 0; r < ranks_.size(); ++r) {
    const Piece part = piece(bucket.begin, bucket.end, r);
    bytes.push_back((part.end - part.begin) * wire_size());
  }
  return bytes;
}

void SlabShares::reduce(const Tensor& slab) {
  if (ranks_.size() == 1) return;
  dispatch_floating(dtype_, [&]<class T>(T) {
    T* const values = slab.data<T>();
    const auto start = [&](std::size_t i) {
      const Bucket& bucket = buckets_[i];
      const std::vector<std::int64_t> own(ranks_.size(), (bucket.own.end - bucket.own.begin) * wire_size());
      const Tensor &sent = sent_[i % 2], &received = received_[i % 2];
      if (!rounds_) {
        return ranks_.start_all_to_all(bytes_of<T>(slab, bucket.begin), piece_bytes(bucket), received.data<T>(), own);
      }
      Bf16* const rounded = sent.data<Bf16>();
      for_each(bucket.end - bucket.begin, [&](std::int64_t k) {
        rounded[k] = kernels::round_to_bf16(static_cast<float>(values[bucket.begin + k]));
      });
      return ranks_.start_all_to_all(rounded, piece_bytes(bucket), received.data<Bf16>(), own);
    };
    const auto add_up = [&](std::size_t i) {
      const Piece own = buckets_[i].own;
      const std::int64_t count = own.end - own.begin;
      if (!rounds_) {
        kernels::sum_axis(values + own.begin, received_[i % 2].data<T>(), 1, ranks_.size(), count, T{0});
        return;
      }
      const Bf16* const parts = received_[i % 2].data<Bf16>();
      for_each(count, [&](std::int64_t k) {
        T sum = kernels::widen(parts[k]);
        for (int r = 1; r < ranks_.size(); ++r) sum += kernels::widen(parts[r * count + k]);
        values[own.begin + k] = sum;
      });
    };
    // One bucket travels while the one before it is added up.
    int under_way = start(0);
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      const int transfer = under_way;
      if (i + 1 < buckets_.size()) under_way = start(i + 1);
      ranks_.finish(transfer);
      add_up(i);
    }
  });
}

void SlabShares::remember(const Tensor& slab) {
  if (ranks_.size() == 1 || !rounds_) return;
  std::int64_t place = 0;
  for (const Piece& piece : own_) {
    const std::int64_t count = piece.end - piece.begin;
    before_.slice(0, place, place + count).copy_from(slab.slice(0, piece.begin, piece.end));
    place += count;
  }
}

void SlabShares::gather(const Tensor& slab) {
  if (ranks_.size() == 1) return;
  dispatch_floating(dtype_, [&]<class T>(T) {
    T* const values = slab.data<T>();
    const T* before = rounds_ ? before_.data<T>() : nullptr;
    const auto start = [&](std::size_t i) {
      const Bucket& bucket = buckets_[i];
      if (!rounds_) return ranks_.start_all_gather(bytes_of<T>(slab, bucket.begin), piece_bytes(bucket));
      Bf16* const changes = received_[i % 2].data<Bf16>();
      const std::int64_t first = bucket.own.begin, count = bucket.own.end - first;
      for_each(count, [&](std::int64_t k) {
        changes[first - bucket.begin + k] = kernels::round_to_bf16(static_cast<float>(values[first + k] - before[k]));
        values[first + k] = before[k];
      });
      before += count;
      return ranks_.start_all_gather(changes, piece_bytes(bucket));
    };
    const auto apply = [&](std::size_t i) {
      if (!rounds_) return;
      const Bf16* const changes = received_[i % 2].data<Bf16>();
      T* const at = values + buckets_[i].begin;
      for_each(buckets_[i].end - buckets_[i].begin, [&](std::int64_t k) { at[k] += kernels::widen(changes[k]); });
    };
    int under_way = start(0);
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      const int transfer = under_way;
      if (i + 1 < buckets_.size()) under_way = start(i + 1);
      ranks_.finish(transfer);
      apply(i);
    }
  });
  slab.mark_changed();
}

}  // namespace tapeformer
