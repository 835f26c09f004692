#include "core/error.h"
#include "core/json.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/formats/json_text.h"
#include "tokenizer/formats/pieces_json.h"
#include "tokenizer/formats/tokenizer_json.h"
#include "tokenizer/formats/tokenizer_parts.h"
#include "tokenizer/word_tokenizer.h"

namespace tapeformer {
namespace {

using nlohmann::json;

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

// Accepts ByteLevel with its built-in pattern, which is GPT-2's; Digits before it, as SmolLM has them; or a Split by a
// known pattern with ByteLevel after it.
SplitPattern read_split_pattern(const json& splitter) {
  const auto check_byte_level = [](const json& byte_level, bool use_regex, const std::string& where) {
    expect(byte_level, "add_prefix_space", false, where);
    expect(byte_level, "use_regex", use_regex, where);
  };
  if (is_type(splitter, "ByteLevel")) {
    check_byte_level(splitter, true, "pre_tokenizer");
    return SplitPattern::gpt2;
  }
  const std::vector<json> parts = components(splitter, "pretokenizers");
  if (parts.size() == 2 && is_type(parts[0], "Digits") && is_type(parts[1], "ByteLevel")) {
    check(flag_of(parts[0], "individual_digits", false, "pre_tokenizer: Digits"),
          "pre_tokenizer: Digits: individual_digits: false is not supported, only true");
    check_byte_level(parts[1], true, "pre_tokenizer: ByteLevel");
    return SplitPattern::smollm;
  }
  if (parts.size() == 2 && is_type(parts[0], "Split") && is_type(parts[1], "ByteLevel")) {
    const json regex = read_split(parts[0], "pre_tokenizer: Split");
    // A missing key would mean that ByteLevel uses its own pattern.
    check(parts[1].contains("use_regex"), "pre_tokenizer: ByteLevel: the key \"use_regex\" is missing");
    check_byte_level(parts[1], false, "pre_tokenizer: ByteLevel");
    for (const SplitPatternInfo& info : kSplitPatterns) {
      if (regex == info.regex) return info.pattern;
    }
    fail("pre_tokenizer: Split by ", show(regex), " is not supported, only by the pattern of ", kSplitPatternNames);
  }
  fail("pre_tokenizer: ", show(splitter),
       " is not supported for BPE, only ByteLevel, or Split and ByteLevel, or Metaspace");
}

std::unique_ptr<Tokenizer> read_bpe(const json& file, const json& model) {
  if (is_sentencepiece(file)) return read_sentencepiece(file, model);
  for (const char* key : {"dropout", "unk_token"}) expect(model, key, nullptr, "model");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (model.value(key, json()) != "") expect(model, key, nullptr, "model");
  }
  expect(model, "byte_fallback", false, "model");
  const bool whole_pretokens = flag_of(model, "ignore_merges", false, "model");
  const json normalizer = file.value("normalizer", json());
  check(normalizer.is_null() || is_type(normalizer, "NFC"), "normalizer: ", show(normalizer),
        " is not supported for byte-level BPE, only null and NFC");
  const SplitPattern pattern = read_split_pattern(member(file, "pre_tokenizer", "file"));
  const Vocabulary written = read_vocabulary(file, member(model, "vocab", "model"));
  const json& merges = member(model, "merges", "model");
  return bpe_of_written(
      written, read_pairs(merges), "model.vocab", [&](std::size_t index) { return where_merge(merges, index); },
      pattern, whole_pretokens, !normalizer.is_null());
}

std::unique_ptr<Tokenizer> read_word_level(const json& file, const json& model) {
  expect(model, "unk_token", "<unk>", "model");
  expect(file, "normalizer", nullptr, "file");
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

std::unique_ptr<Tokenizer> read_tokenizer(const json& file) {
  const json& model = member(file, "model", "file");
  check(model.is_object(), "model: expected an object, got ", show(model));
  // Old files, such as GPT-2's, do not name the type of a BPE model.
  const json type = model.value("type", model.contains("merges") ? json("BPE") : json());
  if (type == "BPE") return read_bpe(file, model);
  if (type == "WordLevel") return read_word_level(file, model);
  if (type == "WordPiece") return read_wordpiece(file, model);
  fail("model.type: ", show(type), " is not supported, only \"BPE\", \"WordLevel\" and \"WordPiece\"");
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
