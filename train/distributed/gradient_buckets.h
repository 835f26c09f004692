// A slab, of parameters or of their gradients, that is dealt out to ranks: summed in shares, and gathered again.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "autograd/tensor/tensor.h"
#include "train/config/config_words.h"
#include "train/distributed/communicator.h"

namespace tapeformer {

// The slab is cut into buckets, a few of which travel at a time, and each bucket into a piece for each rank. So all
// ranks send and receive all the time, and what waits to be summed takes the memory of those few buckets. Buckets
// travel from the last to the first: backward finishes the gradients of the last layers first.
class GradientBuckets {
 public:
  struct Piece {
    std::int64_t begin, end;  // elements of the slab
  };

  // For slabs of `elements`, a multiple of ParameterSlab::kAlignment, where pieces begin too. With bf16, what travels
  // is rounded: gradients, and the changes of the weights. reduce() and ready() call summed(i), which may not be empty,
  // when own()[i] has its sums, while these are still in the cache; the last piece comes first. `bucket` is in
  // elements; 0: kBucket, or more for many ranks. No piece begins within a stretch of `whole`, which are in order and
  // begin and end at multiples of kAlignment: where there are some, ranks have nearly equal shares of the slab, but not
  // of each bucket, and a bucket is as large as the largest of them.
  GradientBuckets(std::int64_t elements, DType dtype, Communicator& ranks, CommPrecision precision,
                  std::function<void(std::size_t)> summed, std::int64_t bucket = 0, std::vector<Piece> whole = {});
  static constexpr std::int64_t kBucket = 1 << 19, kLeastPiece = 1 << 15;
  static constexpr std::size_t kUnderWay = 8;  // buckets that travel at a time; fewer, where they are larger than asked

  // The pieces of this rank, in order.
  const std::vector<Piece>& own() const { return own_; }

  // Own pieces of `slab` become their sums over the ranks, added in the order of the ranks; the others keep what they
  // have. (A reduce-scatter: an all-to-all of pieces, and sums here.)
  void reduce(const Tensor& slab);
  // Before reduce(), while the slab is still written: the elements [begin, end), multiples of kAlignment, have their
  // values. Buckets that are ready begin to travel. Each element is told of once.
  void ready(const Tensor& slab, std::int64_t begin, std::int64_t end);
  // Calls update(i) for own()[i], which changes that piece of `slab`, and gives the piece to all ranks. What travels as
  // bf16 is rounded for its own rank too, so that the slabs of all ranks have the same bits.
  void gather(const Tensor& slab, const std::function<void(std::size_t)>& update);

 private:
  struct Bucket {
    std::int64_t begin, end;
    std::vector<std::int64_t> cuts;  // where the pieces of the ranks begin, and the end of the last
    Piece own;
    std::size_t own_index;  // of `own` in own(), if it is not empty
    std::int64_t missing;   // elements that are not ready()
  };
  struct UnderWay {
    const Bucket* bucket;
    int transfer;
    std::size_t place;  // which of the buffers
  };
  void make_buckets(std::int64_t elements, std::int64_t length);
  std::vector<std::int64_t> cuts(std::int64_t begin, std::int64_t end, std::vector<std::int64_t>& loads) const;
  const Piece* whole_around(std::int64_t place) const;
  std::vector<std::int64_t> piece_bytes(const Bucket& bucket) const;
  std::int64_t wire_size() const;
  void start_reducing(const Tensor& slab);  // the next bucket
  void add_up_oldest(const Tensor& slab);   // of those that reduce() has under way
  void take_oldest(const Tensor& slab);     // of those that gather() has under way
  UnderWay finish_oldest();

  Communicator& ranks_;
  bool rounds_;
  DType dtype_;
  std::function<void(std::size_t)> summed_;
  std::vector<Piece> whole_;
  std::vector<Bucket> buckets_;
  std::size_t most_under_way_ = kUnderWay;
  std::vector<Piece> own_;
  // A buffer of each for every bucket under way. Of sent_, only what is rounded needs one.
  Tensor sent_[kUnderWay], received_[kUnderWay];
  Tensor before_;            // a piece, before gather() has changed it
  std::size_t started_ = 0;  // buckets of reduce(), from the last one on
  std::deque<UnderWay> under_way_;
};

}  // namespace tapeformer
