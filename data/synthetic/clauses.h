// A generated parallel corpus with short and long sentences: 1 to 12 clauses in a simple English and, word by word, in
// a made-up language that says everything the other way round.
#pragma once

#include <string>

#include "core/random.h"

namespace tapeformer {

// Draws a line "source\ttarget\n". A clause is subject, verb, object, each noun with an adjective before it or without;
// the target has the words in reverse, so object, verb, subject, and the last clause first: "red fox sees king and owl
// likes tree" → "arbo amas bubo e rego vidas vulo rosa". Another clause follows with the probability 0.6, so sentences
// have 3 to 71 words on both sides, 11.5 in the mean, and each source has exactly one translation. The end of a
// source is needed first, so a model without attention can learn short sentences (Sutskever et al. 2014).
std::string clauses_line(RandomStream& random);

}  // namespace tapeformer
