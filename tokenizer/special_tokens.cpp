#include "tokenizer/special_tokens.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "core/error.h"
#include "core/text/utf8.h"

namespace tapeformer {
namespace {

struct SpecialToken {
  std::string name;
  std::optional<std::int32_t> id;
};

SpecialToken parse_special_token(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == text.npos || equals + 1 == text.size()) return {text, std::nullopt};
  const char* end = text.data() + text.size();
  std::int32_t id = 0;
  const auto [read_to, error] = std::from_chars(text.data() + equals + 1, end, id);
  if (read_to != end) return {text, std::nullopt};  // a name with "=" in it
  if (error != std::errc() || id < 0) fail_usage("tokenizer: special token '", text, "': the id is out of range");
  return {text.substr(0, equals), id};
}

std::optional<std::int32_t> first_special(const Tokenizer& tokenizer, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const auto id = tokenizer.special(name)) return id;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int32_t> text_begin_token(const Tokenizer& tokenizer) {
  return first_special(tokenizer, {"<|endoftext|>", "<s>", "<|begin_of_text|>"});
}

std::optional<std::int32_t> text_end_token(const Tokenizer& tokenizer) {
  return first_special(tokenizer, {"<|endoftext|>", "</s>", "<|end_of_text|>"});
}

void check_special_tokens(std::span<const std::string> names) {
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : names) {
    if (name.empty()) fail_usage("tokenizer: a special token is empty");
    const std::size_t invalid = find_invalid_utf8(name);
    if (invalid != std::string::npos) fail_usage("tokenizer: a special token has invalid UTF-8 at byte ", invalid);
    if (!seen.insert(name).second) fail_usage("tokenizer: special token '", name, "' is given twice");
  }
}

void add_special_tokens(Vocabulary& vocabulary, std::span<const std::string> special_tokens) {
  std::vector<std::string>& tokens = vocabulary.tokens;
  std::vector<SpecialToken> specials;
  std::vector<std::string> names;
  for (const std::string& text : special_tokens) {
    specials.push_back(parse_special_token(text));
    names.push_back(specials.back().name);
  }
  check_special_tokens(names);
  const auto place = [&](const std::string& name, std::size_t id) {
    if (id >= tokens.size() + kMostUnused) {
      fail_usage("tokenizer: special token '", name, "': the id ", id, " is too far behind the other tokens, ",
                 tokens.size());
    }
    if (id >= tokens.size()) tokens.resize(id + 1);
    if (!tokens[id].empty()) fail_usage("tokenizer: special token '", name, "': the id ", id, " is another token's");
    tokens[id] = name;
    vocabulary.special_ids.push_back(static_cast<std::int32_t>(id));
  };
  std::stable_sort(specials.begin(), specials.end(),
                   [](const SpecialToken& a, const SpecialToken& b) { return a.id && (!b.id || *a.id < *b.id); });
  for (const SpecialToken& special : specials)
    place(special.name, special.id ? static_cast<std::size_t>(*special.id) : tokens.size());
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].empty()) place(str_cat("<|unused_", id, "|>"), id);
  }
  std::sort(vocabulary.special_ids.begin(), vocabulary.special_ids.end());
}

}  // namespace tapeformer
