#include "tokenizer/gguf_vocabulary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "core/error.h"
#include "core/text/replace_all.h"
#include "core/text/utf8.h"
#include "tokenizer/bpe/byte_level.h"
#include "tokenizer/formats/json_text.h"
#include "tokenizer/formats/tokenizer_parts.h"
#include "tokenizer/pieces/sentencepiece_tokenizer.h"
#include "tokenizer/special_tokens.h"

namespace tapeformer {
namespace {

using Pairs = SentencePieceTokenizer::Pairs;
using Type = GgufVocabulary::Type;

// The names of patterns in tokenizer.ggml.pre. Of several names for a pattern, the first one is written.
constexpr std::array<std::pair<std::string_view, SplitPattern>, 6> kPre = {{{"gpt-2", SplitPattern::gpt2},
                                                                            {"llama-bpe", SplitPattern::cl100k},
                                                                            {"qwen2", SplitPattern::qwen2},
                                                                            {"smollm", SplitPattern::smollm},
                                                                            {"gpt2", SplitPattern::gpt2},
                                                                            {"llama3", SplitPattern::cl100k}}};

std::string pre_names() {
  std::string names;
  for (const auto& entry : kPre) names += (names.empty() ? "" : ", ") + std::string(entry.first);
  return names;
}

// The pairs that make each token, the token of the greatest score first.
Pairs pairs_of_scores(const std::vector<std::string>& tokens, const std::vector<float>& scores,
                      const std::unordered_set<std::string_view>& normal) {
  std::vector<std::tuple<float, std::size_t, std::size_t>> places;  // minus the score, the token, where it is cut
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const std::string_view token = tokens[id];
    if (!normal.contains(token)) continue;
    for (std::size_t cut = 1; cut < token.size(); ++cut) {
      if (is_continuation_byte(token[cut])) continue;
      if (normal.contains(token.substr(0, cut)) && normal.contains(token.substr(cut))) {
        places.emplace_back(-scores[id], id, cut);
      }
    }
  }
  std::ranges::sort(places);
  Pairs pairs;
  for (const auto& place : places) {
    const std::string& token = tokens[std::get<1>(place)];
    pairs.emplace_back(token.substr(0, std::get<2>(place)), token.substr(std::get<2>(place)));
  }
  return pairs;
}

std::int64_t type_of(const GgufVocabulary& vocabulary, std::size_t id) {
  return vocabulary.types.empty() ? static_cast<std::int64_t>(Type::normal) : vocabulary.types[id];
}

// The tokens as written, and which of them are special or added.
Vocabulary written_vocabulary(const GgufVocabulary& from) {
  const std::size_t count = from.tokens.size();
  check(count > 0, "tokenizer.ggml.tokens: expected some tokens");
  check(from.types.empty() || from.types.size() == count, "tokenizer.ggml.token_type: expected ", count,
        " values, got ", from.types.size());
  Vocabulary written{.tokens = from.tokens, .special_ids = {}};
  std::unordered_map<std::string_view, std::size_t> seen;
  for (std::size_t id = 0; id < count; ++id) {
    const std::string& token = from.tokens[id];
    const std::string where = str_cat("tokenizer.ggml.tokens: token ", id);
    check(!token.empty() && find_invalid_utf8(token) == token.npos, where, ": expected a text in UTF-8");
    const auto [entry, is_new] = seen.emplace(token, id);
    check(is_new, where, " is that of ", entry->second, " too");
    const std::int64_t type = type_of(from, id);
    check(type >= Type::normal && type <= Type::byte, "tokenizer.ggml.token_type: token ", id, " has the type ", type,
          ", expected 1 to 6");
    if (type == Type::unknown || type == Type::control || type == Type::unused) {
      written.special_ids.push_back(static_cast<std::int32_t>(id));
    } else if (type == Type::user_defined) {
      written.added.push_back({.id = static_cast<std::int32_t>(id), .text = token, .ordinary = true});
    }
  }
  const auto marks = [&](bool wanted, const std::optional<std::int64_t>& id, const char* key) {
    if (!wanted) return std::vector<std::int32_t>();
    check(id && *id < static_cast<std::int64_t>(count), "tokenizer.ggml.", key, ": expected an id below ", count);
    return std::vector{static_cast<std::int32_t>(*id)};
  };
  const auto before = marks(from.add_bos, from.bos, "bos_token_id"),
             after = marks(from.add_eos, from.eos, "eos_token_id");
  if (!before.empty() || !after.empty()) written.frame = make_frame(written.tokens, before, after);
  return written;
}

// Whether a user-defined token is also one of the model, a byte or a part or result of merges, so that its characters
// stand for bytes. llama.cpp writes any other one as it is.
bool is_in_model(const std::string& token, const std::vector<WrittenPair>& pairs) {
  const auto bytes = read_bytes(token);
  if (!bytes || bytes->size() == 1) return bytes.has_value();
  return std::ranges::any_of(pairs, [&](const WrittenPair& pair) {
    const bool as_long = pair.left.size() + pair.right.size() == token.size();
    const bool is_result = as_long && token.starts_with(pair.left) && token.ends_with(pair.right);
    return is_result || pair.left == token || pair.right == token;
  });
}

std::unique_ptr<Tokenizer> read_byte_level(const GgufVocabulary& from) {
  const auto pattern = std::ranges::find(kPre, from.pre, [](const auto& entry) { return entry.first; });
  check(pattern != kPre.end(), "tokenizer.ggml.pre: ", show(from.pre), " is not supported, only ", pre_names());
  std::vector<WrittenPair> pairs;
  const auto where = [&](std::size_t index) {
    return str_cat("tokenizer.ggml.merges: merge ", index + 1, " of ", from.merges.size());
  };
  for (const std::string& merge : from.merges) {
    const auto pair = read_written_pair(merge);
    check(pair.has_value(), where(pairs.size()), ": expected \"a b\", got ", show(merge));
    pairs.push_back(*pair);
  }
  // Qwen2's tokenizer composes characters, of which the file says nothing; llama.cpp takes whole pretokens for Llama 3.
  const bool whole = pattern->second == SplitPattern::cl100k, composes = pattern->second == SplitPattern::qwen2;
  Vocabulary written = written_vocabulary(from);
  for (AddedToken& token : written.added) token.ordinary = is_in_model(token.text, pairs);
  return bpe_of_written(written, pairs, "tokenizer.ggml.tokens", where, pattern->second, whole, composes);
}

std::unique_ptr<Tokenizer> read_scored(const GgufVocabulary& from) {
  check(from.scores.size() == from.tokens.size(), "tokenizer.ggml.scores: expected ", from.tokens.size(),
        " values, got ", from.scores.size());
  const auto no_number = std::ranges::find_if(from.scores, [](float score) { return std::isnan(score); });
  check(no_number == from.scores.end(), "tokenizer.ggml.scores: the score of token ", no_number - from.scores.begin(),
        " is not a number");
  Vocabulary written = written_vocabulary(from);
  std::unordered_set<std::string_view> normal;
  SentencePieceRules rules;
  rules.space = from.add_space_prefix ? SentencePieceRules::Space::each : SentencePieceRules::Space::none;
  rules.strips_space = from.add_space_prefix;
  rules.unknown = "";
  rules.byte_fallback = false;
  for (std::size_t id = 0; id < from.tokens.size(); ++id) {
    const std::int64_t type = type_of(from, id);
    if (type == Type::normal) normal.insert(from.tokens[id]);
    if (type == Type::byte) rules.byte_fallback = true;
    if (type == Type::unknown) rules.unknown = from.tokens[id];
  }
  if (from.unknown_id && *from.unknown_id < std::ssize(from.tokens)) rules.unknown = from.tokens[*from.unknown_id];
  Pairs pairs = pairs_of_scores(from.tokens, from.scores, normal);
  return std::make_unique<SentencePieceTokenizer>(std::move(written), std::move(pairs), std::move(rules));
}

// Returns the vocabulary with what is the same for all kinds of tokenizers.
GgufVocabulary vocabulary_of(const Tokenizer& tokenizer, const std::vector<std::string>& written) {
  GgufVocabulary out{.model = "gpt2", .tokens = written};
  out.types.assign(written.size(), Type::normal);
  const auto check_flags = [](const TokenFlags& flags, std::string_view kind, std::string_view token) {
    check(!flags.strips(), "the ", kind, " token ", show(token),
          " takes white space with it (lstrip, rstrip), for which GGUF has no place");
  };
  for (const std::int32_t id : tokenizer.special_ids()) {
    out.types[id] = tokenizer.unknown_id() == id ? Type::unknown : Type::control;
    check_flags(tokenizer.special_flags(id), "special", tokenizer.token_bytes(id));
  }
  for (const AddedToken& token : tokenizer.added_tokens()) {
    out.types[token.id] = Type::user_defined;
    check_flags(token.flags, "added", token.text);
  }
  const TextFrame& frame = tokenizer.frame();
  check(frame.before.size() <= 1 && frame.after.size() <= 1, "the tokenizer puts ", frame.before.size(), " and ",
        frame.after.size(), " special tokens around a text, for which GGUF has no place");
  out.add_bos = !frame.before.empty(), out.add_eos = !frame.after.empty();
  out.bos = text_begin_token(tokenizer), out.eos = text_end_token(tokenizer);
  if (out.add_bos) out.bos = frame.before.front();
  if (out.add_eos) out.eos = frame.after.front();
  if (tokenizer.unknown_id()) out.unknown_id = *tokenizer.unknown_id();
  return out;
}

GgufVocabulary write_byte_level(const BpeTokenizer& bpe, std::vector<std::string>& warnings) {
  const std::vector<std::string> written = written_tokens(bpe);
  GgufVocabulary out = vocabulary_of(bpe, written);
  const SplitPattern pattern = bpe.pattern();
  out.pre = std::ranges::find(kPre, pattern, [](const auto& entry) { return entry.second; })->first;
  for (const BpeMerge& merge : bpe.merges()) out.merges.push_back(written[merge.left] + " " + written[merge.right]);
  const bool whole = pattern == SplitPattern::cl100k;  // what llama.cpp does for the pattern
  const auto as_read = read_byte_level(out);
  const auto& read = dynamic_cast<const BpeTokenizer&>(*as_read);
  check(whole ? read.whole_pretokens() == bpe.whole_pretokens() : !bpe.whole_pretokens(),
        "model.ignore_merges: expected ", whole, " for GGUF's ", out.pre, ", since some tokens follow from no merges");
  if (bpe.composes()) {
    warnings.push_back("llama.cpp does not bring text into Unicode's normalization form C, as the tokenizer does");
  } else if (read.composes()) {
    warnings.push_back(
        "an import of the file brings text into Unicode's normalization form C, as Qwen2 does, and this tokenizer not");
  }
  return out;
}

// Characters of one byte are tokens of byte-level BPE without merges.
GgufVocabulary write_characters(const Tokenizer& tokenizer) {
  std::vector<std::string> written;
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string_view token = tokenizer.token_bytes(id);
    const bool ordinary = tokenizer.is_ordinary(id);
    check(!ordinary || token.size() == 1,
          "a char tokenizer has a place in GGUF only if all its characters are ASCII, got ", show(token));
    written.push_back(ordinary ? write_bytes(token) : std::string(token));
  }
  GgufVocabulary out = vocabulary_of(tokenizer, written);
  out.pre = "gpt-2";
  return out;
}

// A normalized token is found where the normalizer has put a sign for each space. llama.cpp looks for it in the text as
// it is, so it is written with spaces.
void write_normalized_tokens(const SentencePieceTokenizer& pieces, GgufVocabulary& out,
                             std::vector<std::string>& warnings) {
  const SentencePieceRules& rules = pieces.rules();
  if (rules.place == SentencePieceRules::Place::metaspace) return;
  bool any = false;
  for (const AddedToken& token : pieces.added_tokens()) {
    if (!token.flags.normalized) continue;
    out.tokens[token.id] = replace_all(token.text, kSpaceSign, " ");
    any = true;
  }
  if (any && rules.space == SentencePieceRules::Space::each) {
    warnings.push_back("llama.cpp finds a normalized added token everywhere, the tokenizer only behind a space");
  }
}

// Writes scores from which the same merges follow: the earlier a merge, the greater the score of the token that it
// makes.
GgufVocabulary write_scored(const SentencePieceTokenizer& pieces, std::vector<std::string>& warnings) {
  const SentencePieceRules& rules = pieces.rules();
  check(rules.byte_fallback, "a tokenizer without tokens of bytes (byte_fallback) has no place in GGUF");
  GgufVocabulary out = vocabulary_of(pieces, pieces.written());
  out.model = "llama";
  out.pre = "default";
  out.scores.assign(out.tokens.size(), 0);
  std::unordered_map<std::string_view, std::size_t> ids;
  std::unordered_set<std::string_view> normal;
  for (std::size_t id = 0; id < out.tokens.size(); ++id) {
    ids.emplace(out.tokens[id], id);
    if (out.types[id] == Type::normal && rules.byte_fallback && byte_of_token(out.tokens[id]))
      out.types[id] = Type::byte;
    if (out.types[id] == Type::normal) normal.insert(out.tokens[id]);
  }
  std::vector<std::size_t> made;  // by the first merge that makes each
  for (const auto& [left, right] : pieces.merges()) {
    const std::size_t id = ids.at(left + right);
    if (made.empty() || made.back() != id) made.push_back(id);
    out.scores[id] = -static_cast<float>(made.size());
  }
  Pairs follow = pairs_of_scores(out.tokens, out.scores, normal), merges = pieces.merges();
  const bool once = std::unordered_set<std::size_t>(made.begin(), made.end()).size() == made.size();
  std::ranges::sort(follow), std::ranges::sort(merges);
  check(once && follow == merges, "the tokenizer's merges do not follow from scores of its tokens, as GGUF's have to");
  check(!rules.split_words, "a tokenizer that splits text at spaces (Metaspace) has no place in GGUF");
  out.add_space_prefix = rules.space != SentencePieceRules::Space::none;
  if (out.add_space_prefix && rules.place == SentencePieceRules::Place::metaspace) {
    warnings.push_back(
        "llama.cpp puts a space before a text also where it begins with one, or follows a special token");
  }
  write_normalized_tokens(pieces, out, warnings);
  return out;
}

}  // namespace

std::unique_ptr<Tokenizer> tokenizer_of(const GgufVocabulary& vocabulary, const std::string& origin) {
  try {
    if (vocabulary.model == "gpt2") return read_byte_level(vocabulary);
    if (vocabulary.model == "llama") return read_scored(vocabulary);
    fail("tokenizer.ggml.model: ", show(vocabulary.model), " is not supported, only \"gpt2\" and \"llama\"");
  } catch (const Error& error) {
    fail(origin, ": ", error.what());
  }
}

GgufVocabulary gguf_vocabulary(const Tokenizer& tokenizer, std::vector<std::string>& warnings) {
  GgufVocabulary out;
  if (const auto* const bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer)) {
    out = write_byte_level(*bpe, warnings);
  } else if (const auto* const pieces = dynamic_cast<const SentencePieceTokenizer*>(&tokenizer)) {
    out = write_scored(*pieces, warnings);
  } else {
    check(tokenizer.kind() == "char", "a ", tokenizer.kind(), " tokenizer has no place in GGUF");
    out = write_characters(tokenizer);
  }
  if (!out.eos) warnings.push_back("no special token ends a text: llama.cpp takes another one for it");
  return out;
}

}  // namespace tapeformer
