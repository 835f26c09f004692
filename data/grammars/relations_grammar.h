// The grammar of the generated corpus `relations`: text in which pairs of words are related in the same way, as king is
// to queen and uncle to aunt. So word vectors of it can solve analogies.
#pragma once

#include "data/grammars/grammar.h"

namespace tapeformer {

// There are three relations: a man and a woman of the same place in life, a capital and its country, the present and
// the past of a verb. A word stands beside words that all words of its side of the relation have near them (male,
// capital, present) and beside others that only it and its partner have.
const Grammar& relations_grammar();

// All analogies of the corpus in the format of word2vec's questions-words.txt: ": NAME" before those of a relation,
// then lines "a b c d", which say that a is to b as c is to d.
std::string relations_analogies();

}  // namespace tapeformer
