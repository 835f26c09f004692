#include "data/synthetic/clauses.h"

#include <array>
#include <string_view>

#include "core/error.h"

namespace tapeformer {
namespace {

struct Word {
  std::string_view source, target;
};

constexpr std::array<Word, 8> kNouns{{{"fox", "vulo"},
                                      {"king", "rego"},
                                      {"owl", "bubo"},
                                      {"tree", "arbo"},
                                      {"child", "nino"},
                                      {"river", "flumo"},
                                      {"horse", "cavo"},
                                      {"house", "domo"}}};
constexpr std::array<Word, 4> kAdjectives{{{"red", "rosa"}, {"old", "velha"}, {"small", "peta"}, {"brave", "kura"}}};
constexpr std::array<Word, 4> kVerbs{
    {{"sees", "vidas"}, {"likes", "amas"}, {"finds", "trovas"}, {"follows", "sekvas"}}};
constexpr std::array<Word, 3> kConjunctions{{{"and", "e"}, {"but", "ma"}, {"while", "dum"}}};
constexpr int kMostClauses = 12;
constexpr double kNextClause = 0.6;  // the probability that another clause follows

template <std::size_t n>
const Word& draw(const std::array<Word, n>& words, RandomStream& random) {
  return words[random.below(n)];
}

// A sentence in both languages.
struct Sentence {
  std::string source, target;

  void add(const Word& word) {
    source += str_cat(source.empty() ? "" : " ", word.source);
    target = str_cat(word.target, target.empty() ? "" : " ", target);
  }
  void add_noun(RandomStream& random) {
    if (random.below(2) == 1) add(draw(kAdjectives, random));
    add(draw(kNouns, random));
  }
};

}  // namespace

std::string clauses_line(RandomStream& random) {
  Sentence sentence;
  for (int clauses = 1;; ++clauses) {
    sentence.add_noun(random);
    sentence.add(draw(kVerbs, random));
    sentence.add_noun(random);
    if (clauses == kMostClauses || random.uniform() >= kNextClause) break;
    sentence.add(draw(kConjunctions, random));
  }
  return str_cat(sentence.source, '\t', sentence.target, '\n');
}

}  // namespace tapeformer
