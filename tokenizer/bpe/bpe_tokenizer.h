// Byte-level byte pair encoding (Sennrich et al. 2016; GPT-2's form over bytes, Radford et al. 2019).
#pragma once

#include <unordered_map>

#include "tokenizer/bpe/merge_table.h"
#include "tokenizer/bpe/pretoken_encoder.h"
#include "tokenizer/split_pattern.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

class BpeTokenizer : public Tokenizer {
 public:
  // Merges in the order of their rank, each pair once. A merge's result must be the bytes of its two sides: throws
  // Error. Bytes that are no ordinary token cannot be encoded, except within whole pretokens that are tokens.
  // whole_pretokens: a pretoken that is a token becomes that token, whether merges lead to it or not (tiktoken's way,
  // Hugging Face's ignore_merges).
  BpeTokenizer(Vocabulary vocabulary, std::vector<BpeMerge> merges, SplitPattern pattern = SplitPattern::gpt2,
               bool whole_pretokens = false);
  std::string kind() const override { return "bpe"; }
  const std::vector<BpeMerge>& merges() const { return table_.merges(); }
  const MergeTable& merge_table() const { return table_; }
  SplitPattern pattern() const { return pattern_; }
  // Whether there are tokens that whole pretokens become and merges do not lead to.
  bool whole_pretokens() const { return !unmerged_.empty(); }

 private:
  // Each pretoken of the pre-tokeniser by itself (pretoken_encoder.h).
  void encode_plain(std::string_view text, std::size_t offset, std::vector<std::int32_t>& ids) const override;

  // The place of the first byte that has no token; npos where there is none.
  std::size_t find_unknown_byte(std::string_view text) const;

  SplitPattern pattern_;
  MergeTable table_;
  std::vector<std::uint32_t> lengths_;                           // of the tokens, in bytes
  std::unordered_map<std::string_view, std::int32_t> unmerged_;  // with whole_pretokens: what merges do not lead to
  mutable EncoderPool encoders_;
};

}  // namespace tapeformer
