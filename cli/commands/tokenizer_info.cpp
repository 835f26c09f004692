#include "cli/commands/tokenizer_info.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/terminal/terminal.h"
#include "core/text/visible_text.h"
#include "data/text/encode_text.h"
#include "data/text/text_reader.h"

namespace tapeformer::cli {
namespace {

constexpr std::size_t kLongest = 10;

// The token with line ends and tabs made visible.
std::string printable(std::string_view bytes) {
  std::string out;
  for (const char c : printable_text(bytes)) out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : std::string(1, c);
  return out;
}

// The longest ordinary tokens in bytes; among equally long ones, those with the smallest ids.
std::vector<std::int32_t> longest_tokens(const Tokenizer& tokenizer) {
  std::vector<std::int32_t> ids;
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (!tokenizer.is_special(id)) ids.push_back(id);
  }
  std::stable_sort(ids.begin(), ids.end(), [&](std::int32_t a, std::int32_t b) {
    return tokenizer.token_bytes(a).size() > tokenizer.token_bytes(b).size();
  });
  ids.resize(std::min(ids.size(), kLongest));
  return ids;
}

struct Compression {
  std::int64_t bytes = 0, tokens = 0, unknown = 0;
  double bytes_per_token() const { return tokens > 0 ? static_cast<double>(bytes) / static_cast<double>(tokens) : 0; }
};

Compression compression_of(const Tokenizer& tokenizer, const TextSource& source) {
  TextReader reader(source);
  Compression sum;
  for_each_encoded(reader, tokenizer, [&](std::span<const std::int32_t> ids) {
    sum.tokens += static_cast<std::int64_t>(ids.size());
    sum.unknown += count_unknown(ids, tokenizer);
  });
  sum.bytes = reader.position();
  return sum;
}

void print_split(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  const bool colours = wants_color(STDOUT_FILENO);
  const char* begin[] = {colours ? "\033[30;46m" : "[", colours ? "\033[30;43m" : "["};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::cout << begin[i % 2] << printable(tokenizer.token_bytes(ids[i])) << (colours ? "\033[0m" : "]");
  }
  std::cout << '\n';
}

void print_json(const Tokenizer& tokenizer, const TokenizerInfoRequest& request, const TextSource* source) {
  using Json = nlohmann::ordered_json;
  const auto listed = [&](std::span<const std::int32_t> ids) {
    Json list = Json::array();
    for (std::int32_t id : ids) list.push_back({{"id", id}, {"text", tokenizer.token_bytes(id)}});
    return list;
  };
  Json info = {{"kind", tokenizer.kind()}};
  if (const auto pattern = tokenizer.split_pattern()) {
    info["pattern"] = name_of(*pattern);
    info["merges"] = tokenizer.merge_count();
  }
  info["vocab"] = tokenizer.vocab_size();
  info["special_tokens"] = listed(tokenizer.special_ids());
  info["longest_tokens"] = listed(longest_tokens(tokenizer));
  if (source) {
    const Compression sum = compression_of(tokenizer, *source);
    info["bytes"] = sum.bytes;
    info["tokens"] = sum.tokens;
    info["bytes_per_token"] = sum.bytes_per_token();
    if (tokenizer.unknown_id()) info["unknown_tokens"] = sum.unknown;
  }
  if (request.text) info["split"] = listed(tokenizer.encode(*request.text));
  std::cout << info.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace

void print_tokenizer_info(const Tokenizer& tokenizer, const TokenizerInfoRequest& request, const TextSource* source) {
  if (request.json) return print_json(tokenizer, request, source);
  const auto print_tokens = [&](const char* label, std::span<const std::int32_t> ids) {
    std::cout << label;
    for (std::int32_t id : ids) std::cout << ' ' << printable(tokenizer.token_bytes(id)) << " (" << id << ')';
    std::cout << '\n';
  };
  std::cout << "kind            " << tokenizer.kind() << '\n';
  if (const auto pattern = tokenizer.split_pattern()) {
    std::cout << "pattern         " << name_of(*pattern) << '\n';
    std::cout << "merges          " << tokenizer.merge_count() << '\n';
  }
  std::cout << "vocabulary      " << tokenizer.vocab_size() << '\n';
  print_tokens("special tokens ", tokenizer.special_ids());
  std::cout << "longest tokens  ";
  print_split(tokenizer, longest_tokens(tokenizer));
  if (source) {
    const Compression sum = compression_of(tokenizer, *source);
    std::cout << "text            " << sum.bytes << " bytes, " << sum.tokens << " tokens, " << sum.bytes_per_token()
              << " bytes per token";
    if (tokenizer.unknown_id()) std::cout << ", " << sum.unknown << " unknown tokens";
    std::cout << '\n';
  }
  if (request.text) {
    const std::vector<std::int32_t> ids = tokenizer.encode(*request.text);
    std::cout << "split           " << ids.size() << " tokens\n";
    print_split(tokenizer, ids);
  }
}

}  // namespace tapeformer::cli
