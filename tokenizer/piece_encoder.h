// Byte pair encoding of one piece after another: within each, the merge of least rank is done first, the leftmost of
// equal ones, until none is left.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/long_piece_encoder.h"
#include "tokenizer/merge_table.h"
#include "tokenizer/piece_key.h"

namespace tapeformer {

// One thread's workspace. It remembers the ids of short pieces: most of a text's pieces are repeats.
class PieceEncoder {
 public:
  // Both must outlive it; `lengths` are those of the tokens in bytes, by id.
  PieceEncoder(const MergeTable& merges, const std::vector<std::uint32_t>& lengths)
      : merges_(merges), long_pieces_(merges, lengths), remembered_(kRemembered) {}

  // Appends the ids of `piece`, which is not empty. Throws Error for one of 2 GB or more.
  void encode(std::string_view piece, std::vector<std::int32_t>& ids);

 private:
  static constexpr std::size_t kRemembered = std::size_t{1} << 16;  // 2 MB: more do not stay in a core's caches
  static constexpr std::size_t kMostIds = 4, kShort = 64;
  struct Remembered {
    PieceKey key;
    std::array<std::int32_t, kMostIds> ids;  // -1 behind the last
  };

  void encode_short(std::string_view piece, std::vector<std::int32_t>& ids) const;

  const MergeTable& merges_;
  LongPieceEncoder long_pieces_;
  std::vector<Remembered> remembered_;  // at the place that the hash of the key gives; the newest one stays
};

// Workspaces for as many threads as encode at the same time; each keeps what it remembers for the next text.
class EncoderPool {
 public:
  // A workspace, given back when this goes out of scope.
  class Lease {
   public:
    Lease(EncoderPool& pool, std::unique_ptr<PieceEncoder> encoder) : pool_(pool), encoder_(std::move(encoder)) {}
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    PieceEncoder* operator->() const { return encoder_.get(); }

   private:
    EncoderPool& pool_;
    std::unique_ptr<PieceEncoder> encoder_;
  };

  Lease take(const MergeTable& merges, const std::vector<std::uint32_t>& lengths);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<PieceEncoder>> idle_;
};

}  // namespace tapeformer
