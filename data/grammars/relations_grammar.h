// The grammar of the generated corpus `relations`: text in which pairs of words are related in the same way, as king is
// to queen and uncle to aunt. So word vectors of it can solve analogies.
#pragma once

#include "data/grammars/grammar.h"

namespace tapeformer {

// There are three relations: a man and a woman of the same place in life, a capital and its country, the present and
// the past of a verb. A word occurs near words that it shares with all words of its side of the relation (male,
// capital, present), and near others that it shares with its partner alone.
const Grammar& relations_grammar();

// All analogies of the corpus in the format of word2vec's questions-words.txt: ": NAME" before those of a relation,
// then lines "a b c d", which say that a is to b as c is to d.
std::string relations_analogies();

}  // namespace tapeformer
