#include "data/trees/bracket_score.h"

#include <algorithm>
#include <array>

namespace tapeformer {
namespace {

constexpr std::array<std::string_view, 5> kPunctuationTags{",", ":", "``", "''", "."};

// Returns the brackets that are scored, with places in which punctuation of the reference does not count. One of
// punctuation alone is none.
std::vector<Bracket> scored_brackets(const Bracketing& tree, const Bracketing& reference) {
  std::vector<std::int64_t> places{0};  // of the beginning of each word
  for (std::size_t i = 0; i < std::max(tree.words.size(), reference.words.size()); ++i) {
    const bool counts = i >= reference.tags.size() || std::ranges::count(kPunctuationTags, reference.tags[i]) == 0;
    places.push_back(places.back() + (counts ? 1 : 0));
  }
  std::vector<Bracket> scored;
  for (const Bracket& bracket : tree.brackets) {
    if (places[bracket.begin] == places[bracket.end]) continue;
    scored.push_back({bracket.label == "PRT" ? "ADVP" : bracket.label, places[bracket.begin], places[bracket.end]});
  }
  return scored;
}

}  // namespace

double f1_of(double precision, double recall) {
  return precision + recall == 0 ? 0 : 2 * precision * recall / (precision + recall);
}

void BracketScore::add(const Bracketing& predicted, const Bracketing& reference) {
  std::vector<Bracket> open = scored_brackets(reference, reference);  // those that no predicted bracket has matched yet
  const std::vector<Bracket> found = scored_brackets(predicted, reference);
  const bool as_many = open.size() == found.size();
  for (const Bracket& bracket : open) ++count_of(counts_, bracket.label).gold;
  for (const Bracket& bracket : found) {
    LabelCount& count = count_of(counts_, bracket.label);
    ++count.predicted;
    const auto match = std::ranges::find(open, bracket);
    if (match == open.end()) continue;
    ++count.right;
    open.erase(match);
  }
  const bool same_words = predicted.words == reference.words;
  ++sentences_;
  broken_ += predicted.broken.empty() ? 0 : 1;
  other_words_ += predicted.broken.empty() && !same_words ? 1 : 0;
  exact_ += predicted.broken.empty() && same_words && open.empty() && as_many ? 1 : 0;
}

}  // namespace tapeformer
