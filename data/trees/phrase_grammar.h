// A probabilistic context-free grammar in Chomsky normal form: draws sentences with their trees, and finds the most
// probable tree of a sentence.
#pragma once

#include <optional>
#include <unordered_map>

#include "core/random.h"
#include "data/grammars/grammar.h"
#include "data/trees/bracketing.h"

namespace tapeformer {

// A symbol, and what it may become: two symbols ("NP VP"), or one word. Alternatives are drawn in proportion to their
// weights.
struct PhraseSymbol {
  std::string name;
  std::string label;  // of its brackets; empty: it has none, as parts of speech and parts of longer phrases have none
  std::vector<Alternative> alternatives;
};

class PhraseGrammar {
 public:
  // Sentences have at most `longest` words: longer ones are drawn again, which changes no probability of a sentence's
  // trees. The first symbol is the start. Throws Error for an alternative of two words of which one is no symbol.
  PhraseGrammar(std::vector<PhraseSymbol> symbols, std::int64_t longest);

  Bracketing draw(RandomStream& random) const;
  // The most probable tree of the words: CKY (Kasami 1965, Younger 1967) with the maximum over derivations (Viterbi);
  // nullopt if the grammar has none. Of equal ones, the tree of the earlier split, then of the earlier rule.
  std::optional<Bracketing> viterbi(const std::vector<std::string>& words) const;

  const std::vector<PhraseSymbol>& symbols() const { return symbols_; }

 private:
  struct Rule {
    std::size_t parent, left, right;
    double log_probability;
  };
  struct Word {
    std::size_t parent;
    double log_probability;
  };
  struct Chart;

  // Appends a phrase of the symbol; returns false as soon as the sentence is too long.
  bool draw(std::size_t symbol, RandomStream& random, Bracketing& tree) const;
  void fill(Chart& chart, std::size_t begin, std::size_t end) const;
  // Appends the brackets of the best phrase of the symbol over the words [begin, end).
  void read(const Chart& chart, std::size_t symbol, std::size_t begin, std::size_t end, Bracketing& tree) const;

  std::vector<PhraseSymbol> symbols_;
  std::int64_t longest_;
  std::vector<double> weights_;  // the sum of the alternatives' weights, for each symbol
  std::vector<Rule> rules_;
  std::unordered_map<std::string, std::vector<Word>> words_;
  std::unordered_map<std::string, std::size_t> index_;  // of symbols by their names
};

}  // namespace tapeformer
