#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "core/error.h"
#include "data/grammars/relations_grammar.h"
#include "data/grammars/stories_grammar.h"
#include "data/grammars/tales_grammar.h"
#include "data/labels/labelled_text.h"
#include "data/synthetic/corpora.h"
#include "tests/long_test.h"

using namespace tapeformer;

namespace {

// Proves that a grammar's text determines its draws. Suppose that no string of one alternative of a rule is a prefix of
// a string of another alternative, and no cell of a column is a prefix of a different cell. Then all strings of a rule
// are a prefix code: when the text is read from the left, the end of each slot is known, and only one alternative fits.
// A row is known from a cell that no other row has.
class Unambiguity {
 public:
  explicit Unambiguity(const Grammar& grammar) : grammar_(grammar) {}

  // What the proof fails on; empty if it succeeds.
  std::vector<std::string> obstacles() {
    std::vector<std::string> found;
    for (const Rule& rule : grammar_.rules()) {
      for (std::size_t i = 0; i < rule.alternatives.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const std::string &a = rule.alternatives[i].text, &b = rule.alternatives[j].text;
          if (may_begin_alike(split_template(a), split_template(b))) found.push_back(rule.name + ": " + a + " | " + b);
        }
      }
    }
    for (const GrammarVariable& variable : grammar_.variables()) {
      bool known = false;
      for (std::size_t column = 0; column < variable.columns.size(); ++column) {
        const std::set<std::string> cells = cells_of(variable, column);
        for (const std::string& a : cells) {
          for (const std::string& b : cells) {
            if (a < b && may_begin_alike(split_template(a), split_template(b)))
              found.push_back(variable.name + ": " + a);
          }
        }
        const std::string slot = variable.name + "." + variable.columns[column];
        known |= cells.size() == variable.rows.size() && always_writes(grammar_.start(), slot);
      }
      if (!known) found.push_back(variable.name + " may stay untold");
    }
    return found;
  }

 private:
  using Parts = std::vector<TemplatePart>;

  static std::set<std::string> cells_of(const GrammarVariable& variable, std::size_t column) {
    std::set<std::string> cells;
    for (const Row& row : variable.rows) cells.insert(row.cells[column]);
    return cells;
  }

  // All strings that a slot can become, with any row.
  std::vector<Parts> expansions(const TemplatePart& slot) const {
    std::vector<Parts> out;
    if (slot.column.empty()) {
      for (const Alternative& a : grammar_.rule(slot.text).alternatives) out.push_back(split_template(a.text));
    } else {
      const GrammarVariable& variable = grammar_.variables()[grammar_.variable(slot.text)];
      std::set<std::string_view> seen;
      for (const Row& row : variable.rows) {
        const std::string& cell = row.cells[grammar_.column(variable, slot.column)];
        if (seen.insert(cell).second) out.push_back(split_template(cell));
      }
    }
    return out;
  }

  // Whether a string of a is the beginning of one of b, or the other way round.
  bool may_begin_alike(const Parts& a, const Parts& b) const {
    if (a.empty() || b.empty()) return true;
    for (const auto& [first, second] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
      if (!first->front().is_slot) continue;
      for (Parts expansion : expansions(first->front())) {
        expansion.insert(expansion.end(), first->begin() + 1, first->end());
        if (may_begin_alike(expansion, *second)) return true;
      }
      return false;
    }
    const std::size_t common = std::min(a[0].text.size(), b[0].text.size());
    if (a[0].text.substr(0, common) != b[0].text.substr(0, common)) return false;
    return may_begin_alike(without(a, common), without(b, common));
  }

  static Parts without(Parts parts, std::size_t characters) {
    parts[0].text.remove_prefix(characters);
    if (parts[0].text.empty()) parts.erase(parts.begin());
    return parts;
  }

  bool always_writes(std::string_view text, const std::string& slot) const {
    for (const TemplatePart& part : split_template(text)) {
      if (!part.is_slot) continue;
      if (std::string(part.text) + "." + std::string(part.column) == slot) return true;
      if (!part.column.empty()) continue;
      bool all = true;
      for (const Alternative& a : grammar_.rule(part.text).alternatives) all &= always_writes(a.text, slot);
      if (all) return true;
    }
    return false;
  }

  const Grammar& grammar_;
};

std::vector<std::string> obstacles(const Grammar& grammar) { return Unambiguity(grammar).obstacles(); }

}  // namespace

TEST_CASE("stories, tales and relations: the text determines the draws") {
  for (const std::string& obstacle : obstacles(relations_grammar())) FAIL_CHECK(obstacle);
  for (const std::string& obstacle : obstacles(stories_grammar())) FAIL_CHECK(obstacle);
  for (const std::string& obstacle : obstacles(tales_grammar())) FAIL_CHECK(obstacle);

  // The proof fails for grammars that break its conditions.
  const auto rules = [](const char* a, const char* b) {
    return std::vector<Rule>{{"r", {{1, a}, {1, b}}}, {"s", {{1, "old "}, {1, "odd "}}}};
  };
  CHECK(obstacles(Grammar("{r}.", {}, rules("cat", "car"))).empty());
  CHECK(obstacles(Grammar("{r}.", {}, rules("cat", "catfish"))).size() == 1);
  CHECK(obstacles(Grammar("{r}.", {}, rules("{s}cat", "old cat"))).size() == 1);
  CHECK(obstacles(Grammar("{r}.", {}, rules("{s}cat", "own cat"))).empty());
  const GrammarVariable hero{"hero", {"name", "he"}, {{1, {"Ann", "she"}}, {1, {"Eve", "she"}}, {1, {"Bob", "he"}}}};
  CHECK(obstacles(Grammar("{hero.name}{r}.", {hero}, rules("a", "b"))).empty());
  CHECK(obstacles(Grammar("{hero.he}{r}.", {hero}, rules("a", "b"))).size() == 1);
  CHECK(obstacles(Grammar("{r}.", {hero}, rules("a {hero.name}", "b"))).size() == 1);
}

TEST_CASE("stories and tales: the computed entropy is that of the drawn text" * long_test()) {
  const auto check_entropy = [](const Grammar& grammar, const char* name, double least, double most) {
    CAPTURE(name);
    double nats = 0, chars = 0;
    std::set<std::string> texts;
    const int n = 20000;
    RandomStream random(RandomKey{.seed = 11});
    for (int i = 0; i < n; ++i) {
      const GrammarLine line = grammar.generate(random);
      nats += line.nats;
      chars += static_cast<double>(line.text.size());
      texts.insert(line.text);
    }
    const double entropy = corpus_entropy(name).value();
    CHECK(nats / chars == doctest::Approx(entropy).epsilon(0.01));
    CHECK(nats / n == doctest::Approx(grammar.expectation().nats).epsilon(0.005));
    CHECK(chars / n == doctest::Approx(grammar.expectation().chars).epsilon(0.005));
    // Without the newline, where each line is a document.
    CHECK(corpus_entropy(name, true).value() / entropy == doctest::Approx(chars / (chars - n)).epsilon(1e-4));
    CHECK(corpus_entropy_per_byte(name, true) == corpus_entropy(name, true));
    CHECK(entropy > least);
    CHECK(entropy < most);
    CHECK(texts.size() == n);  // e^35 stories: no two alike
  };
  check_entropy(stories_grammar(), "stories", 0.15, 0.16);
  check_entropy(tales_grammar(), "tales", 0.19, 0.21);
}

TEST_CASE("tales: an animal may be the hero or the friend, and 100 lines have only a part of the words" * long_test()) {
  // The words of each slot in lines of a seed.
  const auto words_of = [](std::int64_t lines, std::uint64_t seed) {
    std::map<std::string, std::set<std::string>> words;
    for (std::int64_t i = 0; i < lines; ++i) {
      const std::string line = labelled_corpus_line("tales", i, seed);
      const LabelledText text = LabelledText::from_text(line, "tales");
      for (const LabelledWord& word : text.sentences()[0]) {
        words[std::string(word.label)].emplace(word.word.substr(0, word.word.find_first_of(".,")));
      }
    }
    return words;
  };
  auto few = words_of(100, 2), many = words_of(5000, 1);
  CHECK(many["hero.name"].size() == 172);
  CHECK(many["animal.kind"].size() == 126);
  CHECK(many["friend.kind"] == many["animal.kind"]);
  CHECK(many["colour.name"].size() == 56);
  CHECK(many["toy.name"].size() == 135);
  for (const std::string slot : {"hero.name", "animal.kind", "friend.kind", "toy.name"}) {
    CAPTURE(slot);
    CHECK(3 * few[slot].size() < 2 * many[slot].size());
  }
}

TEST_CASE("stories: lines of three to six sentences, with pronouns, homes and things that agree") {
  const Grammar& grammar = stories_grammar();
  const GrammarVariable& heroes = grammar.variables()[grammar.variable("hero")];
  const auto words_of = [](const std::string& line) {
    std::set<std::string> words;
    std::string word;
    for (const char c : line) {
      if (std::isalpha(static_cast<unsigned char>(c))) {
        word += c;
      } else {
        words.insert(std::exchange(word, {}));
      }
    }
    return words;
  };
  int girls = 0, boys = 0;
  for (int i = 0; i < 500; ++i) {
    const std::string line = corpus_line("stories", i, 3);
    CAPTURE(line);
    CHECK(std::count(line.begin(), line.end(), '\n') == 1);
    CHECK(line.back() == '\n');
    CHECK(line.size() >= 120);
    CHECK(line.size() <= 350);
    const auto sentences = std::count(line.begin(), line.end(), '.');
    CHECK(sentences >= 3);
    CHECK(sentences <= 6);
    const std::set<std::string> words = words_of(line);
    int names = 0;
    bool girl = false;
    for (const Row& hero : heroes.rows) {
      if (!words.count(hero.cells[0])) continue;
      ++names;
      girl = hero.cells[1] == "she";
    }
    CHECK(names == 1);
    ++(girl ? girls : boys);
    for (const char* other : {"he", "He", "him", "his", "His"}) CHECK_FALSE((girl && words.count(other)));
    for (const char* other : {"she", "She", "her", "Her"}) CHECK_FALSE((!girl && words.count(other)));
    for (const char* name : {"animal", "colour", "toy", "friend"}) {
      const GrammarVariable& variable = grammar.variables()[grammar.variable(name)];
      int mentioned = 0;
      for (const Row& row : variable.rows) mentioned += static_cast<int>(words.count(row.cells[0]));
      CHECK(mentioned == 1);
    }
  }
  CHECK(girls > 150);
  CHECK(boys > 150);
}

TEST_CASE("corpora: a line is a function of the seed and its number alone") {
  const std::string text = generate_corpus("stories", 50, 7);
  CHECK(text == generate_corpus("stories", 50, 7));
  CHECK(text != generate_corpus("stories", 50, 8));
  CHECK(text.starts_with(generate_corpus("stories", 20, 7)));
  std::string backwards;
  for (int i = 49; i >= 0; --i) backwards.insert(0, corpus_line("stories", i, 7));
  CHECK(backwards == text);
  CHECK(corpus_line("stories", 0, 7) != corpus_line("stories", std::int64_t{1} << 32, 7));
}

TEST_CASE("relations: analogies of pairs that are related alike, whose words the text has") {
  const std::string text = generate_corpus("relations", 2000, 1), analogies = corpus_analogies("relations");
  CHECK(analogies.starts_with(": gender\nking queen man woman\n"));
  CHECK(std::ranges::count(analogies, '\n') == 3 * (1 + 12 * 11));
  for (const std::string word : {" queen ", " Norway ", " caught "}) {
    CHECK(text.find(word) != text.npos);
    CHECK(analogies.find(word) != analogies.npos);
  }
  CHECK_THROWS_WITH_AS(corpus_analogies("tales"), "corpus tales: it has no analogies; relations has them", UsageError);
}

TEST_CASE("corpora: names, and errors that name the nearest") {
  CHECK(corpus_names()[0] == "stories");
  CHECK_THROWS_WITH_AS(generate_corpus("storie", 5, 1), "unknown corpus 'storie', did you mean 'stories'?", UsageError);
  CHECK_THROWS_WITH_AS(corpus_line("storys", 5, 1), "unknown corpus 'storys', did you mean 'stories'?", UsageError);
  CHECK_THROWS_WITH_AS(corpus_entropy("stores"), "unknown corpus 'stores', did you mean 'stories'?", UsageError);
  CHECK_THROWS_WITH_AS(generate_corpus("stories", 0, 1), "corpus stories: expected at least 1 line, got 0", UsageError);
}
