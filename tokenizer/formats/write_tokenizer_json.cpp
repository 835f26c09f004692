#include <map>
#include <nlohmann/json.hpp>

#include "core/json.h"
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

// For GPT-2's pattern, ByteLevel alone is enough: it has the pattern built in.
ordered_json split_to_bytes(SplitPattern pattern) {
  if (pattern == SplitPattern::gpt2) return byte_level();
  return {{"type", "Sequence"}, {"pretokenizers", ordered_json::array({split(regex_of(pattern)), byte_level(false)})}};
}

ordered_json added_token(std::int32_t id, std::string_view content, bool normalized, bool special) {
  return {{"id", id},        {"content", content},       {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", normalized}, {"special", special}};
}

// The tokens in the order of the ids. They are appended as to a vector, since an insertion by key would search all
// earlier keys.
ordered_json::object_t vocab_of(const std::vector<std::string>& written) {
  ordered_json::object_t vocab;
  for (std::size_t id = 0; id < written.size(); ++id) {
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
          {"vocab", vocab_of(written)},
          {"merges", std::move(merges)}};
}

}  // namespace

std::string Tokenizer::to_json() const {
  const auto* bpe = dynamic_cast<const BpeTokenizer*>(this);
  const std::vector<std::string> written = bpe ? written_tokens(*bpe) : tokens();
  std::map<std::int32_t, ordered_json> by_id;
  for (const std::int32_t id : special_ids()) by_id[id] = added_token(id, token_bytes(id), false, true);
  for (const AddedToken& token : added_tokens()) {
    by_id[token.id] = added_token(token.id, token.text, token.normalized, false);
  }
  ordered_json added = ordered_json::array();
  for (auto& [id, token] : by_id) added.push_back(std::move(token));
  ordered_json file = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  file["added_tokens"] = std::move(added);
  file["normalizer"] = nullptr;
  file["pre_tokenizer"] =
      bpe ? split_to_bytes(bpe->pattern()) : split(kind() == "char" ? kCharPattern : regex_of(SplitPattern::gpt2));
  file["post_processor"] = nullptr;
  file["decoder"] = bpe ? byte_level() : ordered_json{{"type", "Fuse"}};
  file["model"] = bpe ? bpe_model(*bpe, written)
                      : ordered_json{{"type", "WordLevel"}, {"vocab", vocab_of(written)}, {"unk_token", "<unk>"}};
  return dump_json(file, 2) + "\n";
}

}  // namespace tapeformer
