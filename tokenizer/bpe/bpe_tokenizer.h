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
  // The merges are in the order of their rank, each pair once. Throws Error when the result of a merge is not the bytes
  // of its two sides. A byte that is not an ordinary token can be encoded only within a pretoken that is a token.
  // whole_pretokens: a pretoken that is a token becomes that token, whether merges lead to it or not. tiktoken does so,
  // and Hugging Face calls it ignore_merges.
  // composes: text is brought into Unicode's normalization form C first, as for Qwen2.
  BpeTokenizer(Vocabulary vocabulary, std::vector<BpeMerge> merges, SplitPattern pattern = SplitPattern::gpt2,
               bool whole_pretokens = false, bool composes = false);
  std::string kind() const override { return "bpe"; }
  const std::vector<BpeMerge>& merges() const { return table_.merges(); }
  const MergeTable& merge_table() const { return table_; }
  SplitPattern pattern() const { return pattern_; }
  std::optional<SplitPattern> split_pattern() const override { return pattern_; }
  std::int64_t merge_count() const override { return static_cast<std::int64_t>(merges().size()); }
  std::vector<std::vector<std::int32_t>> merge_steps(std::string_view text) const override;
  // Whether some tokens arise from whole pretokens and not from merges.
  bool whole_pretokens() const { return !unmerged_.empty(); }
  bool composes() const { return composes_; }

 private:
  // Encodes each pretoken by itself (pretoken_encoder.h).
  void encode_plain(std::string_view text, std::size_t offset, std::vector<std::int32_t>& ids) const override;
  std::optional<std::string> normalized(std::string_view text, bool continues) const override;

  // The place of the first byte that has no token; npos if every byte has one.
  std::size_t find_unknown_byte(std::string_view text) const;

  SplitPattern pattern_;
  bool composes_;
  MergeTable table_;
  std::vector<std::uint32_t> lengths_;                           // bytes of each token
  std::unordered_map<std::string_view, std::int32_t> unmerged_;  // with whole_pretokens: tokens no merges lead to
  mutable EncoderPool encoders_;
};

}  // namespace tapeformer
