// Generated parallel corpora: tasks with exactly one right answer for each source, which an encoder-decoder can learn
// perfectly. Each function draws a line "source\ttarget\n" of ASCII.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "data/scores/alignment.h"

namespace tapeformer {

std::string reverse_line(RandomStream& random);  // 4 to 12 letters, the last one first: "kbxa" → "axbk"
// Source letter i of n is linked with target letter n − 1 − i; the links are in the order of the target.
std::vector<AlignmentLink> reverse_alignment(std::string_view source);
std::string sort_line(RandomStream& random);  // 4 to 12 letters in alphabetical order: "kbxb" → "bbkx"
// A day of 1900 to 2099 as people write it: "3rd of May 1999" → "1999-05-03".
std::string dates_line(RandomStream& random);
std::string numbers_line(RandomStream& random);  // 0 to 999999, digits to words or back: "307" → "three hundred seven"
std::string add_line(RandomStream& random);      // two numbers of up to four digits: "47+1985" → "2032"

// A number from 0 to 999999 in words, as Americans write it: 21407 is "twenty-one thousand four hundred seven".
std::string number_in_words(std::int64_t number);

}  // namespace tapeformer
