// How well the masked letters of a Markov chain's text can be predicted: computed by forward-backward, not estimated
// from a model.
#pragma once

#include <span>
#include <vector>

#include "data/masked/token_masker.h"
#include "data/synthetic/sequences.h"

namespace tapeformer {

using StateDistribution = std::array<double, MarkovChain::kStates>;

inline constexpr int kMaskedState = -1;  // an observation of [MASK]

// P(x_i | all observations of the row, and that i was chosen), for every i. The row is from anywhere in an endless text
// x of the chain. What is observed at a place is x there, unless the place was chosen (rates.chosen) and the letter
// became kMaskedState (rates.masked) or any letter (rates.random): which of the letters were chosen is not observed.
// Forward-backward (Baum et al. 1970) on the chain with these observations.
std::vector<StateDistribution> masked_posteriors(const MarkovChain& chain, std::span<const int> observed,
                                                 const MaskRates& rates);

// The least expected −ln P of a chosen letter, in nats, and the largest expected share of right predictions: what no
// model can beat that is told the rates and sees one row.
struct MaskedOptimum {
  double nats = 0, accuracy = 0;
  double error = 0;  // the standard error of nats
};
// The mean over rows of `row` letters. The letters and masks around a place are drawn, 250,000 of them from a fixed
// seed; the place's own letter, and what masking makes of it, are summed over.
MaskedOptimum masked_optimum(const MarkovChain& chain, std::int64_t row, const MaskRates& rates);

}  // namespace tapeformer
