#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "tokenizer/formats/pieces_json.h"
#include "tokenizer/formats/tokenizer_json.h"
#include "tokenizer/formats/written_bpe.h"

namespace tapeformer {
namespace {

using nlohmann::ordered_json;

ordered_json byte_level(bool use_regex = true) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
}

ordered_json split(std::string_view pattern) {
  return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
}

// For GPT-2's pattern, ByteLevel alone is enough: it has the pattern built in. SmolLM's is that with digits apart.
ordered_json split_to_bytes(SplitPattern pattern) {
  if (pattern == SplitPattern::gpt2) return byte_level();
  if (pattern == SplitPattern::smollm) {
    const ordered_json digits = {{"type", "Digits"}, {"individual_digits", true}};
    return {{"type", "Sequence"}, {"pretokenizers", ordered_json::array({digits, byte_level()})}};
  }
  return {{"type", "Sequence"}, {"pretokenizers", ordered_json::array({split(regex_of(pattern)), byte_level(false)})}};
}

ordered_json added_token(std::int32_t id, std::string_view text, const TokenFlags& flags, bool special) {
  return {{"id", id},
          {"content", text},
          {"single_word", false},
          {"lstrip", flags.lstrip},
          {"rstrip", flags.rstrip},
          {"normalized", flags.normalized},
          {"special", special}};
}

// The first id that added_tokens alone lists: that of the first added token behind all tokens of the model. In
// model.vocab it would become a token of the model, whose letters may stand for bytes. Readers number the tokens that
// only added_tokens has from the size of model.vocab on, so the special tokens behind it are not there either.
std::int64_t vocab_end(const Tokenizer& tokenizer) {
  std::int64_t end = tokenizer.vocab_size();
  while (end > 0 && !tokenizer.is_ordinary(static_cast<std::int32_t>(end - 1))) --end;
  if (const auto unknown = tokenizer.unknown_id()) end = std::max<std::int64_t>(end, *unknown + 1);
  for (const AddedToken& token : tokenizer.added_tokens()) {
    if (token.id >= end) return token.id;
  }
  return tokenizer.vocab_size();
}

// The tokens in the order of the ids. They are appended as to a vector, since an insertion by key would search all
// earlier keys.
ordered_json::object_t vocab_of(const Tokenizer& tokenizer, const std::vector<std::string>& written) {
  ordered_json::object_t vocab;
  const auto end = static_cast<std::size_t>(vocab_end(tokenizer));
  for (std::size_t id = 0; id < end; ++id) {
    static_cast<ordered_json::object_t::Container&>(vocab).emplace_back(written[id], id);
  }
  return vocab;
}

ordered_json bpe_model(const BpeTokenizer& tokenizer, const std::vector<std::string>& written) {
  ordered_json merges = ordered_json::array();
  for (const BpeMerge& merge : tokenizer.merges()) merges.push_back(written[merge.left] + " " + written[merge.right]);
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", tokenizer.whole_pretokens()},
          {"vocab", vocab_of(tokenizer, written)},
          {"merges", std::move(merges)}};
}

ordered_json added_tokens_of(const Tokenizer& tokenizer) {
  std::map<std::int32_t, ordered_json> by_id;
  for (const std::int32_t id : tokenizer.special_ids()) {
    by_id[id] = added_token(id, tokenizer.token_bytes(id), tokenizer.special_flags(id), true);
  }
  for (const AddedToken& token : tokenizer.added_tokens()) {
    by_id[token.id] = added_token(token.id, token.text, token.flags, false);
  }
  ordered_json added = ordered_json::array();
  for (auto& [id, token] : by_id) added.push_back(std::move(token));
  return added;
}

}  // namespace

std::string Tokenizer::to_json() const {
  ordered_json file = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  file["added_tokens"] = added_tokens_of(*this);
  file["normalizer"] = nullptr;
  file["pre_tokenizer"] = nullptr;
  file["post_processor"] = frame().json.empty() ? ordered_json() : parse_json<ordered_json>(frame().json);
  if (const auto* const pieces = dynamic_cast<const SentencePieceTokenizer*>(this)) {
    write_sentencepiece(*pieces, file, vocab_of(*this, pieces->written()));
  } else if (const auto* const words = dynamic_cast<const WordPieceTokenizer*>(this)) {
    write_wordpiece(*words, file, vocab_of(*this, words->written()));
  } else if (const auto* const bpe = dynamic_cast<const BpeTokenizer*>(this)) {
    const std::vector<std::string> written = written_tokens(*bpe);
    if (bpe->composes()) file["normalizer"] = {{"type", "NFC"}};
    file["pre_tokenizer"] = split_to_bytes(bpe->pattern());
    file["decoder"] = byte_level();
    file["model"] = bpe_model(*bpe, written);
  } else {
    file["pre_tokenizer"] = split(kind() == "char" ? kCharPattern : regex_of(SplitPattern::gpt2));
    file["decoder"] = {{"type", "Fuse"}};
    file["model"] = {{"type", "WordLevel"}, {"vocab", vocab_of(*this, tokens())}, {"unk_token", "<unk>"}};
  }
  return dump_json(file, 2) + "\n";
}

std::string without_frame(std::string_view json) {
  auto file = parse_json<ordered_json>(json);
  file["post_processor"] = nullptr;
  return dump_json(file, 2) + "\n";
}

}  // namespace tapeformer
