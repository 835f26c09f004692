// A slab, of parameters or of their gradients, that is dealt out to ranks: summed in shares, and gathered again.
#pragma once

#include <vector>

#include "autograd/tensor/tensor.h"
#include "train/config/config_words.h"
#include "train/distributed/communicator.h"

namespace tapeformer {

// The slab is cut into buckets, which travel one after the other, and each bucket into a piece for each rank. So all
// ranks send and receive all the time, and what waits to be summed takes the memory of two buckets.
class SlabShares {
 public:
  struct Piece {
    std::int64_t begin, end;  // elements of the slab
  };

  // For slabs of `elements`, a multiple of ParameterSlab::kAlignment, where pieces begin too. With bf16, what travels
  // is rounded: gradients, and the changes of the weights. `bucket` is in elements; 0: kBucket, or more for many ranks.
  SlabShares(std::int64_t elements, DType dtype, Communicator& ranks, CommPrecision precision, std::int64_t bucket = 0);
  static constexpr std::int64_t kBucket = 1 << 22, kLeastPiece = 1 << 15;

  // The pieces of this rank, in order.
  const std::vector<Piece>& own() const { return own_; }

  // Own pieces of `slab` become their sums over the ranks, added in the order of the ranks; the others keep what they
  // have. (A reduce-scatter: an all-to-all of pieces, and sums here.)
  void reduce(const Tensor& slab);
  // Call it before own pieces of `slab` are changed that gather() will send.
  void remember(const Tensor& slab);
  // All ranks get the own pieces of each. Those that travel as bf16 are rounded for their own rank too, so that the
  // slabs of all ranks have the same bits.
  void gather(const Tensor& slab);

 private:
  struct Bucket {
    std::int64_t begin, end;
    Piece own;
  };
  Piece piece(std::int64_t begin, std::int64_t end, int rank) const;
  std::vector<std::int64_t> piece_bytes(const Bucket& bucket) const;
  std::int64_t wire_size() const;

  Communicator& ranks_;
  bool rounds_;
  DType dtype_;
  std::vector<Bucket> buckets_;
  std::vector<Piece> own_;
  Tensor sent_[2], received_[2];  // of a bucket each, for every second bucket
  Tensor before_;                 // own pieces, one behind the other
};

}  // namespace tapeformer
