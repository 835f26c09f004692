// Byte-level byte pair encoding (Sennrich et al. 2016; GPT-2's form over bytes, Radford et al. 2019).
#pragma once

#include <array>
#include <unordered_map>

#include "tokenizer/tokenizer.h"

namespace tapeformer {

// Two tokens side by side become one.
struct BpeMerge {
  std::int32_t left, right, result;
  friend bool operator==(const BpeMerge&, const BpeMerge&) = default;
};

// A pair of ids as one key.
constexpr std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
}

class BpeTokenizer : public Tokenizer {
 public:
  // Merges in the order of their rank, each pair once. Each of the 256 bytes must be an ordinary token: throws Error.
  BpeTokenizer(Vocabulary vocabulary, std::vector<BpeMerge> merges);
  std::string kind() const override { return "bpe"; }
  const std::vector<BpeMerge>& merges() const { return merges_; }

 private:
  // Within each piece of the pre-tokeniser, the merge of least rank is done first, the leftmost of equal ones, until
  // none is left.
  void encode_plain(std::string_view text, std::size_t offset, std::vector<std::int32_t>& ids) const override;
  void encode_piece(std::string_view piece, std::vector<std::int32_t>& ids) const;

  std::vector<BpeMerge> merges_;
  std::unordered_map<std::uint64_t, std::int32_t> rank_of_;  // by pair_key
  std::array<std::int32_t, 256> id_of_byte_;
};

}  // namespace tapeformer
