#include "report/surprisal_page.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text/visible_text.h"
#include "report/page.h"

namespace tapeformer {
namespace {

using Json = nlohmann::ordered_json;

// Returns [text, nats, rank, [[text, P], …]], or [text] for a token that is not scored.
Json token_json(const SurprisalToken& token) {
  Json json{visible_text(token.text)};
  if (!token.score) return json;
  Json likeliest = Json::array();
  for (std::size_t i = 0; i < token.likeliest.size(); ++i) {
    likeliest.push_back({visible_text(token.likeliest[i]), rounded(token.score->likeliest[i].second, 3)});
  }
  json.push_back(rounded(token.score->nats, 6));
  json.push_back(token.score->rank);
  json.push_back(std::move(likeliest));
  return json;
}

}  // namespace

std::string surprisal_page(const std::string& title, const std::vector<SurprisalText>& texts) {
  constexpr std::size_t kMaxTokens = 50'000;
  std::size_t count = 0;
  Json data{{"title", title}, {"texts", Json::array()}};
  for (const SurprisalText& text : texts) {
    Json tokens = Json::array();
    for (const SurprisalToken& token : text.tokens) tokens.push_back(token_json(token));
    count += text.tokens.size();
    data["texts"].push_back({{"source", text.source}, {"tokens", std::move(tokens)}});
  }
  if (count > kMaxTokens) {
    fail_usage("surprisal: expected at most ", kMaxTokens, " tokens for a page, got ", count,
               ": take a shorter text, or --json");
  }
  return page_html({.title = title, .styles = {"surprisal.css"}, .scripts = {"surprisal.js"}}, data);
}

}  // namespace tapeformer
