// Byte pair encoding of single pretokens: the merge with the smallest rank is done first, the leftmost one if there are
// several, until no merge is possible.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/bpe/long_pretoken_encoder.h"
#include "tokenizer/bpe/merge_table.h"
#include "tokenizer/bpe/pretoken_key.h"

namespace tapeformer {

// One thread's workspace. It remembers the ids of short pretokens: most of a text's pretokens are repeats.
class PretokenEncoder {
 public:
  // Both must outlive it. `lengths` holds the number of bytes of each token, by id.
  PretokenEncoder(const MergeTable& merges, const std::vector<std::uint32_t>& lengths)
      : merges_(merges), long_pretokens_(merges, lengths), remembered_(kRemembered) {}

  // Appends the ids of `pretoken`, which is not empty. Throws Error if it has 2 GB or more.
  void encode(std::string_view pretoken, std::vector<std::int32_t>& ids);
  // The ids of the bytes of a pretoken of at most kShort bytes, and those after each merge that encode() does.
  std::vector<std::vector<std::int32_t>> merge_steps(std::string_view pretoken) const;
  static constexpr std::size_t kShort = 64;

 private:
  static constexpr std::size_t kRemembered = std::size_t{1} << 16;  // 2 MB, which stay in a core's caches
  static constexpr std::size_t kMostIds = 4;
  struct Remembered {
    PretokenKey key;
    std::array<std::int32_t, kMostIds> ids;  // -1 after the last one
  };

  void encode_short(std::string_view pretoken, std::vector<std::int32_t>& ids) const;
  // Merges the symbols of a pretoken of at most kShort bytes, and returns how many are left. Calls visit(symbols)
  // before the first merge, and after each one.
  using Symbols = std::array<std::int32_t, kShort>;
  template <class Visit>
  std::size_t merge_symbols(std::string_view pretoken, Symbols& symbol, const Visit& visit) const;

  const MergeTable& merges_;
  LongPretokenEncoder long_pretokens_;
  std::vector<Remembered> remembered_;  // by the hash of the key; a new pretoken replaces an old one
};

// Workspaces for all threads that encode at the same time. Each keeps what it remembers for the next text.
class EncoderPool {
 public:
  // A workspace, which is returned when this goes out of scope.
  class Lease {
   public:
    Lease(EncoderPool& pool, std::unique_ptr<PretokenEncoder> encoder) : pool_(pool), encoder_(std::move(encoder)) {}
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    PretokenEncoder* operator->() const { return encoder_.get(); }

   private:
    EncoderPool& pool_;
    std::unique_ptr<PretokenEncoder> encoder_;
  };

  Lease take(const MergeTable& merges, const std::vector<std::uint32_t>& lengths);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<PretokenEncoder>> idle_;
};

}  // namespace tapeformer
