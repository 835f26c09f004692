#include "report/tree_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text/visible_text.h"
#include "data/trees/bracketing.h"
#include "report/page.h"

namespace tapeformer {
namespace {

// The words of a text of tokens, and for each token the index of its word: the word of its last byte that is no space
// or, if it has only spaces, the previous word.
struct TokenWords {
  std::vector<std::string> words;
  std::vector<std::size_t> word_of;
};

TokenWords words_of_tokens(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  TokenWords result;
  bool inside = false;
  for (const std::int32_t id : ids) {
    for (const char c : tokenizer.token_bytes(id)) {
      const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
      if (!space && !inside) result.words.emplace_back();
      if (!space) result.words.back() += c;
      inside = !space;
    }
    result.word_of.push_back(result.words.empty() ? 0 : result.words.size() - 1);
  }
  return result;
}

}  // namespace

TreeText tree_text(const Tokenizer& source_tokenizer, std::span<const std::int32_t> source,
                   const Tokenizer& target_tokenizer, std::span<const std::int32_t> target,
                   const std::vector<std::vector<double>>& weights) {
  const TokenWords from = words_of_tokens(source_tokenizer, source), to = words_of_tokens(target_tokenizer, target);
  TreeText text{.words = from.words, .parts = {}, .broken = read_flat_tree(target_tokenizer.decode(target)).broken};
  for (const std::string& word : to.words) text.parts.push_back({word, std::vector<double>(from.words.size() + 1, 0)});
  std::vector<double> tokens(to.words.size(), 0);
  for (const std::size_t part : to.word_of) ++tokens[part];
  for (std::size_t i = 0; i < target.size(); ++i) {
    const std::size_t part = to.word_of[i];
    for (std::size_t j = 0; j < weights[i].size(); ++j) {
      const std::size_t word = j < source.size() ? from.word_of[j] : from.words.size();
      text.parts[part].weights[word] += weights[i][j] / tokens[part];
    }
  }
  return text;
}

std::string tree_page(const std::string& title, const std::vector<TreeText>& trees) {
  constexpr std::size_t kMaxWeights = 1'000'000;
  using Json = nlohmann::ordered_json;
  std::size_t count = 0;
  Json data{{"title", title}, {"trees", Json::array()}};
  for (const TreeText& tree : trees) {
    Json words = Json::array(), parts = Json::array();
    for (const std::string& word : tree.words) words.push_back(visible_text(word));
    for (const TreePart& part : tree.parts) {
      Json weights = Json::array();
      for (const double weight : part.weights) weights.push_back(rounded(weight, 3));
      count += part.weights.size();
      parts.push_back(Json::array({visible_text(part.text), std::move(weights)}));
    }
    data["trees"].push_back({{"words", std::move(words)}, {"parts", std::move(parts)}, {"broken", tree.broken}});
  }
  if (count > kMaxWeights) {
    fail_usage("trees: expected at most ", kMaxWeights, " weights for a page, got ", count, ": take fewer sentences");
  }
  return page_html({.title = title, .styles = {"tree.css"}, .scripts = {"tree.js"}}, data);
}

}  // namespace tapeformer
