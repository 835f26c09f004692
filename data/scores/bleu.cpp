#include "data/scores/bleu.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "core/error.h"
#include "core/text/replace_all.h"
#include "core/text/utf8.h"
#include "tokenizer/unicode_class.h"

namespace tapeformer {
namespace {

constexpr int kOrder = 4;
// What mteval-v13a.pl replaces, one after another.
constexpr std::pair<std::string_view, std::string_view> kReplaced[] = {
    {"<skipped>", ""}, {"&quot;", "\""}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_point(char c) { return c == '.' || c == ','; }
// Whether c is the space or ASCII punctuation other than ' - . ,
bool is_symbol(char c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Replaces every pair of neighbours with fits(first, second), from left to right, by before + first + between + second
// + after.
template <class Fits>
std::string separate(const std::string& text, std::string_view before, std::string_view between, std::string_view after,
                     const Fits& fits) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && fits(text[i], text[i + 1])) {
      out.append(before).append(1, text[i]).append(between).append(1, text[i + 1]).append(after);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

// The tokenization rules of mteval-v13a.pl for Western languages. They concern only ASCII, so they can work on bytes.
std::string separate_punctuation(std::string_view line) {
  std::string text = str_cat(' ', line, ' ');
  for (const auto& [from, to] : kReplaced) text = replace_all(text, from, to);
  std::string apart;
  for (char c : text) is_symbol(c) ? apart.append({' ', c, ' '}) : apart.append(1, c);
  apart = separate(apart, "", " ", " ", [](char a, char b) { return !is_digit(a) && is_point(b); });
  apart = separate(apart, " ", " ", "", [](char a, char b) { return is_point(a) && !is_digit(b); });
  return separate(apart, "", " ", " ", [](char a, char b) { return is_digit(a) && b == '-'; });
}

using Counts = std::map<std::vector<std::string_view>, std::int64_t>;

Counts count_ngrams(std::span<const std::string> words, int n) {
  Counts counts;
  for (std::size_t i = 0; i + n <= words.size(); ++i) ++counts[{words.begin() + i, words.begin() + i + n}];
  return counts;
}

}  // namespace

std::vector<std::string> bleu_words(std::string_view line, BleuTokenization tokenization) {
  const std::string text = tokenization == BleuTokenization::v13a ? separate_punctuation(line) : std::string(line);
  std::vector<std::string> words;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = read_utf8(text, at);
    const bool space = is_python_space(c.code_point);
    if (!space) {
      if (!inside) words.emplace_back();
      words.back().append(text, at, c.length);
    }
    inside = !space;
    at += c.length;
  }
  return words;
}

void Bleu::add(std::string_view hypothesis, std::string_view reference) {
  const std::vector<std::string> words = bleu_words(hypothesis, tokenization_);
  const std::vector<std::string> expected = bleu_words(reference, tokenization_);
  hypothesis_words_ += static_cast<std::int64_t>(words.size());
  reference_words_ += static_cast<std::int64_t>(expected.size());
  for (int n = 1; n <= kOrder; ++n) {
    const Counts known = count_ngrams(expected, n);
    for (const auto& [ngram, count] : count_ngrams(words, n)) {
      totals_[n - 1] += count;
      if (const auto found = known.find(ngram); found != known.end()) {
        matches_[n - 1] += std::min(count, found->second);
      }
    }
  }
}

BleuScore Bleu::score() const {
  BleuScore score{.hypothesis_words = hypothesis_words_, .reference_words = reference_words_};
  if (hypothesis_words_ < reference_words_) {
    score.brevity_penalty =
        hypothesis_words_ == 0
            ? 0
            : std::exp(1 - static_cast<double>(reference_words_) / static_cast<double>(hypothesis_words_));
  }
  if (matches_[0] == 0) return score;
  double logs = 0, smoothing = 1;
  for (int n = 0; n < kOrder; ++n) {
    if (totals_[n] == 0) return score;
    double matches = static_cast<double>(matches_[n]);
    if (matches == 0) matches = 1 / (smoothing *= 2);
    score.precisions[n] = 100 * matches / static_cast<double>(totals_[n]);
    logs += std::log(score.precisions[n]);
  }
  score.score = score.brevity_penalty * std::exp(logs / kOrder);
  return score;
}

std::string Bleu::signature() const {
  return str_cat("nrefs:1|case:mixed|eff:no|tok:", tokenization_ == BleuTokenization::v13a ? "13a" : "none",
                 "|smooth:exp");
}

}  // namespace tapeformer
