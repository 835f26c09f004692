// The grammar of the generated corpus `paraphrases`: two sentences that say the same in other words.
#pragma once

#include "data/grammars/grammar.h"

namespace tapeformer {

// A line is a sentence, a tab and its paraphrase. Both have the hero, the friend, the thing and the place in common,
// and nearly all of their words are those of `tales`, so that a model of tales can read them.
const Grammar& paraphrases_grammar();

}  // namespace tapeformer
