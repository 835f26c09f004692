// The grammar of the generated corpus `tales`: `stories` with long lists of names, animals, colours and toys, which are
// all equally probable. A few stories have only a small part of these words. The name of an animal does not decide its
// slot: each animal may be the hero or the friend.
#pragma once

#include "data/grammars/grammar.h"

namespace tapeformer {

const Grammar& tales_grammar();

}  // namespace tapeformer
