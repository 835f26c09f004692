// The merges of byte pair encoding, looked up by the pair.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tokenizer/bpe/pair_map.h"

namespace tapeformer {

// Two neighbouring tokens become one.
struct BpeMerge {
  std::int32_t left, right, result;
  friend bool operator==(const BpeMerge&, const BpeMerge&) = default;
};

// The token of each byte, or -1. Only `ordinary_ids` count.
std::array<std::int32_t, 256> ids_of_bytes(std::span<const std::string> tokens,
                                           std::span<const std::int32_t> ordinary_ids);

class MergeTable {
 public:
  // A possible merge as one number, so that one comparison finds the smallest rank: the rank is in the upper half, the
  // resulting token in the lower half.
  using Candidate = std::uint64_t;
  static constexpr Candidate kNone = ~Candidate{0};
  static constexpr std::int32_t rank_of(Candidate candidate) { return static_cast<std::int32_t>(candidate >> 32); }
  static constexpr std::int32_t result_of(Candidate candidate) { return static_cast<std::int32_t>(candidate); }

  // The merges are in the order of their rank, each pair once. id_of_byte holds the token of each byte, or -1.
  MergeTable(std::vector<BpeMerge> merges, const std::array<std::int32_t, 256>& id_of_byte);

  const std::vector<BpeMerge>& merges() const { return merges_; }
  std::int32_t id_of_byte(char byte) const { return id_of_byte_[static_cast<std::uint8_t>(byte)]; }
  bool has_all_bytes() const { return has_all_bytes_; }
  // The merge of two neighbouring tokens; kNone if they do not merge.
  Candidate find(std::int32_t left, std::int32_t right) const {
    const Candidate* candidate = by_pair_.find(pair_key(left, right));
    return candidate ? *candidate : kNone;
  }
  // The merge of the tokens of two neighbouring bytes.
  Candidate find_bytes(char left, char right) const {
    return by_bytes_[static_cast<std::size_t>(static_cast<std::uint8_t>(left)) << 8 | static_cast<std::uint8_t>(right)];
  }

 private:
  std::vector<BpeMerge> merges_;
  std::array<std::int32_t, 256> id_of_byte_;
  bool has_all_bytes_;
  std::vector<Candidate> by_bytes_;
  PairMap<Candidate> by_pair_;
};

}  // namespace tapeformer
