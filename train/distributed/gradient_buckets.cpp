#include "train/distributed/gradient_buckets.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "autograd/kernels/exchanged_gradients.h"
#include "core/parallel.h"
#include "nn/optim/parameter_slab.h"

namespace tapeformer {
namespace {

using kernels::Bf16;

// Returns the memory of a slab from this element on, as raw bytes.
template <class T>
char* bytes_of(const Tensor& tensor, std::int64_t element) {
  return reinterpret_cast<char*>(tensor.data<T>() + element);
}

}  // namespace

GradientBuckets::GradientBuckets(std::int64_t elements, DType dtype, Communicator& ranks, CommPrecision precision,
                                 std::function<void(std::size_t)> summed, std::int64_t bucket, std::vector<Range> whole)
    : ranks_(ranks),
      rounds_(precision == CommPrecision::bf16),
      dtype_(dtype),
      summed_(std::move(summed)),
      whole_(std::move(whole)) {
  if (ranks.size() == 1) {
    own_ = {{0, elements}};
    return;
  }
  const std::int64_t length = bucket ? bucket : std::max(kBucket, ranks.size() * kLeastPiece);
  make_buckets(elements, length);
  std::int64_t largest = 0, largest_own = 0;
  for (const Bucket& bucket : buckets_) {
    const std::int64_t own = bucket.own.end - bucket.own.begin;
    largest = std::max({largest, bucket.end - bucket.begin, own * ranks.size()});
    largest_own = std::max(largest_own, own);
  }
  // The memory is bounded by the usual number of buckets of the usual size: fewer buckets travel at a time if they are
  // larger.
  const std::int64_t usual = static_cast<std::int64_t>(kUnderWay) * length;
  const std::int64_t fitting = chunk_count(usual, std::max<std::int64_t>(largest, 1));
  most_under_way_ = static_cast<std::size_t>(std::clamp<std::int64_t>(fitting, 2, kUnderWay));
  for (std::size_t i = 0; i < std::min(most_under_way_, buckets_.size()); ++i) {
    received_[i] = Tensor::empty({largest}, rounds_ ? DType::bf16 : dtype);
    if (rounds_) sent_[i] = Tensor::empty({largest}, DType::bf16);
  }
  if (rounds_) before_ = Tensor::empty({largest_own}, dtype);
}

void GradientBuckets::make_buckets(std::int64_t elements, std::int64_t length) {
  std::vector<std::int64_t> loads(ranks_.size());
  for (std::int64_t begin = 0, end = 0; begin < elements; begin = end) {
    end = std::min(elements, begin + length);
    if (const std::optional<Piece> whole = whole_around(end)) end = whole->begin > begin ? whole->begin : whole->end;
    std::vector<std::int64_t> pieces = cuts(begin, end, loads);
    const Piece own{pieces[ranks_.rank()], pieces[ranks_.rank() + 1]};
    buckets_.push_back({begin, end, std::move(pieces), own, own_.size(), end - begin});
    if (own.begin < own.end) own_.push_back(own);
  }
}

// Returns the unit that a cut before this element would divide; nullopt if there is none.
std::optional<GradientBuckets::Piece> GradientBuckets::whole_around(std::int64_t element) const {
  const auto next = std::ranges::upper_bound(whole_, element, {}, &Range::end);
  if (next == whole_.end() || next->begin >= element) return std::nullopt;
  const std::int64_t begin = element - (element - next->begin) % next->unit;
  if (begin == element) return std::nullopt;
  return Piece{begin, std::min(next->end, begin + next->unit)};
}

// Returns the beginnings of the bucket's pieces in the order of the ranks, and the end of the last one. The pieces have
// equal size if possible; else they make the numbers of elements that the ranks have so far, `loads`, as equal as the
// units allow.
std::vector<std::int64_t> GradientBuckets::cuts(std::int64_t begin, std::int64_t end,
                                                std::vector<std::int64_t>& loads) const {
  constexpr std::int64_t kUnit = ParameterSlab::kAlignment;
  const int ranks = ranks_.size();
  std::vector<std::int64_t> bounds{begin};
  if (whole_.empty()) {
    for (int r = 0; r < ranks; ++r) bounds.push_back(begin + ranks_.share((end - begin) / kUnit, r).end * kUnit);
    return bounds;
  }
  const std::int64_t all = std::accumulate(loads.begin(), loads.end(), end - begin);
  std::vector<std::int64_t> wanted;
  for (const std::int64_t load : loads) wanted.push_back(std::max<std::int64_t>(0, all / ranks - load));
  const auto sum =
      static_cast<double>(std::max<std::int64_t>(1, std::accumulate(wanted.begin(), wanted.end(), std::int64_t{0})));
  double share = 0;
  for (int r = 0; r < ranks; ++r) {
    share += static_cast<double>(wanted[r]) / sum;
    const auto units = static_cast<std::int64_t>(std::llround(share * static_cast<double>((end - begin) / kUnit)));
    std::int64_t bound = r + 1 == ranks ? end : std::clamp(begin + units * kUnit, bounds.back(), end);
    if (const std::optional<Piece> whole = whole_around(bound)) {
      bound = bound - whole->begin < whole->end - bound ? whole->begin : whole->end;
    }
    loads[r] += bound - bounds.back();
    bounds.push_back(bound);
  }
  return bounds;
}

std::int64_t GradientBuckets::wire_size() const {
  return static_cast<std::int64_t>(size_of(rounds_ ? DType::bf16 : dtype_));
}

std::vector<std::int64_t> GradientBuckets::piece_bytes(const Bucket& bucket) const {
  std::vector<std::int64_t> bytes;
  for (int r = 0; r < ranks_.size(); ++r) {
    bytes.push_back((bucket.cuts[r + 1] - bucket.cuts[r]) * wire_size());
  }
  return bytes;
}

void GradientBuckets::ready(const Tensor& slab, std::int64_t begin, std::int64_t end) {
  if (ranks_.size() == 1) return;
  for (Bucket& bucket : buckets_) {
    bucket.missing -= std::max<std::int64_t>(0, std::min(end, bucket.end) - std::max(begin, bucket.begin));
  }
  while (started_ < buckets_.size() && buckets_[buckets_.size() - 1 - started_].missing == 0) {
    if (under_way_.size() == most_under_way_) {
      if (!ranks_.is_done(under_way_.front().transfer)) return;
      add_up_oldest(slab);
    }
    start_reducing(slab);
  }
}

void GradientBuckets::reduce(const Tensor& slab) {
  if (ranks_.size() == 1) return summed_(0);
  while (started_ < buckets_.size()) {
    if (under_way_.size() == most_under_way_) add_up_oldest(slab);
    start_reducing(slab);
  }
  while (!under_way_.empty()) add_up_oldest(slab);
  started_ = 0;
  for (Bucket& bucket : buckets_) bucket.missing = bucket.end - bucket.begin;
}

void GradientBuckets::start_reducing(const Tensor& slab) {
  const Bucket& bucket = buckets_[buckets_.size() - 1 - started_];
  const std::size_t buffer = started_++ % most_under_way_;
  const std::vector<std::int64_t> own(ranks_.size(), (bucket.own.end - bucket.own.begin) * wire_size());
  dispatch_floating(dtype_, [&]<class T>(T) {
    const void* sent = bytes_of<T>(slab, bucket.begin);
    void* received = nullptr;
    if (rounds_) {
      received = received_[buffer].data<Bf16>();
      Bf16* const rounded = sent_[buffer].data<Bf16>();
      kernels::round_all(rounded, slab.data<T>() + bucket.begin, bucket.end - bucket.begin);
      sent = rounded;
    } else {
      received = received_[buffer].data<T>();
    }
    under_way_.push_back({&bucket, ranks_.start_all_to_all(sent, piece_bytes(bucket), received, own), buffer});
  });
}

void GradientBuckets::add_up_oldest(const Tensor& slab) {
  const UnderWay oldest = finish_oldest();
  const Piece own = oldest.bucket->own;
  const std::int64_t count = own.end - own.begin;
  const int rank = ranks_.rank();
  dispatch_floating(dtype_, [&]<class T>(T) {
    T* const sums = slab.data<T>() + own.begin;
    if (rounds_) {
      const Bf16* const mine = sent_[oldest.buffer].data<Bf16>() + (own.begin - oldest.bucket->begin);
      kernels::add_pieces(sums, mine, received_[oldest.buffer].data<Bf16>(), count, rank, ranks_.size());
    } else {
      kernels::add_pieces(sums, sums, received_[oldest.buffer].data<T>(), count, rank, ranks_.size());
    }
  });
  if (count > 0) summed_(oldest.bucket->own_index);
}

void GradientBuckets::gather(const Tensor& slab, const std::function<void(std::size_t)>& update) {
  if (ranks_.size() == 1) return update(0);
  std::size_t started = 0;
  for (const Bucket& bucket : buckets_) {
    if (under_way_.size() == most_under_way_) receive_oldest(slab);
    const std::size_t buffer = started++ % most_under_way_;
    const std::int64_t first = bucket.own.begin, count = bucket.own.end - first;
    dispatch_floating(dtype_, [&]<class T>(T) {
      T* const values = slab.data<T>() + first;
      if (rounds_ && count > 0) before_.slice(0, 0, count).copy_from(slab.slice(0, first, first + count));
      if (count > 0) update(bucket.own_index);
      void* pieces = slab.data<T>() + bucket.begin;
      if (rounds_) {
        Bf16* const changes = received_[buffer].data<Bf16>();
        kernels::take_changes(changes + (first - bucket.begin), values, before_.data<T>(), count);
        pieces = changes;
      }
      under_way_.push_back({&bucket, ranks_.start_all_gather(pieces, piece_bytes(bucket)), buffer});
    });
  }
  while (!under_way_.empty()) receive_oldest(slab);
  slab.mark_changed();
}

void GradientBuckets::receive_oldest(const Tensor& slab) {
  const UnderWay oldest = finish_oldest();
  if (!rounds_) return;  // all pieces have arrived
  const std::int64_t begin = oldest.bucket->begin, count = oldest.bucket->end - begin;
  dispatch_floating(dtype_, [&]<class T>(T) {
    kernels::add_changes(slab.data<T>() + begin, received_[oldest.buffer].data<Bf16>(), count);
  });
}

GradientBuckets::UnderWay GradientBuckets::finish_oldest() {
  const UnderWay oldest = under_way_.front();
  under_way_.pop_front();
  ranks_.finish(oldest.transfer);
  return oldest;
}

}  // namespace tapeformer
