// The grammar of the generated corpus `cloze`, modelled on Winograd schemas: "The dog didn't cross the road because it
// was too long." The last word says what "it" refers to, so only a model that reads the following words can know it at
// "it".
#pragma once

#include "data/grammars/grammar.h"

namespace tapeformer {

// The slots `animal` and `place` write "it".
const Grammar& cloze_grammar();

}  // namespace tapeformer
