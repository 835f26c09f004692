#include "data/trees/phrase_grammar.h"

#include <cmath>
#include <limits>

#include "core/error.h"

namespace tapeformer {

// The best phrase of each symbol over each span of words.
struct PhraseGrammar::Chart {
  struct Cell {
    double log_probability = -std::numeric_limits<double>::infinity();
    const Rule* rule = nullptr;  // null: a word, or nothing
    std::size_t split = 0;       // where the rule's right part begins
  };

  Chart(std::size_t length, std::size_t symbols)
      : length_(length), symbols_(symbols), cells_(length * (length + 1) * symbols) {}
  Cell* at(std::size_t begin, std::size_t end) { return &cells_[(begin * (length_ + 1) + end) * symbols_]; }
  const Cell* at(std::size_t begin, std::size_t end) const { return &cells_[(begin * (length_ + 1) + end) * symbols_]; }

 private:
  std::size_t length_, symbols_;
  std::vector<Cell> cells_;
};

PhraseGrammar::PhraseGrammar(std::vector<PhraseSymbol> symbols, std::int64_t longest)
    : symbols_(std::move(symbols)), longest_(longest) {
  for (std::size_t i = 0; i < symbols_.size(); ++i) index_.emplace(symbols_[i].name, i);
  for (std::size_t parent = 0; parent < symbols_.size(); ++parent) {
    double sum = 0;
    for (const Alternative& alternative : symbols_[parent].alternatives) sum += alternative.weight;
    weights_.push_back(sum);
    for (const Alternative& alternative : symbols_[parent].alternatives) {
      const double log_probability = std::log(alternative.weight / sum);
      const std::size_t space = alternative.text.find(' ');
      if (space == std::string::npos) {
        words_[alternative.text].push_back({parent, log_probability});
        continue;
      }
      const auto left = index_.find(alternative.text.substr(0, space)),
                 right = index_.find(alternative.text.substr(space + 1));
      check(left != index_.end() && right != index_.end(), "grammar: ", symbols_[parent].name, ": expected a word or ",
            "two symbols, got ", alternative.text);
      rules_.push_back({parent, left->second, right->second, log_probability});
    }
  }
}

bool PhraseGrammar::draw(std::size_t symbol, RandomStream& random, Bracketing& tree) const {
  const PhraseSymbol& drawn = symbols_[symbol];
  auto choice = drawn.alternatives.begin();
  double left = random.uniform() * weights_[symbol];
  while (choice + 1 != drawn.alternatives.end() && left >= choice->weight) left -= (choice++)->weight;
  const std::size_t bracket = tree.brackets.size();
  if (!drawn.label.empty()) tree.brackets.push_back({drawn.label, std::ssize(tree.words), -1});
  const std::size_t space = choice->text.find(' ');
  if (space == std::string::npos) {
    tree.words.push_back(choice->text);
    if (std::ssize(tree.words) > longest_) return false;
  } else {
    if (!draw(index_.at(choice->text.substr(0, space)), random, tree)) return false;
    if (!draw(index_.at(choice->text.substr(space + 1)), random, tree)) return false;
  }
  if (!drawn.label.empty()) tree.brackets[bracket].end = std::ssize(tree.words);
  return true;
}

Bracketing PhraseGrammar::draw(RandomStream& random) const {
  Bracketing tree;
  while (!draw(0, random, tree)) tree = {};
  return tree;
}

void PhraseGrammar::fill(Chart& chart, std::size_t begin, std::size_t end) const {
  Chart::Cell* const cells = chart.at(begin, end);
  for (std::size_t split = begin + 1; split < end; ++split) {
    const Chart::Cell *const left = chart.at(begin, split), *const right = chart.at(split, end);
    for (const Rule& rule : rules_) {
      const double log_probability =
          rule.log_probability + left[rule.left].log_probability + right[rule.right].log_probability;
      if (log_probability > cells[rule.parent].log_probability) cells[rule.parent] = {log_probability, &rule, split};
    }
  }
}

void PhraseGrammar::read(const Chart& chart, std::size_t symbol, std::size_t begin, std::size_t end,
                         Bracketing& tree) const {
  if (!symbols_[symbol].label.empty()) {
    tree.brackets.push_back({symbols_[symbol].label, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)});
  }
  const Chart::Cell& cell = chart.at(begin, end)[symbol];
  if (!cell.rule) return;
  read(chart, cell.rule->left, begin, cell.split, tree);
  read(chart, cell.rule->right, cell.split, end, tree);
}

std::optional<Bracketing> PhraseGrammar::viterbi(const std::vector<std::string>& words) const {
  if (words.empty()) return std::nullopt;
  Chart chart(words.size(), symbols_.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto known = words_.find(words[i]);
    if (known == words_.end()) return std::nullopt;
    for (const Word& word : known->second) chart.at(i, i + 1)[word.parent].log_probability = word.log_probability;
  }
  for (std::size_t length = 2; length <= words.size(); ++length) {
    for (std::size_t begin = 0; begin + length <= words.size(); ++begin) fill(chart, begin, begin + length);
  }
  if (!std::isfinite(chart.at(0, words.size())[0].log_probability)) return std::nullopt;
  Bracketing tree{.words = words};
  read(chart, 0, 0, words.size(), tree);
  return tree;
}

}  // namespace tapeformer
