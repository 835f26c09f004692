// A generated corpus of conversations: instructions about words of letters, each with exactly one right answer.
#pragma once

#include <string>

#include "core/random.h"

namespace tapeformer {

// Draws a line of JSON, {"messages": [{"role": "user", "content": …}, {"role": "assistant", "content": …}, …]}, with
// one or two questions. The first asks for a word of 3 to 8 letters to be sorted, reversed, copied, spelled, written in
// capitals or counted; the second asks for the word once more, written in another way.
std::string instructions_line(RandomStream& random);

}  // namespace tapeformer
