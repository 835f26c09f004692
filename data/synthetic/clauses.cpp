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
constexpr double kNextClause = 0.7;  // the probability that another clause follows

template <std::size_t n>
const Word& draw(const std::array<Word, n>& words, RandomStream& random) {
  return words[random.below(n)];
}

// A sentence as it is written, in both languages.
struct Sentence {
  std::string source, target;

  void add_source(const Word& word) { source.append(source.empty() ? "" : " ").append(word.source); }
  void add_target(const Word& word) { target.append(target.empty() ? "" : " ").append(word.target); }
  void add_noun(RandomStream& random) {
    const bool described = random.below(2) == 1;
    const Word &adjective = draw(kAdjectives, random), &noun = draw(kNouns, random);
    if (described) add_source(adjective);
    add_source(noun);
    add_target(noun);
    if (described) add_target(adjective);
  }
};

}  // namespace

std::string clauses_line(RandomStream& random) {
  Sentence sentence;
  for (int clauses = 1;; ++clauses) {
    sentence.add_noun(random);
    const Word& verb = draw(kVerbs, random);
    sentence.add_source(verb);
    sentence.add_noun(random);
    sentence.add_target(verb);
    if (clauses == kMostClauses || random.uniform() >= kNextClause) break;
    const Word& conjunction = draw(kConjunctions, random);
    sentence.add_source(conjunction), sentence.add_target(conjunction);
  }
  return str_cat(sentence.source, '\t', sentence.target, '\n');
}

}  // namespace tapeformer
