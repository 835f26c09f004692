// The best possible prediction of the masked letters in a Markov chain's text: computed by forward-backward, not
// estimated from a model.
#pragma once

#include <span>
#include <vector>

#include "data/masked/token_masker.h"
#include "data/synthetic/sequences.h"

namespace tapeformer {

using StateDistribution = std::array<double, MarkovChain::kStates>;

inline constexpr int kMaskedState = -1;  // the observation of [MASK]

// P(x_i | all observations of the row, and that position i is masked), for every i. The row is taken from a random
// position of an endless text x of the chain. The observation at a position is x, unless the position is masked
// (rates.mlm_probability) and the letter became kMaskedState (rates.mask_token) or a random letter
// (rates.random_token). Which positions are masked is not observed. Computed by forward-backward (Baum et al. 1970) on
// the chain with these observations.
std::vector<StateDistribution> masked_posteriors(const MarkovChain& chain, std::span<const int> observed,
                                                 const MaskRates& rates);

// The smallest expected −ln P of a letter at a masked position, in nats, and the largest expected share of right
// predictions: no model that knows the rates and sees one row can do better.
struct MaskedOptimum {
  double nats = 0, accuracy = 0;
  double error = 0;  // the standard error of nats
};
// The mean over rows of `row` letters. The letters and masks around a position are sampled, 250,000 of them from a
// fixed seed; the sum over the position's own letter and its corruption is exact.
MaskedOptimum masked_optimum(const MarkovChain& chain, std::int64_t row, const MaskRates& rates);

}  // namespace tapeformer
