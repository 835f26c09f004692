// The grammar of the generated corpus `tales`: `stories` with long lists of names, animals, colours and toys, in which
// all are equally likely. A few stories have only a small part of these words. An animal by itself does not say its
// slot: each may be what the hero is, or the friend.
#pragma once

#include "data/synthetic/grammar.h"

namespace tapeformer {

const Grammar& tales_grammar();

}  // namespace tapeformer
