// A generated parallel corpus with short and long sentences: 1 to 12 clauses in a simple English and, word by word, in
// a made-up language with another order.
#pragma once

#include <string>

#include "core/random.h"

namespace tapeformer {

// Draws a line "source\ttarget\n". A clause is subject, verb, object, each noun with an adjective before it or without;
// in the target the verb comes last and an adjective after its noun: "red fox sees king and owl likes old tree" →
// "vulo rosa rego vidas e bubo arbo velha amas". Another clause follows with the probability 0.7, so sentences have 3
// to 71 words on both sides, 15 in the mean, and each source has exactly one translation.
std::string clauses_line(RandomStream& random);

}  // namespace tapeformer
