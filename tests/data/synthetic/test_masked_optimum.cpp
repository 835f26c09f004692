// The best prediction of the masked letters of a Markov chain.
#include "data/synthetic/masked_optimum.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "data/synthetic/corpora.h"
#include "tests/long_test.h"

using namespace tapeformer;

namespace {

constexpr int kStates = MarkovChain::kStates;

// P(observation | letter) written out: not chosen, [MASK], any letter, the same.
double emission(int seen, int letter, const MaskRates& rates, bool surely_chosen) {
  const double chosen = surely_chosen ? 1 : rates.mlm_probability;
  if (seen == kMaskedState) return chosen * rates.mask_token;
  const double stays = 1 - rates.mask_token - rates.random_token;
  return (seen == letter ? 1 - chosen + chosen * stays : 0) + chosen * rates.random_token / kStates;
}

// P(x_i | observations, i chosen), by a sum over all rows of letters.
std::vector<StateDistribution> enumerated(const std::vector<int>& observed, const MaskRates& rates) {
  const MarkovChain& chain = markov_chain();
  std::vector<StateDistribution> posterior(observed.size());
  for (std::size_t place = 0; place < observed.size(); ++place) {
    double sum = 0;
    std::vector<int> letters(observed.size());
    const std::function<void(std::size_t, double)> extend = [&](std::size_t i, double p) {
      if (p == 0) return;
      if (i == letters.size()) {
        posterior[place][letters[place]] += p, sum += p;
        return;
      }
      for (int x = 0; x < kStates; ++x) {
        letters[i] = x;
        const double moved = i == 0 ? chain.stationary()[x] : chain.transitions()[letters[i - 1]][x];
        extend(i + 1, p * moved * emission(observed[i], x, rates, i == place));
      }
    };
    extend(0, 1);
    for (double& p : posterior[place]) p /= sum;
  }
  return posterior;
}

}  // namespace

TEST_CASE("masked optimum: forward-backward gives what a sum over all rows of letters gives") {
  const MaskRates bert, all_masked{0.3, 1, 0};
  for (const std::vector<int>& observed : {std::vector<int>{3, kMaskedState, 5, 1},
                                           {kMaskedState, kMaskedState, 2},
                                           {0, 4, kMaskedState, kMaskedState},
                                           {7},
                                           {kMaskedState}}) {
    for (const MaskRates& rates : {bert, all_masked}) {
      if (rates.mask_token == 1 && observed == std::vector<int>{7}) continue;  // surely not chosen
      const auto expected = enumerated(observed, rates), got = masked_posteriors(markov_chain(), observed, rates);
      for (std::size_t i = 0; i < observed.size(); ++i) {
        if (rates.mask_token == 1 && observed[i] != kMaskedState) continue;
        for (int x = 0; x < kStates; ++x) CHECK(got[i][x] == doctest::Approx(expected[i][x]).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("masked optimum: one mask between known letters has P(x | before, behind) ∝ T(before, x) T(x, behind)") {
  const int observed[] = {3, kMaskedState, 5};
  const MarkovChain::Matrix& t = markov_chain().transitions();
  double sum = 0;
  for (int x = 0; x < kStates; ++x) sum += t[3][x] * t[x][5];
  const StateDistribution p = masked_posteriors(markov_chain(), observed, {0.15, 1, 0})[1];
  for (int x = 0; x < kStates; ++x) CHECK(p[x] == doctest::Approx(t[3][x] * t[x][5] / sum).epsilon(1e-12));
}

TEST_CASE("masked optimum: it is the mean of −ln P of the letters that were masked, and the share of right guesses") {
  const MarkovChain& chain = markov_chain();
  const MaskRates rates{0.3, 0.6, 0.3};
  constexpr std::int64_t kRow = 20, kRows = 6000;
  const MaskedOptimum optimum = masked_optimum(chain, kRow, rates);
  CHECK(optimum.error < 0.003);
  std::string text;
  for (std::int64_t line = 0; std::ssize(text) < kRow * kRows; ++line) text += corpus_line("markov", line, 5);
  RandomStream random(RandomKey{.seed = 7});
  double nats = 0, right = 0, count = 0;
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::vector<int> letters, observed;
    std::vector<bool> chosen;
    for (const char c : text.substr(row * kRow, kRow)) {
      letters.push_back(c == '\n' ? 0 : c - 'a' + 1);
      chosen.push_back(random.uniform() < rates.mlm_probability);
      const double share = random.uniform();
      observed.push_back(!chosen.back() || share >= 0.9 ? letters.back()
                         : share < 0.6                  ? kMaskedState
                                                        : static_cast<int>(random.below(kStates)));
    }
    const auto p = masked_posteriors(chain, observed, rates);
    for (std::int64_t i = 0; i < kRow; ++i) {
      if (!chosen[i]) continue;
      nats -= std::log(p[i][letters[i]]);
      right += std::ranges::max_element(p[i]) - p[i].begin() == letters[i];
      ++count;
    }
  }
  CHECK(nats / count == doctest::Approx(optimum.nats).epsilon(0.01));
  CHECK(right / count == doctest::Approx(optimum.accuracy).epsilon(0.02));
}

TEST_CASE("masked optimum: longer rows know more, one letter alone is the chain's share of letters, others have none" *
          long_test()) {
  const MaskRates all{0.15, 1, 0};
  double entropy = 0;
  for (const double p : markov_chain().stationary()) entropy -= p * std::log(p);
  CHECK(masked_optimum(markov_chain(), 1, all).nats == doctest::Approx(entropy).epsilon(1e-9));
  const double two = masked_optimum(markov_chain(), 2, all).nats, many = masked_optimum(markov_chain(), 100, all).nats;
  CHECK(two < entropy);
  CHECK(many < two);
  CHECK(many < markov_chain().entropy_rate());  // both neighbours tell more than one
  CHECK_FALSE(corpus_masked_optimum("stories", 10, {}).has_value());
  CHECK(corpus_masked_optimum("markov", 10, {})->nats == masked_optimum(markov_chain(), 10, {}).nats);
}
