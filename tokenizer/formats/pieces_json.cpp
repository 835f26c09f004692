#include "tokenizer/formats/pieces_json.h"

#include <algorithm>
#include <unordered_set>

#include "core/error.h"
#include "core/text/lines.h"
#include "core/text/utf8.h"
#include "tokenizer/formats/json_text.h"
#include "tokenizer/formats/tokenizer_parts.h"
#include "tokenizer/masked_symbols.h"

namespace tapeformer {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Space = SentencePieceRules::Space;
using Place = SentencePieceRules::Place;

const json kSigns = kSpaceSign;

bool replaces_spaces(const json& part) { return is_type(part, "Replace") || is_type(part, "Prepend"); }

void refuse_model(const json& model, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (model.value(key, json()) != "") expect(model, key, nullptr, "model");
  }
}

// Whether the normalizer replaces spaces, by which alone a Split by spaces after it does nothing.
bool read_normalizer(const json& file, SentencePieceRules& rules) {
  const std::vector<json> parts = components(file.value("normalizer", json()), "normalizers");
  rules.space = Space::none;
  bool replaces = false;
  for (const json& part : parts) {
    check(replaces_spaces(part) && !replaces, "normalizer: ", show(part),
          " is not supported here for BPE over characters, only Prepend, then Replace");
    if (is_type(part, "Prepend")) {
      expect(part, "prepend", kSigns, "normalizer: Prepend");
      rules.space = Space::each;
    } else {
      const json& pattern = member(part, "pattern", "normalizer: Replace");
      const bool space = pattern == json({{"String", " "}}) && part.value("content", json()) == kSigns;
      check(space, "normalizer: Replace is supported only of \" \" by \"", kSpaceSign, "\"");
      replaces = true;
    }
  }
  check(parts.empty() || replaces, "normalizer: Prepend without Replace is not supported");
  return replaces;
}

// Old files have add_prefix_space in place of prepend_scheme.
json prepend_scheme(const json& part, const std::string& where) {
  const bool old_prefix = flag_of(part, "add_prefix_space", true, where);
  return part.value("prepend_scheme", json(old_prefix ? "always" : "never"));
}

void read_metaspace(const json& part, SentencePieceRules& rules) {
  const std::string where = "pre_tokenizer: Metaspace";
  expect(part, "replacement", kSigns, where);
  const json scheme = prepend_scheme(part, where);
  check(scheme == "always" || scheme == "first" || scheme == "never", where, ".prepend_scheme: ", show(scheme),
        " is not supported, only \"always\", \"first\" and \"never\"");
  rules.space = scheme == "always" ? Space::each : scheme == "first" ? Space::first : Space::none;
  rules.place = Place::metaspace;
  rules.split_words = flag_of(part, "split", true, where);
}

bool read_strips_space(const json& decoder) {
  bool strips = false;
  for (const json& part : components(decoder, "decoders")) {
    const bool known = std::ranges::any_of(std::array{"Replace", "ByteFallback", "Fuse", "Strip", "Metaspace"},
                                           [&](const char* type) { return is_type(part, type); });
    check(known, "decoder: ", show(part), " is not supported for BPE over characters");
    if (is_type(part, "Strip")) {
      expect(part, "content", " ", "decoder: Strip");
      expect(part, "start", 1, "decoder: Strip");
      expect(part, "stop", 0, "decoder: Strip");
      strips = true;
    }
    if (is_type(part, "Metaspace")) strips = prepend_scheme(part, "decoder: Metaspace") != "never";
  }
  return strips;
}

ordered_json replace(std::string_view from, std::string_view to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

// Takes over what a tokenizer_config.json says of how BERT's text is normalized.
void read_normalizer_settings(const json& settings, const std::string& name, BertRules& rules) {
  const std::string where = name + ": tokenizer_config.json";
  check(settings.is_object(), where, ": expected an object, got ", show(settings));
  const auto flag = [&](const char* key, bool otherwise) {
    return settings.value(key, json()).is_null() ? otherwise : flag_of(settings, key, otherwise, where);
  };
  rules.lowercase = flag("do_lower_case", rules.lowercase);
  rules.handle_chinese_chars = flag("tokenize_chinese_chars", rules.handle_chinese_chars);
  if (!settings.value("strip_accents", json()).is_null()) rules.strip_accents = flag("strip_accents", false);
}

std::unordered_set<std::string_view> special_names() {
  std::unordered_set<std::string_view> names(kMaskedTokens.begin(), kMaskedTokens.end());
  names.insert("[UNK]");
  return names;
}

}  // namespace

bool is_sentencepiece(const json& file) {
  const json& model = file.at("model");
  if (model.value("byte_fallback", json()) == true) return true;
  const auto is_metaspace = [](const json& part) { return is_type(part, "Metaspace"); };
  return std::ranges::any_of(components(file.value("normalizer", json()), "normalizers"), replaces_spaces) ||
         std::ranges::any_of(components(file.value("pre_tokenizer", json()), "pretokenizers"), is_metaspace);
}

std::unique_ptr<Tokenizer> read_sentencepiece(const json& file, const json& model) {
  expect(model, "dropout", nullptr, "model");
  refuse_model(model, {"continuing_subword_prefix", "end_of_word_suffix"});
  expect(model, "ignore_merges", false, "model");
  SentencePieceRules rules;
  const bool replaces = read_normalizer(file, rules);
  for (const json& part : components(file.value("pre_tokenizer", json()), "pretokenizers")) {
    if (is_type(part, "Metaspace") && !replaces && rules.place == Place::normalizer) {
      read_metaspace(part, rules);
      continue;
    }
    // Inverted, Removed takes away all that is no space.
    const bool removes_text = part.value("behavior", json()) == "Removed" && part.value("invert", json()) == true;
    const bool does_nothing =
        replaces && is_type(part, "Split") && !removes_text && part.value("pattern", json()) == json({{"String", " "}});
    check(does_nothing, "pre_tokenizer: ", show(part), " is not supported here for BPE over characters, only Metaspace",
          " without a normalizer");
  }
  check(replaces || rules.place == Place::metaspace, "normalizer: nothing replaces spaces by \"", kSpaceSign, "\"");
  rules.fuse_unknown = flag_of(model, "fuse_unk", false, "model");
  rules.byte_fallback = flag_of(model, "byte_fallback", false, "model");
  rules.strips_space = read_strips_space(file.value("decoder", json()));
  const json unknown = model.value("unk_token", json());
  rules.unknown = unknown.is_null() ? "" : text_of(unknown, "model.unk_token");
  SentencePieceTokenizer::Pairs pairs;
  for (WrittenPair& pair : read_pairs(member(model, "merges", "model"))) {
    pairs.emplace_back(std::move(pair.left), std::move(pair.right));
  }
  return std::make_unique<SentencePieceTokenizer>(read_vocabulary(file, member(model, "vocab", "model")),
                                                  std::move(pairs), std::move(rules));
}

std::unique_ptr<Tokenizer> read_wordpiece(const json& file, const json& model) {
  WordPieceRules rules;
  const json normalizer = file.value("normalizer", json());
  const std::string where = "normalizer: BertNormalizer";
  BertRules& text = rules.normalizer;
  if (normalizer.is_null()) {
    text = {false, false, false, false};
  } else {
    check(is_type(normalizer, "BertNormalizer"), "normalizer: ", show(normalizer),
          " is not supported for WordPiece, only BertNormalizer");
    text.clean_text = flag_of(normalizer, "clean_text", true, where);
    text.handle_chinese_chars = flag_of(normalizer, "handle_chinese_chars", true, where);
    text.lowercase = flag_of(normalizer, "lowercase", true, where);
    const bool given = !normalizer.value("strip_accents", json()).is_null();
    if (given) text.strip_accents = flag_of(normalizer, "strip_accents", true, where);
  }
  const json splitter = file.value("pre_tokenizer", json());
  check(is_type(splitter, "BertPreTokenizer"), "pre_tokenizer: ", show(splitter),
        " is not supported for WordPiece, only BertPreTokenizer");
  const json decoder = file.value("decoder", json());
  check(decoder.is_null() || is_type(decoder, "WordPiece"), "decoder: ", show(decoder),
        " is not supported for WordPiece, only WordPiece");
  rules.unknown = text_of(model.value("unk_token", json("[UNK]")), "model.unk_token");
  rules.prefix = text_of(model.value("continuing_subword_prefix", json("##")), "model.continuing_subword_prefix");
  check(!rules.prefix.empty(), "model.continuing_subword_prefix: an empty one is not supported");
  if (!decoder.is_null()) {
    expect(decoder, "prefix", rules.prefix, "decoder");
    rules.cleanup = flag_of(decoder, "cleanup", true, "decoder");
  }
  rules.most_characters = id_of(model.value("max_input_chars_per_word", json(100u)), "model.max_input_chars_per_word");
  return std::make_unique<WordPieceTokenizer>(read_vocabulary(file, member(model, "vocab", "model")), rules);
}

void write_sentencepiece(const SentencePieceTokenizer& tokenizer, ordered_json& file, ordered_json vocab) {
  const SentencePieceRules& rules = tokenizer.rules();
  const ordered_json sign = kSpaceSign;
  if (rules.place == Place::metaspace) {
    const char* const scheme = rules.space == Space::each ? "always" : rules.space == Space::first ? "first" : "never";
    file["pre_tokenizer"] = {
        {"type", "Metaspace"}, {"replacement", sign}, {"prepend_scheme", scheme}, {"split", rules.split_words}};
  } else if (rules.space == Space::each) {
    const ordered_json prepend = {{"type", "Prepend"}, {"prepend", sign}};
    file["normalizer"] = {{"type", "Sequence"},
                          {"normalizers", ordered_json::array({prepend, replace(" ", kSpaceSign)})}};
  } else {
    file["normalizer"] = replace(" ", kSpaceSign);
  }
  ordered_json decoders = ordered_json::array({replace(kSpaceSign, " ")});
  decoders.push_back({{"type", "ByteFallback"}});
  decoders.push_back({{"type", "Fuse"}});
  if (rules.strips_space) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  file["decoder"] = {{"type", "Sequence"}, {"decoders", std::move(decoders)}};
  ordered_json merges = ordered_json::array();
  for (const auto& [left, right] : tokenizer.merges()) merges.push_back(ordered_json::array({left, right}));
  file["model"] = {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", rules.unknown.empty() ? ordered_json() : ordered_json(rules.unknown)},
                   {"continuing_subword_prefix", nullptr},
                   {"end_of_word_suffix", nullptr},
                   {"fuse_unk", rules.fuse_unknown},
                   {"byte_fallback", rules.byte_fallback},
                   {"ignore_merges", false},
                   {"vocab", std::move(vocab)},
                   {"merges", std::move(merges)}};
}

void write_wordpiece(const WordPieceTokenizer& tokenizer, ordered_json& file, ordered_json vocab) {
  const WordPieceRules& rules = tokenizer.rules();
  const BertRules& text = rules.normalizer;
  file["normalizer"] = {{"type", "BertNormalizer"},
                        {"clean_text", text.clean_text},
                        {"handle_chinese_chars", text.handle_chinese_chars},
                        {"strip_accents", text.strip_accents ? ordered_json(*text.strip_accents) : ordered_json()},
                        {"lowercase", text.lowercase}};
  file["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  file["decoder"] = {{"type", "WordPiece"}, {"prefix", rules.prefix}, {"cleanup", rules.cleanup}};
  file["model"] = {{"type", "WordPiece"},
                   {"unk_token", rules.unknown},
                   {"continuing_subword_prefix", rules.prefix},
                   {"max_input_chars_per_word", rules.most_characters},
                   {"vocab", std::move(vocab)}};
}

std::unique_ptr<Tokenizer> read_vocab_txt(std::string_view text, const std::string& name, const json& settings) {
  const std::unordered_set<std::string_view> specials = special_names();
  Vocabulary written;
  std::unordered_set<std::string_view> seen;
  WordPieceRules rules;
  std::optional<std::int32_t> begin, end;
  for (const std::string_view token : split_lines(text)) {
    const auto id = static_cast<std::int32_t>(written.tokens.size());
    check(!token.empty() && find_invalid_utf8(token) == token.npos, name, ": line ", id + 1,
          ": expected a token in UTF-8, got ", token.empty() ? "an empty line" : "other bytes");
    check(seen.insert(token).second, name, ": line ", id + 1, ": the token ", show(json(token)), " is there twice");
    if (token == kClassToken) begin = id;
    if (token == kSeparatorToken) end = id;
    if (specials.contains(token)) {
      written.special_ids.push_back(id);
    } else if (std::ranges::any_of(token, [](char c) { return c >= 'A' && c <= 'Z'; })) {
      rules.normalizer.lowercase = false;
    }
    written.tokens.emplace_back(token);
  }
  if (begin && end) written.frame = make_frame(written.tokens, {*begin}, {*end});
  read_normalizer_settings(settings, name, rules.normalizer);
  try {
    return std::make_unique<WordPieceTokenizer>(written, rules);
  } catch (const Error& error) {
    fail(name, ": ", error.what());
  }
}

}  // namespace tapeformer
