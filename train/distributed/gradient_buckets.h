// The reduce-scatter of the gradients and the all-gather of the parameters, in buckets, for slabs that are sharded over
// the ranks.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "autograd/tensor/tensor.h"
#include "train/config/config_words.h"
#include "train/distributed/communicator.h"

namespace tapeformer {

// The slab is cut into buckets, a few of which travel at a time, and each bucket into a piece for each rank. So all
// ranks send and receive all the time, and the received pieces need only the memory of those few buckets. Buckets
// travel from the last to the first: backward finishes the gradients of the last layers first.
class GradientBuckets {
 public:
  struct Piece {
    std::int64_t begin, end;  // elements of the slab
  };
  // Elements of the slab that may be divided only every `unit` elements from their beginning on.
  struct Range {
    std::int64_t begin, end, unit;
  };

  // For slabs of `elements`, a multiple of ParameterSlab::kAlignment; pieces begin at such multiples too. With bf16,
  // the data that travels is rounded: gradients, and the changes of the weights. reduce() and ready() call summed(i) as
  // soon as own()[i] has its sums, while these are still in the CPU's cache; the last piece comes first. `summed` must
  // not be empty. `bucket` is in elements; 0: kBucket, or more for many ranks. `whole` lists ranges in order, whose
  // bounds and units are multiples of kAlignment. If there are any, the ranks' shares of the whole slab are nearly
  // equal, but their shares of a bucket need not be, and a bucket is at least as large as the largest unit.
  GradientBuckets(std::int64_t elements, DType dtype, Communicator& ranks, CommPrecision precision,
                  std::function<void(std::size_t)> summed, std::int64_t bucket = 0, std::vector<Range> whole = {});
  static constexpr std::int64_t kBucket = 1 << 19, kLeastPiece = 1 << 15;
  // The largest number of buckets that travel at a time. It is lower if `whole` makes the buckets larger than `bucket`.
  static constexpr std::size_t kUnderWay = 8;

  // Returns the pieces of this rank, in order.
  const std::vector<Piece>& own() const { return own_; }

  // A reduce-scatter (an all-to-all of pieces, then local sums): the own pieces of `slab` become their sums over the
  // ranks, added in the order of the ranks. The other pieces keep their values.
  void reduce(const Tensor& slab);
  // Says that the elements [begin, end), multiples of kAlignment, have their final values. Call it before reduce(),
  // while other elements are still being written, and once for each element. Buckets all of whose elements are ready
  // begin to travel.
  void ready(const Tensor& slab, std::int64_t begin, std::int64_t end);
  // Calls update(i) for own()[i], which changes that piece of `slab`, and sends the piece to all ranks. What travels as
  // bf16 is also rounded on its own rank, so that the slabs of all ranks have the same bits.
  void gather(const Tensor& slab, const std::function<void(std::size_t)>& update);

 private:
  struct Bucket {
    std::int64_t begin, end;
    std::vector<std::int64_t> cuts;  // where the pieces of the ranks begin, and the end of the last
    Piece own;
    std::size_t own_index;  // the index of `own` in own(), if it is not empty
    std::int64_t missing;   // elements that are not ready()
  };
  struct UnderWay {
    const Bucket* bucket;
    int transfer;
    std::size_t buffer;  // the index of the bucket's buffers in sent_ and received_
  };
  void make_buckets(std::int64_t elements, std::int64_t length);
  std::vector<std::int64_t> cuts(std::int64_t begin, std::int64_t end, std::vector<std::int64_t>& loads) const;
  std::optional<Piece> whole_around(std::int64_t element) const;
  std::vector<std::int64_t> piece_bytes(const Bucket& bucket) const;
  std::int64_t wire_size() const;
  void start_reducing(const Tensor& slab);  // sends the next bucket
  void add_up_oldest(const Tensor& slab);   // adds up the oldest bucket that reduce() has sent
  void receive_oldest(const Tensor& slab);  // finishes the oldest bucket that gather() has sent
  UnderWay finish_oldest();

  Communicator& ranks_;
  bool rounds_;
  DType dtype_;
  std::function<void(std::size_t)> summed_;
  std::vector<Range> whole_;
  std::vector<Bucket> buckets_;
  std::size_t most_under_way_ = kUnderWay;
  std::vector<Piece> own_;
  // One buffer of each kind for every bucket that travels. The buffers of sent_ are used only for rounded data.
  Tensor sent_[kUnderWay], received_[kUnderWay];
  Tensor before_;            // a piece, before gather() has changed it
  std::size_t started_ = 0;  // the number of buckets that reduce() has started, counted from the last one
  std::deque<UnderWay> under_way_;
};

}  // namespace tapeformer
