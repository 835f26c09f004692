// The grammar of the generated corpus `senses`: "green" is a colour, a place, or a person who is new to something. The
// words before it allow two of the three senses, and the words after it decide which of the two it is.
#pragma once

#include "data/grammars/grammar.h"

namespace tapeformer {

// The slots `colour`, `place` and `novice` write "green".
const Grammar& senses_grammar();

}  // namespace tapeformer
