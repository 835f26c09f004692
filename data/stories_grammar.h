// The grammar of the generated corpus `stories`: children's stories of four to six sentences, one a line.
#pragma once

#include "data/grammar.h"

namespace tapeformer {

const Grammar& stories_grammar();

}  // namespace tapeformer
