// The grammars of the generated corpora `parse` and `parse-ambiguous`: sentences with their trees.
#pragma once

#include "data/trees/phrase_grammar.h"

namespace tapeformer {

// Every sentence has exactly one tree: the words "who", "that", "both … and", "put" and the comma say where phrases
// begin and end. Sentences have 2 to 20 words.
const PhraseGrammar& parse_grammar();
// Phrases with a preposition belong to a noun or to the verb, as in "Groucho shot an elephant in my pajamas": their
// words make one more probable than the other, and never certain. Sentences have 2 to 12 words.
const PhraseGrammar& ambiguous_parse_grammar();

// Lines of the corpora: a sentence, a tab, and its tree in flat form.
std::string parse_line(RandomStream& random);
std::string ambiguous_parse_line(RandomStream& random);

}  // namespace tapeformer
