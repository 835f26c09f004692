#include "data/synthetic/masked_optimum.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/parallel.h"

namespace tapeformer {
namespace {

constexpr int kStates = MarkovChain::kStates;
constexpr std::int64_t kDrawnLetters = 250000;

void normalize(StateDistribution& p) {
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& value : p) value /= sum;
}

// P(observation | letter) at a position that is masked with this probability.
StateDistribution emission(int observed, double mask_probability, const MaskRates& rates) {
  StateDistribution p;
  if (observed == kMaskedState) {
    p.fill(mask_probability * rates.mask_token);
  } else {
    p.fill(mask_probability * rates.random_token / kStates);
    p[observed] += 1 - mask_probability * (rates.mask_token + rates.random_token);
  }
  return p;
}

// P(x_i | the observations at all other positions), for every i.
std::vector<StateDistribution> others_posteriors(const MarkovChain& chain, std::span<const int> observed,
                                                 const MaskRates& rates) {
  const MarkovChain::Matrix& transitions = chain.transitions();
  const std::size_t size = observed.size();
  std::vector<StateDistribution> posterior(size);
  StateDistribution before = chain.stationary();  // P(x_i | the observations before i)
  for (std::size_t i = 0; i < size; ++i) {
    posterior[i] = before;
    const StateDistribution seen = emission(observed[i], rates.mlm_probability, rates);
    StateDistribution next{};
    for (int x = 0; x < kStates; ++x) {
      for (int y = 0; y < kStates; ++y) next[y] += before[x] * seen[x] * transitions[x][y];
    }
    before = next;
    normalize(before);
  }
  StateDistribution after;  // P(the observations after i | x_i), up to a factor
  after.fill(1);
  for (std::size_t i = size; i-- > 0;) {
    for (int x = 0; x < kStates; ++x) posterior[i][x] *= after[x];
    normalize(posterior[i]);
    const StateDistribution seen = emission(observed[i], rates.mlm_probability, rates);
    StateDistribution previous{};
    for (int x = 0; x < kStates; ++x) {
      for (int y = 0; y < kStates; ++y) previous[x] += transitions[x][y] * seen[y] * after[y];
    }
    after = previous;
    normalize(after);
  }
  return posterior;
}

int draw_state(const StateDistribution& p, RandomStream& random) {
  double left = random.uniform();
  int state = 0;
  while (state + 1 < kStates && left >= p[state]) left -= p[state++];
  return p[state] > 0 ? state : static_cast<int>(std::ranges::max_element(p) - p.begin());
}

double entropy_term(double p) { return p > 0 ? -p * std::log(p) : 0; }

// Expectations over the letter x ~ p at a masked position and over its corruption: of −ln P(x | the observation), and
// of whether the most probable letter is right.
MaskedOptimum expected_at(const StateDistribution& p, const MaskRates& rates) {
  const double same = 1 - rates.mask_token - rates.random_token, other = rates.random_token / kStates;
  double entropy = 0, others = 0;  // others: Σ_x of the terms of an observed letter that is not x
  for (const double px : p) entropy += entropy_term(px), others += entropy_term(other * px);
  MaskedOptimum result{.nats = rates.mask_token * entropy, .accuracy = rates.mask_token * *std::ranges::max_element(p)};
  for (int seen = 0; seen < kStates; ++seen) {  // adds the terms of the joint probabilities of x and `seen`
    const double whole = other + same * p[seen], own = (other + same) * p[seen];
    result.nats += others - entropy_term(other * p[seen]) + entropy_term(own) - entropy_term(whole);
    double most = own;
    for (int x = 0; x < kStates; ++x) most = std::max(most, other * p[x]);
    result.accuracy += most;
  }
  return result;
}

}  // namespace

std::vector<StateDistribution> masked_posteriors(const MarkovChain& chain, std::span<const int> observed,
                                                 const MaskRates& rates) {
  std::vector<StateDistribution> posterior = others_posteriors(chain, observed, rates);
  for (std::size_t i = 0; i < observed.size(); ++i) {
    const StateDistribution seen = emission(observed[i], 1, rates);
    for (int x = 0; x < kStates; ++x) posterior[i][x] *= seen[x];
    normalize(posterior[i]);
  }
  return posterior;
}

MaskedOptimum masked_optimum(const MarkovChain& chain, std::int64_t row, const MaskRates& rates) {
  if (row < 1) fail_usage("masked optimum: expected rows of at least 1 letter, got ", row);
  const std::int64_t rows = chunk_count(kDrawnLetters, row);
  RandomStream random(RandomKey{.seed = 1, .stream = mix64(0x6f7074696d756d)});  // "optimum"
  MaskedOptimum total;
  double squares = 0;
  std::vector<int> observed(row);
  for (std::int64_t r = 0; r < rows; ++r) {
    int state = draw_state(chain.stationary(), random);
    for (int& seen : observed) {
      const double choice = random.uniform(), share = random.uniform();
      seen = state;
      if (choice < rates.mlm_probability && share < rates.mask_token + rates.random_token) {
        seen = share < rates.mask_token ? kMaskedState : static_cast<int>(random.below(kStates));
      }
      state = draw_state(chain.transitions()[state], random);
    }
    double nats = 0;
    for (const StateDistribution& p : others_posteriors(chain, observed, rates)) {
      const MaskedOptimum here = expected_at(p, rates);
      nats += here.nats, total.accuracy += here.accuracy;
    }
    nats /= static_cast<double>(row);
    total.nats += nats, squares += nats * nats;
  }
  const auto count = static_cast<double>(rows);
  total.nats /= count, total.accuracy /= count * static_cast<double>(row);
  total.error = std::sqrt(std::max(0.0, squares / count - total.nats * total.nats) / count);
  return total;
}

}  // namespace tapeformer
