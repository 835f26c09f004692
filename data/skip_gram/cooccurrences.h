// Counts how often tokens occur near each other, as GloVe does (Pennington et al. 2014).
#pragma once

#include <vector>

#include "data/text/token_file.h"

namespace tapeformer {

// X_ij, the weighted number of times that token j occurs near token i.
struct Cooccurrence {
  std::int32_t i = 0, j = 0;
  double count = 0;
};

// Every token at most `window` positions from another one adds 1/distance to the count of the pair, in both directions:
// X_ij = X_ji. Returns the pairs whose count is not zero, sorted by i, then j. The memory grows with their number
// alone. Throws Error for an id outside of the vocabulary.
std::vector<Cooccurrence> count_cooccurrences(TokenView tokens, std::int64_t vocab, std::int64_t window);

}  // namespace tapeformer
