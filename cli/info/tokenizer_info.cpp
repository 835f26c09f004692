#include "cli/info/tokenizer_info.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/terminal/results.h"
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

// The tokens of a text: in brackets, or in two alternating colours.
std::string split_text(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  const bool colours = wants_color(STDOUT_FILENO);
  const char* begin[] = {colours ? "\033[30;46m" : "[", colours ? "\033[30;43m" : "["};
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    text += begin[i % 2] + printable(tokenizer.token_bytes(ids[i])) + (colours ? "\033[0m" : "]");
  }
  return text;
}

// "a (1) b (2)"
std::string listed_tokens(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  std::string text;
  for (const std::int32_t id : ids) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : " ", printable(tokenizer.token_bytes(id)), id);
  }
  return text;
}

Json json_of(const Tokenizer& tokenizer, const TokenizerInfoRequest& request, const TextSource* source) {
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
  return info;
}

std::string text_of(const Tokenizer& tokenizer, const TokenizerInfoRequest& request, const TextSource* source) {
  Table table({{.width = 15, .gap = 0}, {.gap = 1}});
  table.add({"kind", tokenizer.kind()});
  if (const auto pattern = tokenizer.split_pattern()) {
    table.add({"pattern", std::string(name_of(*pattern))});
    table.add({"merges", std::to_string(tokenizer.merge_count())});
  }
  table.add({"vocabulary", std::to_string(tokenizer.vocab_size())});
  table.add({"special tokens", listed_tokens(tokenizer, tokenizer.special_ids())});
  table.add({"longest tokens", split_text(tokenizer, longest_tokens(tokenizer))});
  if (source) {
    const Compression sum = compression_of(tokenizer, *source);
    const std::string unknown = tokenizer.unknown_id() ? fmt::format(", {} unknown tokens", sum.unknown) : "";
    table.add({"text", fmt::format("{} bytes, {} tokens, {:g} bytes per token{}", sum.bytes, sum.tokens,
                                   sum.bytes_per_token(), unknown)});
  }
  if (!request.text) return table.text();
  const std::vector<std::int32_t> ids = tokenizer.encode(*request.text);
  table.add({"split", fmt::format("{} tokens", ids.size())});
  return table.text() + split_text(tokenizer, ids) + '\n';
}

}  // namespace

void print_tokenizer_info(const Tokenizer& tokenizer, const TokenizerInfoRequest& request, const TextSource* source) {
  print_result(
      request.json, [&] { return json_of(tokenizer, request, source); },
      [&] { return text_of(tokenizer, request, source); });
}

}  // namespace tapeformer::cli
