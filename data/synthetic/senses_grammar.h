// The grammar of the generated corpus `senses`: "green" is a colour, a place, or a person who is new to something. Who
// speaks of it leaves two of the three senses, and what follows tells which of them it is.
#pragma once

#include "data/synthetic/grammar.h"

namespace tapeformer {

// "green" is written by the slot `colour`, `place` or `novice`.
const Grammar& senses_grammar();

}  // namespace tapeformer
