// Analogies, which word vectors answer by sums: a is to b as c is to the token that is nearest to b − a + c.
#pragma once

#include <string>
#include <vector>

#include "tasks/analysis/neighbours.h"

namespace tapeformer {

// a : b :: c : d. The word d, which is expected, may be missing.
struct Analogy {
  std::string a, b, c, d = {};
};

// Parses "a:b::c". Throws UsageError for another form.
Analogy parse_analogy(std::string_view text);

// The tokens that are nearest to b − a + c, the sum of the words' vectors, each divided by its length (Mikolov et al.
// 2013); the three words are left out. Throws as NeighbourFinder::of_word() does.
std::vector<Neighbour> answer(const NeighbourFinder& finder, const Analogy& analogy, std::int64_t count);

struct AnalogyScore {
  std::string section;         // the name of a part of the file; empty: the analogies before the first name
  std::int64_t questions = 0;  // the scored analogies: the vocabulary has all four words, and d as one token
  std::int64_t right = 0;      // the scored analogies whose nearest token is d
  std::int64_t unknown = 0;    // the analogies that are not scored

  double accuracy() const { return questions > 0 ? static_cast<double>(right) / static_cast<double>(questions) : 0; }
};

// Scores the analogies of a file in the format of word2vec's questions-words.txt: a line is "a b c d", and ": NAME"
// begins a section. Throws Error that names file and line for a line of another form, and for a file without an analogy
// that can be answered.
std::vector<AnalogyScore> score_analogies(const NeighbourFinder& finder, const Tokenizer& tokenizer,
                                          const std::string& file);
// Returns the sums over all sections.
AnalogyScore total(const std::vector<AnalogyScore>& sections);

}  // namespace tapeformer
