// The grammar of the generated corpus `stories`: children's stories of four to six sentences, one a line.
#pragma once

#include "data/synthetic/grammar.h"

namespace tapeformer {

const Grammar& stories_grammar();

}  // namespace tapeformer
