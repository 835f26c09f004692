// Byte-level byte pair encoding (Sennrich et al. 2016; GPT-2's form over bytes, Radford et al. 2019).
#pragma once

#include "tokenizer/merge_table.h"
#include "tokenizer/piece_encoder.h"
#include "tokenizer/split_pattern.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

class BpeTokenizer : public Tokenizer {
 public:
  // Merges in the order of their rank, each pair once. Each of the 256 bytes must be an ordinary token, and a merge's
  // result the bytes of its two sides: throws Error.
  BpeTokenizer(Vocabulary vocabulary, std::vector<BpeMerge> merges, SplitPattern pattern = SplitPattern::gpt2);
  std::string kind() const override { return "bpe"; }
  const std::vector<BpeMerge>& merges() const { return table_.merges(); }
  SplitPattern pattern() const { return pattern_; }

 private:
  // Each piece of the pre-tokeniser by itself (piece_encoder.h).
  void encode_plain(std::string_view text, std::size_t offset, std::vector<std::int32_t>& ids) const override;

  SplitPattern pattern_;
  MergeTable table_;
  std::vector<std::uint32_t> lengths_;  // of the tokens, in bytes
  mutable EncoderPool encoders_;
};

}  // namespace tapeformer
