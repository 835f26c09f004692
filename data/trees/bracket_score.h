// Labelled precision, recall and F1 of trees (PARSEVAL, Black et al. 1991), counted as EVALB counts them.
#pragma once

#include "data/scores/labels.h"
#include "data/trees/bracketing.h"

namespace tapeformer {

// 2PR/(P + R); 0 if both are 0.
double f1_of(double precision, double recall);

// Counts the brackets of phrases, not those of single words (preterminals). A bracket is right if its label, begin and
// end are those of a bracket of the reference, each of which counts once. As in EVALB's COLLINS.prm, PRT counts as
// ADVP, and words whose tag in the reference is punctuation ( , : `` '' . ) are not counted where brackets begin and
// end, so brackets of them alone are left out. A flat tree has no tags, so all its words are counted.
class BracketScore {
 public:
  // Adds a sentence. A predicted tree that is broken, or has other words, is scored as far as it goes: its brackets are
  // compared by the numbers of their words.
  void add(const Bracketing& predicted, const Bracketing& reference);

  // The counts of all brackets together.
  LabelCount total() const { return total_of(counts_); }
  // The counts of each label, sorted by the labels.
  const std::vector<LabelCount>& counts() const { return counts_; }
  std::int64_t sentences() const { return sentences_; }
  std::int64_t exact() const { return exact_; }              // predicted trees with the reference's brackets and words
  std::int64_t broken() const { return broken_; }            // predicted texts that are no trees
  std::int64_t other_words() const { return other_words_; }  // trees whose words are not those of the reference

 private:
  std::vector<LabelCount> counts_;
  std::int64_t sentences_ = 0, exact_ = 0, broken_ = 0, other_words_ = 0;
};

}  // namespace tapeformer
