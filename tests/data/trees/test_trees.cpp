// Trees as flat lines and with the Penn Treebank's brackets, their scores, and the grammars that draw them.
#include <doctest/doctest.h>

#include <cmath>

#include "core/error.h"
#include "data/grammars/parse_grammars.h"
#include "data/synthetic/corpora.h"
#include "data/trees/bracket_score.h"

using namespace tapeformer;

namespace {

const char* const kDogs = "(S (NP dogs )NP (VP chase (NP cats )NP )VP )S";

Bracketing one_tree(std::string_view text) {
  const std::vector<Bracketing> trees = read_trees(text, tree_form(text));
  REQUIRE(trees.size() == 1);
  return trees[0];
}

// The counts after one sentence: right, predicted, gold, broken, other words.
std::vector<std::int64_t> counts_of(std::string_view predicted, std::string_view reference) {
  BracketScore score;
  score.add(one_tree(predicted), one_tree(reference));
  const LabelCount total = score.total();
  return {total.right, total.predicted, total.gold, score.broken(), score.other_words()};
}

double percent_of(double recall, double precision) { return std::round(100 * f1_of(precision, recall)) / 100; }

}  // namespace

TEST_CASE("trees: a flat tree is read and written back, and has the brackets of the Penn Treebank's form") {
  const Bracketing tree = read_flat_tree(kDogs);
  CHECK(tree.broken == "");
  CHECK(tree.words == std::vector<std::string>{"dogs", "chase", "cats"});
  CHECK(tree.brackets == std::vector<Bracket>{{"S", 0, 3}, {"NP", 0, 1}, {"VP", 1, 3}, {"NP", 2, 3}});
  CHECK(flat_text(tree) == kDogs);
  CHECK(treebank_text(tree) == "(S (NP (XX dogs)) (VP (XX chase) (NP (XX cats))))");
  CHECK(flat_text(one_tree(treebank_text(tree))) == kDogs);
  // A bracket within a word is none of the tree.
  const std::string smile = treebank_text(read_flat_tree("(S (NP hi :) )NP f(x) )S"));
  CHECK(smile == "(S (NP (XX hi) (XX :-RRB-)) (XX f-LRB-x-RRB-))");
  CHECK(one_tree(smile).broken == "");
  // Two phrases over the same words, and one that is nothing but another.
  for (const std::string text : {"(S (NP (NP a )NP )NP )S", "(S (S a )S b )S", "(X a (X b (X c )X )X )X"}) {
    CHECK(flat_text(read_flat_tree(text)) == text);
  }
}

TEST_CASE("trees: the Penn Treebank's files: trees over several lines, functions, traces, the root, tags") {
  const char* const file = R"(
( (S
    (NP-SBJ-1 (NNP Ms.) (NNP Haag) )
    (VP (VBZ plays)
      (NP (NNP Elianti) )
      (S (NP-SBJ (-NONE- *-1) ) (VP (TO to) (VP (VB win) ))))
    (. .) ))

(TOP (SINV=2 (-LRB- -LRB-) (ADVP|PRT (RB so)) (-RRB- -RRB-)))
(TOP (UH Yes))
)";
  const std::vector<Bracketing> trees = read_trees(file, tree_form(file));
  REQUIRE(trees.size() == 3);
  for (const Bracketing& tree : trees) CHECK(tree.broken == "");
  CHECK(flat_text(trees[0]) == "(S (NP Ms. Haag )NP (VP plays (NP Elianti )NP (S (VP to (VP win )VP )VP )S )VP . )S");
  CHECK(trees[0].tags == std::vector<std::string>{"NNP", "NNP", "VBZ", "NNP", "TO", "VB", "."});
  CHECK(flat_text(trees[1]) == "(SINV -LRB- (ADVP so )ADVP -RRB- )SINV");
  CHECK(flat_text(trees[2]) == "Yes");
  CHECK(treebank_text(trees[1]) == "(SINV (-LRB- -LRB-) (ADVP (RB so)) (-RRB- -RRB-))");
  CHECK(one_tree("(S (NP (NN a))").broken == "a bracket is not closed");
  CHECK(one_tree("(S (NN a)))").broken == "it closes a bracket that is not open");
  CHECK(one_tree("(S (NP the dog))").broken == "the word the has no tag");
  // A flat file: the tree is what follows the last tab of a line, and every line counts.
  const std::string flat = std::string("dogs chase cats\t") + kDogs + "\n\n(X a )X\n";
  CHECK(tree_form(flat) == TreeForm::flat);
  CHECK(read_trees(flat, TreeForm::flat).size() == 3);
  CHECK(tree_form("(X (Y a))\n") == TreeForm::treebank);
  // So it is for the other form, with a sentence and a tab.
  const std::string lines = "a b\t(S (NP (NN a)) (VP (VB b)))\r\nc d\t(S (NP (NN c))\n\t(VP (VB d)))\n(S (NN e))\n";
  const std::vector<Bracketing> after_tabs = read_trees(lines, tree_form(lines));
  REQUIRE(after_tabs.size() == 3);
  CHECK(flat_text(after_tabs[0]) == "(S (NP a )NP (VP b )VP )S");
  CHECK(flat_text(after_tabs[1]) == "(S (NP c )NP (VP d )VP )S");
  CHECK(flat_text(after_tabs[2]) == "(S e )S");
  for (const Bracketing& tree : after_tabs) CHECK(tree.broken == "");
  // Spaces before a bracket that closes, none before the next one.
  CHECK(flat_text(one_tree("(S (NP (NN a) )(VP (VB b) ))")) == "(S (NP a )NP (VP b )VP )S");
}

TEST_CASE("trees: a text that is no tree is read as far as it goes") {
  const auto read = [](std::string_view text) {
    const Bracketing tree = read_flat_tree(text);
    return tree.broken + " | " + flat_text(tree);
  };
  CHECK(read("(S (NP dogs )NP (VP bark") == "(VP is not closed | (S (NP dogs )NP (VP bark )VP )S");
  CHECK(read("(S (NP dogs (VP bark )NP )S") == ")NP closes (VP | (S (NP dogs (VP bark )VP )NP )S");
  CHECK(read("(S dogs )NP bark )S") == ")NP closes no bracket | (S dogs bark )S");
  CHECK(read("(S (NP )NP bark )S") == "(NP has no words | (S bark )S");
  CHECK(read("(S dogs )S bark") == "the word bark is outside of all brackets | (S dogs )S bark");
  CHECK(read("(S dogs )S (S bark )S") == "it has more than one root | (S dogs )S (S bark )S");
  CHECK(read(" ") == "it is empty | ");
}

TEST_CASE("trees: brackets are counted as EVALB counts them") {
  using Counts = std::vector<std::int64_t>;
  CHECK(counts_of(kDogs, kDogs) == Counts{4, 4, 4, 0, 0});
  // A label or an end that differs.
  CHECK(counts_of("(S (NP dogs )NP (NP chase (NP cats )NP )NP )S", kDogs) == Counts{3, 4, 4, 0, 0});
  CHECK(counts_of("(S (NP dogs chase )NP (NP cats )NP )S", kDogs) == Counts{2, 3, 4, 0, 0});
  // Each bracket of the reference counts once.
  CHECK(counts_of("(S (NP (NP a )NP )NP b )S", "(S (NP a )NP b )S") == Counts{2, 3, 2, 0, 0});
  CHECK(counts_of("(S (NP a )NP b )S", "(S (NP (NP a )NP )NP b )S") == Counts{2, 2, 3, 0, 0});
  // Broken, empty, and with other words.
  CHECK(counts_of("(S (NP dogs )NP (VP chase (NP cats )NP", kDogs) == Counts{4, 4, 4, 1, 0});
  CHECK(counts_of("(S (NP dogs )NP (VP chase (NP birds )NP )VP )S", kDogs) == Counts{4, 4, 4, 0, 1});
  CHECK(counts_of("(S (NP dogs )NP (VP chase )VP )S", kDogs) == Counts{1, 3, 4, 0, 1});
  // PRT counts as ADVP, and punctuation of the reference takes no place.
  CHECK(counts_of("(S (ADVP a )ADVP b )S", "(S (PRT a )PRT b )S") == Counts{2, 2, 2, 0, 0});
  const char* const tagged = "(S (NP (NN a) (, ,)) (VP (VB b)) (. .))";
  CHECK(counts_of("(S (NP a )NP , (VP b . )VP )S", tagged) == Counts{3, 3, 3, 0, 0});
  CHECK(counts_of("(S (NP a )NP , (VP b . )VP )S", flat_text(one_tree(tagged))) == Counts{1, 3, 3, 0, 0});
  // A bracket of punctuation alone is a zero element, which EVALB leaves out on both sides.
  const char* const zero = "(S (NP (NN a)) (X (, ,)) (VP (VB b)))";
  for (const char* const predicted : {"(S (NP a )NP , (VP b )VP )S", "(S (NP a )NP (Y , )Y (VP b )VP )S"}) {
    CHECK(counts_of(predicted, zero) == Counts{3, 3, 3, 0, 0});
    BracketScore score;
    score.add(read_flat_tree(predicted), one_tree(zero));
    CHECK(score.exact() == 1);
  }
}

TEST_CASE("trees: F1 of published recalls and precisions, to the second digit") {
  struct Parser {
    const char* name;  // and the treebank: PTB is the Penn Treebank, section 23, CTB the Chinese one
    double recall, precision, printed, f1;
  };
  // Published numbers, in percent, from several places: this is no table that someone else has printed. `printed` is
  // the F1 beside them. `f1` is ours, which may differ, since the recall and precision were rounded or are means of
  // several runs. Those of the first twelve were read in what the parsers' programs print, in their documentation or in
  // a list of results; of the last three only the F1 was found there.
  constexpr Parser kParsers[] = {
      {"Kitaev & Klein 2018, PTB", 93.20, 93.90, 93.55, 93.55},
      {"Zhou & Zhao 2019, GloVe, PTB", 93.64, 93.92, 93.78, 93.78},
      {"Zhou & Zhao 2019, CTB 5.1", 92.03, 92.33, 92.18, 92.18},
      {"Mrini et al. 2020, CTB 5.1", 91.85, 93.45, 92.64, 92.64},
      {"Yang & Deng 2020, BERT, PTB, one run", 95.59, 96.01, 95.80, 95.80},
      {"Yang & Deng 2020, XLNet, PTB, one run", 96.24, 96.64, 96.44, 96.44},
      {"Yang & Deng 2020, BERT, CTB 5.1, one run", 93.38, 93.66, 93.52, 93.52},
      {"Yang & Deng 2020, BERT, CTB 5.1, mean of five runs", 93.40, 93.80, 93.59, 93.60},
      {"Zhang et al. 2020 (SuPar), LSTM, PTB", 93.98, 94.16, 94.07, 94.07},
      {"Zhang et al. 2020 (SuPar), RoBERTa, PTB", 96.05, 96.44, 96.25, 96.24},
      {"Zhang et al. 2020 (SuPar), LSTM, CTB 7", 88.42, 88.82, 88.62, 88.62},
      {"Zhang et al. 2020 (SuPar), ELECTRA, CTB 7", 91.56, 92.15, 91.85, 91.85},
      {"Mrini et al. 2020, XLNet, PTB", 96.24, 96.53, 96.38, 96.38},
      {"Kitaev & Klein 2018, ELMo, PTB", 94.85, 95.40, 95.13, 95.12},
      {"Teng & Zhang 2018, PTB", 92.2, 92.5, 92.4, 92.35},
  };
  int same = 0;
  for (const Parser& parser : kParsers) {
    CAPTURE(parser.name);
    CHECK(percent_of(parser.recall, parser.precision) == parser.f1);
    same += parser.f1 == parser.printed ? 1 : 0;
  }
  CHECK(same == 11);
  CHECK(f1_of(0, 0) == 0);
}

TEST_CASE("trees: CKY finds the most probable of all derivations") {
  // "a b a" has two trees, whose probabilities differ by the first rule alone.
  const auto best = [](double left, double right) {
    const PhraseGrammar grammar({{"S", "S", {{left, "L W"}, {right, "W R"}}},
                                 {"L", "L", {{1, "W W"}}},
                                 {"R", "R", {{1, "W W"}}},
                                 {"W", "", {{1, "a"}, {1, "b"}}}},
                                9);
    return flat_text(grammar.viterbi({"a", "b", "a"}).value());
  };
  CHECK(best(3, 2) == "(S (L a b )L a )S");
  CHECK(best(2, 3) == "(S a (R b a )R )S");
  const PhraseGrammar grammar({{"S", "S", {{1, "S S"}, {2, "a"}}}}, 3);
  CHECK_FALSE(grammar.viterbi({"a", "x"}).has_value());
  CHECK_FALSE(grammar.viterbi({}).has_value());
  CHECK_THROWS_WITH_AS(PhraseGrammar({{"S", "S", {{1, "S T"}}}}, 3),
                       "grammar: S: expected a word or two symbols, got S T", Error);
  RandomStream random(RandomKey{.seed = 3});
  for (int i = 0; i < 200; ++i) CHECK(grammar.draw(random).words.size() <= 3);
}

TEST_CASE("parse: every sentence has one tree, whatever the weights of the rules are; parse-ambiguous has several") {
  // With other weights, ambiguous sentences get other best trees.
  const auto turned = [](const PhraseGrammar& grammar) {
    std::vector<PhraseSymbol> symbols = grammar.symbols();
    for (PhraseSymbol& symbol : symbols) {
      for (Alternative& alternative : symbol.alternatives) alternative.weight = 1 / alternative.weight;
    }
    return PhraseGrammar(symbols, 20);
  };
  const auto differing = [&](const PhraseGrammar& grammar) {
    const PhraseGrammar other = turned(grammar);
    RandomStream random(RandomKey{.seed = 5});
    int count = 0;
    for (int i = 0; i < 300; ++i) {
      const Bracketing tree = grammar.draw(random);
      CHECK(tree.words.size() <= 20);
      CHECK(read_flat_tree(flat_text(tree)).brackets == tree.brackets);
      count += other.viterbi(tree.words).value().brackets == tree.brackets ? 0 : 1;
    }
    return count;
  };
  CHECK(differing(parse_grammar()) == 0);
  CHECK(differing(ambiguous_parse_grammar()) > 30);
}

TEST_CASE("parse: lines of sentence and tree; the best tree is that of the line's own sentence") {
  for (int i = 0; i < 50; ++i) {
    for (const char* const name : {"parse", "parse-ambiguous"}) {
      const std::string line = corpus_line(name, i, 4), best = most_probable_tree(name, i, 4);
      const Bracketing drawn = read_flat_tree(line.substr(line.find('\t') + 1)), found = read_flat_tree(best);
      CHECK(drawn.broken == "");
      CHECK(found.broken == "");
      CHECK(found.words == drawn.words);
      if (name == std::string("parse")) CHECK(found.brackets == drawn.brackets);
    }
  }
  CHECK_THROWS_WITH_AS(most_probable_tree("dates", 0, 1), "corpus dates: it has no trees", UsageError);
}
