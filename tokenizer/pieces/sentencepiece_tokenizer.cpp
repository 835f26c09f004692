#include "tokenizer/pieces/sentencepiece_tokenizer.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/error.h"
#include "core/text/replace_all.h"
#include "core/text/utf8.h"
#include "tokenizer/pretokenizer.h"

namespace tapeformer {
namespace {

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// Returns the vocabulary with the bytes of the tokens in place of their written form. Those of a normalized added token
// begin with the space that a normalizer puts before it, since it is found only behind one.
Vocabulary to_bytes(Vocabulary vocabulary, const SentencePieceRules& rules) {
  for (const std::int32_t id : vocabulary.ordinary_ids()) {
    std::string& token = vocabulary.tokens[id];
    const std::optional<char> byte = rules.byte_fallback ? byte_of_token(token) : std::nullopt;
    token = byte ? std::string(1, *byte) : replace_all(token, kSpaceSign, " ");
  }
  const bool puts_spaces =
      rules.place == SentencePieceRules::Place::normalizer && rules.space == SentencePieceRules::Space::each;
  for (const AddedToken& token : vocabulary.added) {
    if (token.ordinary) continue;
    vocabulary.tokens[token.id] =
        (puts_spaces && token.flags.normalized ? " " : "") + replace_all(token.text, kSpaceSign, " ");
  }
  return vocabulary;
}

}  // namespace

std::optional<char> byte_of_token(std::string_view written) {
  if (written.size() != 6 || !written.starts_with("<0x") || written[5] != '>') return std::nullopt;
  const auto high = hex_digit(written[3]), low = hex_digit(written[4]);
  if (!high || !low) return std::nullopt;
  return static_cast<char>(*high * 16 + *low);
}

// The symbols that text begins with: its bytes. Merges that come before all others make of them the characters that
// have a token, byte by byte. Of other characters, single bytes and beginnings are left, which are symbols without a
// token.
struct SentencePieceTokenizer::Symbols {
  std::vector<std::string> parts;
  std::vector<BpeMerge> merges;
  std::array<std::int32_t, 256> of_byte;
  std::vector<std::int32_t> byte_ids = std::vector<std::int32_t>(256, -1);

  Symbols(const Vocabulary& written, const Pairs& pairs, const SentencePieceRules& rules) {
    const auto count = static_cast<std::int32_t>(written.tokens.size());
    std::unordered_map<std::string_view, std::int32_t> ordinary;
    for (const std::int32_t id : written.ordinary_ids()) {
      const std::string& token = written.tokens[id];
      const std::optional<char> byte = rules.byte_fallback ? byte_of_token(token) : std::nullopt;
      if (byte) {
        byte_ids[static_cast<unsigned char>(*byte)] = id;
      } else {
        ordinary.emplace(token, id);
      }
    }
    for (int byte = 0; byte < 256; ++byte) {
      parts.emplace_back(1, static_cast<char>(byte));
      of_byte[byte] = count + byte;
      check(!rules.byte_fallback || byte_ids[byte] >= 0, "model.byte_fallback: byte ", byte, " has no token");
    }
    build_characters(written, ordinary, count);
    add_merges(pairs, ordinary);
  }

 private:
  void build_characters(const Vocabulary& written, const std::unordered_map<std::string_view, std::int32_t>& ordinary,
                        std::int32_t count) {
    std::unordered_map<std::string, std::int32_t> beginnings;
    for (std::int32_t id = 0; id < count; ++id) {
      const std::string& token = written.tokens[id];
      const auto found = ordinary.find(token);
      if (token.empty() || found == ordinary.end() || found->second != id) continue;
      const Utf8Char c = read_utf8(token, 0);
      if (c.code_point == kInvalidUtf8 || static_cast<std::size_t>(c.length) != token.size()) continue;
      if (token == kSpaceSign || c.length == 1) {
        if (token != " ") of_byte[static_cast<unsigned char>(c.length == 1 ? token[0] : ' ')] = id;
        continue;
      }
      std::int32_t left = count + static_cast<unsigned char>(token[0]);
      for (int length = 2; length <= c.length; ++length) {
        const std::int32_t right = count + static_cast<unsigned char>(token[length - 1]);
        std::int32_t result = id;
        if (length < c.length) {
          const auto [entry, is_new] =
              beginnings.try_emplace(token.substr(0, length), count + static_cast<std::int32_t>(parts.size()));
          result = entry->second;
          if (is_new) parts.push_back(entry->first);
          if (!is_new) {
            left = result;
            continue;
          }
        }
        merges.push_back({left, right, result});
        left = result;
      }
    }
  }

  void add_merges(const Pairs& pairs, const std::unordered_map<std::string_view, std::int32_t>& ordinary) {
    std::unordered_set<std::uint64_t> seen;
    for (const auto& pair : pairs) {
      const std::string &left = pair.first, &right = pair.second;
      const auto where = [&] {
        return str_cat("model.merges: merge ", seen.size() + 1, " of ", pairs.size(), " (\"", left, "\" + \"", right,
                       "\")");
      };
      const auto find = [&](const std::string& token) {
        const auto found = ordinary.find(token);
        if (found != ordinary.end()) return found->second;
        fail(where(), ": \"", token, "\" is not an ordinary token of the vocabulary");
      };
      const std::string whole = left + right, bytes = replace_all(whole, kSpaceSign, " ");
      merges.push_back({find(left), find(right), find(whole)});
      check(safe_cut(bytes, 1) == bytes.size(), where(), ": white space behind a letter or a digit is not supported");
      const bool is_new = seen.insert(pair_key(merges.back().left, merges.back().right)).second;
      if (!is_new) fail(where(), " is there twice");
    }
  }
};

SentencePieceTokenizer::SentencePieceTokenizer(Vocabulary written, Pairs merges, SentencePieceRules rules)
    : SentencePieceTokenizer(written, merges, rules, Symbols(written, merges, rules)) {}

SentencePieceTokenizer::SentencePieceTokenizer(Vocabulary& written, Pairs& merges, SentencePieceRules& rules,
                                               Symbols symbols)
    : Tokenizer(to_bytes(written, rules)),
      written_(std::move(written.tokens)),
      merges_(std::move(merges)),
      rules_(std::move(rules)),
      parts_(std::move(symbols.parts)),
      table_(std::move(symbols.merges), symbols.of_byte),
      byte_ids_(std::move(symbols.byte_ids)) {
  for (const std::string& token : tokens()) lengths_.push_back(static_cast<std::uint32_t>(token.size()));
  for (const std::string& part : parts_) lengths_.push_back(static_cast<std::uint32_t>(part.size()));
  const auto unknown = std::ranges::find(written_, rules_.unknown);
  if (!rules_.unknown.empty() && unknown != written_.end()) {
    unknown_ = static_cast<std::int32_t>(unknown - written_.begin());
  }
  const auto check_flags = [](const TokenFlags& flags, std::string_view token) {
    check(!flags.normalized || !flags.strips(), "added_tokens: token \"", token,
          "\": lstrip and rstrip are not supported in a normalized token here");
  };
  for (const std::int32_t id : special_ids()) check_flags(special_flags(id), written_[id]);
  for (const AddedToken& token : added_tokens()) check_flags(token.flags, token.text);
  check(rules_.byte_fallback || unknown_, "model.unk_token: the token \"", rules_.unknown,
        "\" is not in the vocabulary");
}

std::optional<std::string> SentencePieceTokenizer::normalized(std::string_view text, bool continues) const {
  if (rules_.place == SentencePieceRules::Place::metaspace) return std::nullopt;
  const bool puts_space = rules_.space == SentencePieceRules::Space::each && !continues && !text.empty();
  if (!puts_space && text.find(kSpaceSign) == text.npos) return std::nullopt;
  return (puts_space ? " " : "") + replace_all(text, kSpaceSign, " ");
}

bool SentencePieceTokenizer::puts_space_before(std::string_view text, bool begins) const {
  const bool has_space = text.starts_with(' ') || text.starts_with(kSpaceSign);
  if (rules_.place != SentencePieceRules::Place::metaspace || has_space) return false;
  return rules_.space == SentencePieceRules::Space::each ||
         (rules_.space == SentencePieceRules::Space::first && begins);
}

void SentencePieceTokenizer::encode_plain(std::string_view text, std::size_t, std::vector<std::int32_t>& ids) const {
  std::string without_signs;
  if (text.find(kSpaceSign) != text.npos) text = without_signs = replace_all(text, kSpaceSign, " ");
  const EncoderPool::Lease encoder = encoders_.take(table_, lengths_);
  std::vector<std::int32_t> symbols;
  bool after_unknown = false;
  const auto append_byte = [&](char byte) {
    const std::int32_t id = byte_ids_[static_cast<unsigned char>(byte)];
    if (id >= 0) return ids.push_back(id);
    // One unknown token for a character: its later bytes, 10xxxxxx, add none.
    const bool continues = is_continuation_byte(byte);
    if (after_unknown && (continues || rules_.fuse_unknown)) return;
    ids.push_back(*unknown_);
    after_unknown = true;
  };
  for (std::size_t begin = 0, end; begin < text.size(); begin = end) {
    const std::string_view rest = text.substr(begin);
    end = begin + (rules_.split_words ? std::min(rest.find(' ', 1), rest.size()) : safe_cut(rest, 1));
    symbols.clear();
    encoder->encode(text.substr(begin, end - begin), symbols);
    if (rules_.split_words) after_unknown = false;
    for (const std::int32_t symbol : symbols) {
      if (symbol >= vocab_size()) {
        for (const char byte : parts_[symbol - vocab_size()]) append_byte(byte);
      } else {
        ids.push_back(symbol);
        after_unknown = false;
      }
    }
  }
}

}  // namespace tapeformer
