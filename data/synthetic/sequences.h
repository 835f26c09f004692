// Generated plain text whose entropy rate is computed: a Markov chain, and the recall of a symbol over a distance.
#pragma once

#include <array>
#include <string>

#include "core/random.h"

namespace tapeformer {

// A Markov chain of first order over the letters a to l and the newline: a text in which only the last character tells
// something about the next one.
class MarkovChain {
 public:
  static constexpr int kStates = 13;  // the newline, then a to l
  using Matrix = std::array<std::array<double, kStates>, kStates>;

  MarkovChain();
  // P(next state | state), the same in every program.
  const Matrix& transitions() const { return transitions_; }
  // The share of each state in an endless text.
  const std::array<double, kStates>& stationary() const { return stationary_; }
  // −Σ_i π_i Σ_j P_ij ln P_ij, in nats per character.
  double entropy_rate() const;

  static char character(int state) { return state == 0 ? '\n' : static_cast<char>('a' + state - 1); }
  // From a newline to the next one.
  std::string line(RandomStream& random) const;

 private:
  Matrix transitions_{};
  std::array<double, kStates> stationary_{};
};

// The chain of the corpus `markov`.
const MarkovChain& markov_chain();
std::string markov_line(RandomStream& random);
double markov_entropy();

// A digit, 100 letters a to j drawn at random, an equals sign, and the digit again (after task 2 of Hochreiter &
// Schmidhuber 1997): "7bfa…ce=7". Whoever has forgotten the digit loses ln 10 = 2.303 nats where it comes again. The
// first digit and the letters cannot be predicted.
inline constexpr int kRecallDistance = 100;
inline constexpr int kRecallKinds = 10;  // digits, and letters
std::string recall_line(RandomStream& random);
// The same as a text with a label: the digit, a tab, the digit and the letters. A classifier that reads the last letter
// has to recall the digit.
std::string labelled_recall_line(RandomStream& random);
double recall_entropy();

}  // namespace tapeformer
