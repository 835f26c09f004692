#include <algorithm>
#include <map>
#include <unordered_set>

#include "core/error.h"
#include "core/json.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/formats/json_text.h"
#include "tokenizer/formats/tokenizer_json.h"
#include "tokenizer/formats/written_bpe.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/word_tokenizer.h"

namespace tapeformer {
namespace {

using nlohmann::json;

// A setting that would change the ids must have the one value that is supported. A missing key means that value.
void expect(const json& object, const char* key, const json& expected, const std::string& where) {
  const auto entry = object.find(key);
  if (entry == object.end() || *entry == expected) return;
  fail(where, ".", key, ": ", show(*entry), " is not supported, only ", show(expected));
}

// The tokens of a file by id, as the file writes them.
Vocabulary read_vocabulary(const json& file, const json& vocab) {
  std::map<std::int32_t, std::string> by_id = read_vocab(vocab, "model.vocab");
  std::unordered_set<std::string> listed;
  Vocabulary vocabulary;
  const auto added = file.find("added_tokens");
  if (added != file.end()) {
    check(added->is_array(), "added_tokens: expected a list, got ", show(*added));
    for (const json& entry : *added) {
      const std::string& content = text_of(member(entry, "content", "added_tokens"), "added_tokens: content");
      const std::string where = str_cat("added_tokens: token ", show(content));
      const std::int32_t id = id_of(member(entry, "id", where), where);
      check(!content.empty(), "added_tokens: the token with id ", id, " is empty");
      for (const char* key : {"single_word", "lstrip", "rstrip"}) expect(entry, key, false, where);
      const auto in_vocab = vocab.find(content);
      check(in_vocab == vocab.end() || *in_vocab == id, where, " has id ", id, ", but in model.vocab ",
            in_vocab == vocab.end() ? "" : show(*in_vocab));
      check(listed.insert(content).second, where, " is listed twice");
      const auto [other, is_new] = by_id.try_emplace(id, content);
      check(is_new || other->second == content, where, " has the id ", id, " of the token ", show(other->second));
      const auto flag = [&](const char* key, bool otherwise) {
        const json value = entry.value(key, json(otherwise));
        check(value.is_boolean(), where, ".", key, ": expected true or false, got ", show(value));
        return value.get<bool>();
      };
      if (flag("special", true)) {
        vocabulary.special_ids.push_back(id);
        continue;
      }
      check(safe_cut(content, 1) == content.size(), where,
            ": white space behind a letter or a digit is not supported in a token that is not special");
      vocabulary.added.push_back(
          {.id = id, .text = content, .normalized = flag("normalized", true), .ordinary = in_vocab != vocab.end()});
    }
  }
  std::ranges::sort(vocabulary.special_ids);
  std::ranges::sort(vocabulary.added, {}, &AddedToken::id);
  vocabulary.tokens = tokens_by_id(by_id, "model.vocab");
  return vocabulary;
}

std::string where_merge(const json& list, std::size_t index) {
  return str_cat("model.merges: merge ", index + 1, " of ", list.size());
}

// Each merge as "a b" or as ["a", "b"].
std::vector<WrittenPair> read_pairs(const json& list) {
  check(list.is_array(), "model.merges: expected a list, got ", show(list));
  std::vector<WrittenPair> pairs;
  for (const json& merge : list) {
    std::optional<WrittenPair> pair;
    if (merge.is_string()) pair = read_written_pair(merge.get_ref<const std::string&>());
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      pair = WrittenPair{merge[0], merge[1]};
    }
    if (!pair) {
      fail(where_merge(list, pairs.size()), ": expected \"a b\" or [\"a\", \"b\"], got ", show(merge));
    }
    pairs.push_back(std::move(*pair));
  }
  return pairs;
}

bool is_type(const json& value, const char* type) { return value.is_object() && value.value("type", json()) == type; }

// The regular expression of a Split whose matches become the pretokens. It either isolates the matches, or removes what
// is between them, which is the same for our patterns: they leave nothing between two matches.
json read_split(const json& split, const std::string& where) {
  const bool removes = split.value("behavior", json()) == "Removed" && split.value("invert", json()) == true;
  if (!removes) {
    expect(split, "behavior", "Isolated", where);
    expect(split, "invert", false, where);
  }
  const json& pattern = member(split, "pattern", where);
  return pattern.is_object() ? pattern.value("Regex", json()) : json();
}

// Accepts ByteLevel with its built-in pattern, which is GPT-2's, or a Split by a known pattern with ByteLevel after it.
SplitPattern read_split_pattern(const json& splitter) {
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
    const json regex = read_split(parts[0], "pre_tokenizer: Split");
    // A missing key would mean that ByteLevel uses its own pattern.
    check(parts[1].contains("use_regex"), "pre_tokenizer: ByteLevel: the key \"use_regex\" is missing");
    check_byte_level(parts[1], false, "pre_tokenizer: ByteLevel");
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
  expect(model, "byte_fallback", false, "model");
  const json whole_pretokens = model.value("ignore_merges", json(false));
  check(whole_pretokens.is_boolean(), "model.ignore_merges: expected true or false, got ", show(whole_pretokens));
  const SplitPattern pattern = read_split_pattern(member(file, "pre_tokenizer", "file"));
  const Vocabulary written = read_vocabulary(file, member(model, "vocab", "model"));
  const json& merges = member(model, "merges", "model");
  return bpe_of_written(
      written, read_pairs(merges), "model.vocab", [&](std::size_t index) { return where_merge(merges, index); },
      pattern, whole_pretokens.get<bool>());
}

std::unique_ptr<Tokenizer> read_word_level(const json& file, const json& model) {
  expect(model, "unk_token", "<unk>", "model");
  const json& splitter = member(file, "pre_tokenizer", "file");
  const json pattern = is_type(splitter, "Split") ? read_split(splitter, "pre_tokenizer") : json();
  const bool chars = pattern == kCharPattern;
  check(chars || pattern == regex_of(SplitPattern::gpt2), "pre_tokenizer: ", show(splitter),
        " is not supported for WordLevel, only Split by any character or by GPT-2's pattern");
  Vocabulary vocabulary = read_vocabulary(file, member(model, "vocab", "model"));
  for (AddedToken& token : vocabulary.added) token.ordinary = false;  // there are no merges that could use it
  if (chars) return std::make_unique<CharTokenizer>(std::move(vocabulary));
  return std::make_unique<WordTokenizer>(std::move(vocabulary));
}

// Accepts the processors that change no ids of the text itself: ByteLevel changes offsets only, and TemplateProcessing
// adds special tokens around a text, which Tokenizer::encode does not do.
void check_post_processor(const json& processor) {
  if (processor.is_null() || is_type(processor, "ByteLevel") || is_type(processor, "TemplateProcessing")) return;
  if (is_type(processor, "Sequence") && processor.value("processors", json()).is_array()) {
    for (const json& part : processor["processors"]) check_post_processor(part);
    return;
  }
  fail("post_processor: ", show(processor), " is not supported, only null, ByteLevel and TemplateProcessing");
}

std::unique_ptr<Tokenizer> read_tokenizer(const json& file) {
  const json& model = member(file, "model", "file");
  check(model.is_object(), "model: expected an object, got ", show(model));
  expect(file, "normalizer", nullptr, "file");
  check_post_processor(file.value("post_processor", json()));
  // Old files, such as GPT-2's, do not name the type of a BPE model.
  const json type = model.value("type", model.contains("merges") ? json("BPE") : json());
  if (type == "BPE") return read_bpe(file, model);
  if (type == "WordLevel") return read_word_level(file, model);
  fail("model.type: ", show(type), " is not supported, only \"BPE\" and \"WordLevel\"");
}

}  // namespace

std::unique_ptr<Tokenizer> Tokenizer::from_json(std::string_view text, const std::string& origin) {
  try {
    return read_tokenizer(parse_json<json>(text));
  } catch (const Error& error) {
    fail(origin, ": ", error.what());
  }
}

}  // namespace tapeformer
