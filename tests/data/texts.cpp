#include "tests/data/texts.h"

#include <iterator>

#include "core/random.h"

namespace tapeformer {

std::string varied_text(int words) {
  static const char* const kWords[] = {"the", "cat's", "don't", "We'll", "123",    "4567", "naïve", "日本",
                                       "…",   "--",    "a",     "x1y2",  "\u00A0", "!?",   "ok"};
  static const char* const kGaps[] = {" ", " ", " ", "\n", "\n\n", "  ", " \n", "\n ", "\r\n", "\t", "\n\n\n  ", ""};
  std::string text;
  RandomStream random(RandomKey{.seed = 3});
  for (int i = 0; i < words; ++i) {
    text += kWords[random.below(std::size(kWords))];
    text += kGaps[random.below(std::size(kGaps))];
  }
  return text;
}

std::string with_bounds(const TextSource& source) {
  std::string out;
  SourceFragment fragment;
  for (const auto reader = source.read(); reader->next(fragment);) {
    out += fragment.text;
    if (fragment.bound != Bound::none) out += fragment.bound == Bound::piece ? '|' : '#';
  }
  return out;
}

}  // namespace tapeformer
