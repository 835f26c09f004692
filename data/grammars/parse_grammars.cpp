#include "data/grammars/parse_grammars.h"

#include "core/error.h"
#include "core/text/joined.h"
#include "core/text/split_at.h"

namespace tapeformer {
namespace {

// Alternatives of words apart by spaces, all of the same weight.
std::vector<Alternative> equal_words(std::string_view text) {
  std::vector<Alternative> words;
  for (const std::string_view word : split_at(text, ' ')) words.push_back({1, std::string(word)});
  return words;
}

// Appends alternatives to those of `words`.
std::vector<Alternative> and_words(std::vector<Alternative> words, std::vector<Alternative> more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string line_of_tree(const PhraseGrammar& grammar, RandomStream& random) {
  const Bracketing tree = grammar.draw(random);
  return str_cat(joined(tree.words, " "), '\t', flat_text(tree), '\n');
}

}  // namespace

const PhraseGrammar& parse_grammar() {
  // clang-format off
  static const PhraseGrammar grammar({
      {"S", "S", {{8, "NP VP"}, {2, "PP Comma-Clause"}}},
      {"Comma-Clause", "", {{1, "Comma Clause"}}},
      {"Clause", "", {{1, "NP VP"}}},
      {"NP", "NP", {{4, "Det Noun"}, {2, "Det Adj-Noun"}, {2, "Base Rel"}, {1, "Both Pair"},
                    {1, "Ann"}, {1, "Bob"}, {1, "Eve"}, {1, "Tom"}}},
      {"Base", "NP", {{3, "Det Noun"}, {1, "Det Adj-Noun"}}},
      {"Adj-Noun", "", {{3, "Adj Noun"}, {1, "ADJP Noun"}}},
      {"ADJP", "ADJP", {{1, "Very Adj"}}},
      {"Pair", "", {{1, "NP And-NP"}}},
      {"And-NP", "", {{1, "And NP"}}},
      {"Rel", "SBAR", {{1, "Who VP"}}},
      {"VP", "VP", and_words(equal_words("slept ran laughed sang"),
                             {{7, "Verb NP"}, {2, "Put NP-PP"}, {2, "Said Comp"}, {1, "ADVP VP"}})},
      {"NP-PP", "", {{1, "NP PP"}}},
      {"Comp", "SBAR", {{1, "That S"}}},
      {"PP", "PP", {{1, "Prep NP"}}},
      {"ADVP", "ADVP", equal_words("quietly often never")},
      {"Det", "", equal_words("the a every")},
      {"Noun", "", equal_words("dog cat horse bird child king teacher garden box house park boat")},
      {"Adj", "", equal_words("big young red small happy")},
      {"Verb", "", equal_words("saw chased found liked followed")},
      {"Prep", "", equal_words("in on near behind")},
      {"Put", "", equal_words("put placed")},
      {"Said", "", equal_words("said knew")},
      {"Very", "", equal_words("very quite")},
      {"Who", "", {{1, "who"}}}, {"That", "", {{1, "that"}}}, {"Both", "", {{1, "both"}}},
      {"And", "", {{1, "and"}}}, {"Comma", "", {{1, ","}}},
  }, 20);
  // clang-format on
  return grammar;
}

const PhraseGrammar& ambiguous_parse_grammar() {
  // Groucho Marx: "One morning I shot an elephant in my pajamas. How he got in my pajamas, I don't know."
  // clang-format off
  static const PhraseGrammar grammar({
      {"S", "S", {{1, "NP VP"}}},
      {"NP", "NP", {{4, "Det Noun"}, {2, "An Vowel-Noun"}, {3, "NP Noun-PP"}, {1, "Groucho"}, {1, "Harpo"}, {1, "Chico"}, {1, "I"}}},
      {"VP", "VP", {{6, "Verb NP"}, {3, "VP Verb-PP"}, {1, "slept"}, {1, "waited"}}},
      {"Noun-PP", "PP", {{1, "Noun-Prep Owned"}}},
      {"Verb-PP", "PP", {{1, "Verb-Prep Means"}}},
      {"Owned", "NP", {{4, "Det Feature"}, {1, "Owned Noun-PP"}}},
      {"Means", "NP", {{4, "Det Tool"}, {1, "Means Noun-PP"}}},
      {"Det", "", equal_words("the my his")},
      {"An", "", {{1, "an"}}},
      {"Vowel-Noun", "", equal_words("elephant owl actor")},
      {"Noun", "", equal_words("tiger waiter sheriff piano parrot lady clown")},
      {"Verb", "", equal_words("shot saw painted followed")},
      {"Noun-Prep", "", {{5, "in"}, {4, "with"}, {3, "of"}, {1, "at"}}},
      {"Verb-Prep", "", {{4, "in"}, {5, "with"}, {3, "at"}}},
      {"Feature", "", {{6, "pajamas"}, {6, "hat"}, {5, "stripes"}, {3, "garden"}, {2, "camera"}, {1, "telescope"}, {1, "rifle"}}},
      {"Tool", "", {{6, "rifle"}, {6, "telescope"}, {5, "camera"}, {5, "morning"}, {3, "garden"}, {2, "pajamas"}, {1, "hat"}}},
  }, 12);
  // clang-format on
  return grammar;
}

std::string parse_line(RandomStream& random) { return line_of_tree(parse_grammar(), random); }
std::string ambiguous_parse_line(RandomStream& random) { return line_of_tree(ambiguous_parse_grammar(), random); }

}  // namespace tapeformer
