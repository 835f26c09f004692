// The generated corpus `mappings`, with which models learn from examples in their prompt: a line "a→w; c→x; …" follows
// one of 16 hidden mappings from the letters a to h to the letters w to z, drawn anew for each line. Only the pairs
// before a letter say which mapping it is.
#pragma once

#include <string>

#include "core/random.h"
#include "data/grammars/grammar.h"

namespace tapeformer {

// Each letter has the same number of mappings to each output, so that without an example all outputs are equally
// probable.
inline constexpr int kMappings = 16, kMappingInputs = 8, kMappingOutputs = 4, kMappingPairs = 16;

// Draws a line of kMappingPairs pairs. The letters of its left sides are drawn independently.
std::string mappings_line(RandomStream& random);
LineExpectation mappings_expectation();

// Draws a question with `shots` examples, 0 ≤ shots < kMappingPairs, as a line of JSON that `score --lines` reads: the
// prompt "a→w; c→", the options w, x, y, z, the answer, the group `shots`, and mappings_accuracy() as the optimum.
std::string mappings_question(RandomStream& random, int shots);
// The share of such questions that the Bayes posterior over the mappings answers right, in expectation: no model can
// answer more. The posterior is uniform over the mappings that agree with the examples, and the answer is the output
// that most of them give. Computed exactly: of the examples only the set of their letters matters, and all sets of one
// size are equally probable.
double mappings_accuracy(int shots);

}  // namespace tapeformer
