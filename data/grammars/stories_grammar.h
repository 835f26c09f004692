// The grammar of the generated corpus `stories`: children's stories of four to six sentences, one on each line.
#pragma once

#include <vector>

#include "data/grammars/grammar.h"

namespace tapeformer {

const Grammar& stories_grammar();

// The grammar of `stories` with other words. The variables must be remembered to continue a story: `hero`, the main
// character (name, he, He, him, his, His), `animal`, what the hero is (kind, home, food, went), `colour` (name) and
// `toy` (name) of the thing that is lost or found, and `friend` (kind). Throws Error as Grammar does.
Grammar story_grammar(std::vector<GrammarVariable> variables);

}  // namespace tapeformer
