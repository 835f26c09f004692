// How commands show lists of tokens with a score each, such as a probability. The elements of a list are pairs (id,
// score).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/terminal/results.h"
#include "cli/terminal/terminal.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer::cli {

// `key` is the score's name in the JSON objects.
template <class Scored>
Json tokens_json(const std::vector<Scored>& tokens, const Tokenizer& tokenizer, const char* key) {
  Json list = Json::array();
  for (const auto& [id, score] : tokens) {
    list.push_back({{"id", id}, {"token", tokenizer.token_bytes(id)}, {key, score}});
  }
  return list;
}

// A line for each token: the score and the token.
template <class Scored>
std::string tokens_text(const std::vector<Scored>& tokens, const Tokenizer& tokenizer) {
  Table table({{.width = 8, .right = true, .gap = 0}, {}});
  for (const auto& [id, score] : tokens) {
    table.add({fmt::format("{:.4f}", score), json_text(tokenizer.token_bytes(id))});
  }
  return output_text(table.text());
}

}  // namespace tapeformer::cli
