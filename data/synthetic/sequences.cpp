#include "data/synthetic/sequences.h"

#include <cmath>
#include <string_view>
#include <utility>

namespace tapeformer {
namespace {

constexpr double kLineEnd = 1.0 / 60;  // P(newline | letter)
constexpr std::string_view kInductionKinds = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

// The digit and the letters after it, which come before the equals sign.
std::string recall_question(RandomStream& random) {
  std::string text(1, static_cast<char>('0' + random.below(kRecallKinds)));
  while (text.size() <= kRecallDistance) text += static_cast<char>('a' + random.below(kRecallKinds));
  return text;
}

}  // namespace

const MarkovChain& markov_chain() {
  static const MarkovChain chain;
  return chain;
}

// Each row of the transition matrix is uniform over all distributions (normalised exponential variables). Every letter
// can begin a line.
MarkovChain::MarkovChain() {
  RandomStream random(RandomKey{.seed = 1, .stream = mix64(0x6d61726b6f76)});  // "markov"
  for (int i = 0; i < kStates; ++i) {
    double sum = 0;
    for (int j = 1; j < kStates; ++j) sum += transitions_[i][j] = i == 0 ? 1 : -std::log(1 - random.uniform());
    for (int j = 1; j < kStates; ++j) transitions_[i][j] *= (i == 0 ? 1 : 1 - kLineEnd) / sum;
    transitions_[i][0] = i == 0 ? 0 : kLineEnd;
  }
  // π is the limit of π P; every step reduces the error by a factor well below 1.
  stationary_.fill(1.0 / kStates);
  for (int step = 0; step < 1000; ++step) {
    std::array<double, kStates> next{};
    for (int i = 0; i < kStates; ++i) {
      for (int j = 0; j < kStates; ++j) next[j] += stationary_[i] * transitions_[i][j];
    }
    stationary_ = next;
  }
}

double MarkovChain::entropy_rate() const {
  double nats = 0;
  for (int i = 0; i < kStates; ++i) {
    for (const double p : transitions_[i]) nats -= p > 0 ? stationary_[i] * p * std::log(p) : 0;
  }
  return nats;
}

std::string MarkovChain::line(RandomStream& random) const {
  std::string text;
  int state = 0;
  do {
    double left = random.uniform();
    int next = 0;
    while (next + 1 < kStates && left >= transitions_[state][next]) left -= transitions_[state][next++];
    state = next;
    text += character(state);
  } while (state != 0);
  return text;
}

std::string markov_line(RandomStream& random) { return markov_chain().line(random); }

LineExpectation markov_expectation() {
  constexpr double kChars = 1 / kLineEnd + 1;
  return {.nats = markov_chain().entropy_rate() * kChars, .chars = kChars, .bytes = kChars};
}

std::string recall_line(RandomStream& random) {
  const std::string question = recall_question(random);
  return question + '=' + question.front() + '\n';
}

std::string labelled_recall_line(RandomStream& random) {
  const std::string question = recall_question(random);
  return question.substr(0, 1) + '\t' + question + '\n';
}

LineExpectation recall_expectation() {
  constexpr double kDrawn = 1 + kRecallDistance, kChars = kRecallDistance + 4;
  return {.nats = kDrawn * std::log(kRecallKinds), .chars = kChars, .bytes = kChars};
}

std::string induction_line(RandomStream& random) {
  std::string kinds(kInductionKinds);
  const auto length = kShortestRepeated + random.below(kLongestRepeated - kShortestRepeated + 1);
  for (std::size_t i = 0; i < length; ++i) std::swap(kinds[i], kinds[i + random.below(kinds.size() - i)]);
  std::string line;
  while (line.size() < kInductionLength) line += kinds[line.size() % length];
  return line + '\n';
}

// A line says which n and which of the P(62, n) sequences were drawn, and nothing else.
LineExpectation induction_expectation() {
  constexpr int kLengths = kLongestRepeated - kShortestRepeated + 1;
  double nats = std::log(kLengths), sequence = 0;
  for (int drawn = 0; drawn < kLongestRepeated; ++drawn) {
    sequence += std::log(static_cast<double>(kInductionKinds.size()) - drawn);
    if (drawn + 1 >= kShortestRepeated) nats += sequence / kLengths;
  }
  return {.nats = nats, .chars = kInductionLength + 1, .bytes = kInductionLength + 1};
}

}  // namespace tapeformer
