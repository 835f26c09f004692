// The grammar of the generated corpus `cloze`, after Winograd's schemas: "The dog didn't cross the road because it was
// too long." The last word says what "it" is, so only a model that reads what follows can know it there.
#pragma once

#include "data/synthetic/grammar.h"

namespace tapeformer {

// "it" is written by the slot `animal` or `place`.
const Grammar& cloze_grammar();

}  // namespace tapeformer
