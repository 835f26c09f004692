#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "autograd/core/error.h"
#include "tokenizer/bpe_tokenizer.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/tokenizer_json.h"
#include "tokenizer/word_tokenizer.h"

namespace tapeformer {
namespace {

using nlohmann::json;

// A value for a message, on one short line.
std::string show(const json& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) return value.contains("type") ? concat("an object of type ", value["type"]) : "an object";
  std::string text = value.dump();
  constexpr std::size_t kMost = 60;
  if (text.size() > kMost) {
    std::size_t end = kMost;
    while ((text[end] & 0xC0) == 0x80) --end;  // not within a character
    text = text.substr(0, end) + "...";
  }
  return text;
}

const json& member(const json& object, const char* key, const std::string& where) {
  check(object.is_object(), where, ": expected an object, got ", show(object));
  const auto entry = object.find(key);
  check(entry != object.end(), where, ": the key \"", key, "\" is missing");
  return *entry;
}

const std::string& text_of(const json& value, const std::string& where) {
  check(value.is_string(), where, ": expected a string, got ", show(value));
  return value.get_ref<const std::string&>();
}

std::int64_t id_of(const json& value, const std::string& where) {
  check(value.is_number_integer() && value >= 0, where, ": expected a token id (0 or more), got ", show(value));
  return value.get<std::int64_t>();
}

// Settings that would change the ids must have the one value that we work by. A missing key has it.
void expect(const json& object, const char* key, const json& expected, const std::string& where) {
  const auto entry = object.find(key);
  if (entry == object.end() || *entry == expected) return;
  fail(where, ".", key, ": ", show(*entry), " is not supported, only ", show(expected));
}

// The tokens of a file by id, as the file writes them.
Vocabulary read_vocabulary(const json& file, const json& vocab) {
  check(vocab.is_object(), "model.vocab: expected an object, got ", show(vocab));
  std::map<std::int64_t, std::string> by_id;
  for (const auto& [token, value] : vocab.items()) {
    const std::int64_t id = id_of(value, concat("model.vocab: token ", show(token)));
    const auto [entry, is_new] = by_id.try_emplace(id, token);
    check(is_new, "model.vocab: the tokens ", show(entry->second), " and ", show(token), " have the same id ", id);
  }
  std::unordered_set<std::string> specials;
  std::vector<std::int32_t> special_ids;
  const auto added = file.find("added_tokens");
  if (added != file.end()) {
    check(added->is_array(), "added_tokens: expected a list, got ", show(*added));
    for (const json& entry : *added) {
      const std::string& content = text_of(member(entry, "content", "added_tokens"), "added_tokens: content");
      const std::string where = concat("added_tokens: token ", show(content));
      const std::int64_t id = id_of(member(entry, "id", where), where);
      check(!content.empty(), "added_tokens: the token with id ", id, " is empty");
      for (const char* key : {"single_word", "lstrip", "rstrip"}) expect(entry, key, false, where);
      const auto in_vocab = vocab.find(content);
      check(in_vocab == vocab.end() || *in_vocab == id, where, " has id ", id, ", but in model.vocab ",
            in_vocab == vocab.end() ? "" : show(*in_vocab));
      check(specials.insert(content).second, where, " is listed twice");
      const auto [other, is_new] = by_id.try_emplace(id, content);
      check(is_new || other->second == content, where, " has the id ", id, " of the token ", show(other->second));
      special_ids.push_back(static_cast<std::int32_t>(id));
    }
  }
  std::sort(special_ids.begin(), special_ids.end());
  Vocabulary written{{}, std::move(special_ids)};
  for (auto& [id, token] : by_id) {
    const auto expected = static_cast<std::int64_t>(written.tokens.size());
    check(id == expected, "model.vocab: no token has the id ", expected, ", but ", show(token), " has ", id);
    written.tokens.push_back(std::move(token));
  }
  return written;
}

// A merge as "a b" or as ["a", "b"].
template <class Where>
std::pair<std::string, std::string> read_pair(const json& merge, const Where& where) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
    return {merge[0], merge[1]};
  if (merge.is_string()) {
    const std::string& text = merge.get_ref<const std::string&>();
    const std::size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  }
  fail(where(), ": expected \"a b\" or [\"a\", \"b\"], got ", show(merge));
}

// By the ids of the tokens that are not special.
std::vector<BpeMerge> read_merges(const json& list, const std::unordered_map<std::string_view, std::int32_t>& ids) {
  check(list.is_array(), "model.merges: expected a list, got ", show(list));
  std::vector<BpeMerge> merges;
  std::unordered_set<std::uint64_t> seen;
  for (const json& entry : list) {
    const auto where = [&] { return concat("model.merges: merge ", merges.size() + 1, " of ", list.size()); };
    const auto pair = read_pair(entry, where);
    const auto find = [&](const std::string& token) {
      const auto found = ids.find(token);
      if (found != ids.end()) return found->second;
      fail(where(), " ('", pair.first, "' + '", pair.second, "'): '", token,
           "' is not an ordinary token of model.vocab");
    };
    const BpeMerge merge{find(pair.first), find(pair.second), find(pair.first + pair.second)};
    if (!seen.insert(pair_key(merge.left, merge.right)).second) {
      fail(where(), " ('", pair.first, "' + '", pair.second, "') is there twice");
    }
    merges.push_back(merge);
  }
  return merges;
}

// ByteLevel with its own pattern, which is GPT-2's; or a Split by one of ours and ByteLevel without a pattern.
SplitPattern read_split_pattern(const json& splitter) {
  const auto is_type = [](const json& value, const char* type) {
    return value.is_object() && value.value("type", json()) == type;
  };
  const auto check_byte_level = [](const json& byte_level, bool use_regex, const std::string& where) {
    expect(byte_level, "add_prefix_space", false, where);
    expect(byte_level, "use_regex", use_regex, where);
  };
  if (is_type(splitter, "ByteLevel")) {
    check_byte_level(splitter, true, "pre_tokenizer");
    return SplitPattern::gpt2;
  }
  const json parts = is_type(splitter, "Sequence") ? splitter.value("pretokenizers", json()) : json();
  if (parts.is_array() && parts.size() == 2 && is_type(parts[0], "Split") && is_type(parts[1], "ByteLevel")) {
    expect(parts[0], "behavior", "Isolated", "pre_tokenizer: Split");
    expect(parts[0], "invert", false, "pre_tokenizer: Split");
    // Its own pattern is the default, so a missing key will not do.
    check(parts[1].contains("use_regex"), "pre_tokenizer: ByteLevel: the key \"use_regex\" is missing");
    check_byte_level(parts[1], false, "pre_tokenizer: ByteLevel");
    const json regex = parts[0].value("/pattern/Regex"_json_pointer, json());
    for (const SplitPatternInfo& info : kSplitPatterns) {
      if (regex == info.regex) return info.pattern;
    }
    fail("pre_tokenizer: Split by ", show(regex), " is not supported, only by GPT-2's pattern or cl100k's");
  }
  fail("pre_tokenizer: ", show(splitter), " is not supported for BPE, only ByteLevel, or Split and ByteLevel");
}

std::unique_ptr<Tokenizer> read_bpe(const json& file, const json& model) {
  for (const char* key : {"dropout", "unk_token"}) expect(model, key, nullptr, "model");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (model.value(key, json()) != "") expect(model, key, nullptr, "model");
  }
  for (const char* key : {"byte_fallback", "ignore_merges"}) expect(model, key, false, "model");
  const SplitPattern pattern = read_split_pattern(member(file, "pre_tokenizer", "file"));

  const Vocabulary written = read_vocabulary(file, member(model, "vocab", "model"));
  Vocabulary vocabulary = written;
  std::unordered_map<std::string_view, std::int32_t> ordinary;
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(written.tokens.size()); ++id) {
    if (std::binary_search(written.special_ids.begin(), written.special_ids.end(), id)) continue;
    const auto bytes = read_bytes(written.tokens[id]);
    check(bytes && !bytes->empty(), "model.vocab: token ", id, " is not made of GPT-2's byte-level characters");
    vocabulary.tokens[id] = *bytes;
    ordinary.emplace(written.tokens[id], id);
  }
  std::vector<BpeMerge> merges = read_merges(member(model, "merges", "model"), ordinary);
  return std::make_unique<BpeTokenizer>(std::move(vocabulary), std::move(merges), pattern);
}

std::unique_ptr<Tokenizer> read_word_level(const json& file, const json& model) {
  expect(model, "unk_token", "<unk>", "model");
  const json& splitter = member(file, "pre_tokenizer", "file");
  const json pattern = splitter.is_object() ? splitter.value("/pattern/Regex"_json_pointer, json()) : json();
  const bool chars = pattern == kCharPattern;
  check(chars || pattern == regex_of(SplitPattern::gpt2), "pre_tokenizer: ", show(splitter),
        " is not supported for WordLevel, only Split by any character or by GPT-2's pattern");
  expect(splitter, "type", "Split", "pre_tokenizer");
  expect(splitter, "behavior", "Isolated", "pre_tokenizer");
  expect(splitter, "invert", false, "pre_tokenizer");
  Vocabulary vocabulary = read_vocabulary(file, member(model, "vocab", "model"));
  if (chars) return std::make_unique<CharTokenizer>(std::move(vocabulary));
  return std::make_unique<WordTokenizer>(std::move(vocabulary));
}

std::unique_ptr<Tokenizer> read_tokenizer(const json& file) {
  const json& model = member(file, "model", "file");
  check(model.is_object(), "model: expected an object, got ", show(model));
  expect(file, "normalizer", nullptr, "file");
  const json processor = file.value("post_processor", json());
  check(processor.is_null() || (processor.is_object() && processor.value("type", json()) == "ByteLevel"),
        "post_processor: ", show(processor), " is not supported, only null or ByteLevel");
  // Files of early versions, GPT-2's among them, leave the type of a BPE model out.
  const json type = model.value("type", model.contains("merges") ? json("BPE") : json());
  if (type == "BPE") return read_bpe(file, model);
  if (type == "WordLevel") return read_word_level(file, model);
  fail("model.type: ", show(type), " is not supported, only \"BPE\" and \"WordLevel\"");
}

}  // namespace

std::unique_ptr<Tokenizer> Tokenizer::from_json(std::string_view text, const std::string& origin) {
  try {
    return read_tokenizer(json::parse(text));
  } catch (const json::parse_error& error) {
    fail(origin, ": not valid JSON at byte ", error.byte);
  } catch (const Error& error) {
    fail(origin, ": ", error.what());
  }
}

}  // namespace tapeformer
