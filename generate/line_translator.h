// Translation of text, line by line.
#pragma once

#include <string>
#include <string_view>

#include "generate/translator.h"

namespace tapeformer {

struct LineTranslation {
  std::vector<std::string> texts;   // best first; one, empty, for a line of nothing but white space
  std::vector<double> scores;       // of each (Hypothesis::score)
  std::int64_t dropped_tokens = 0;  // of a source longer than the model's context: its last ones were not translated
};

// What a line in the source language becomes. Bytes that are not UTF-8 count as U+FFFD, one each. A line does not
// depend on those that are translated with it. Throws Error, with the number of the line (the first is first_number),
// for what the source tokenizer does not know.
std::vector<LineTranslation> translate_lines(const SequenceToSequence& model, const Tokenizer& source,
                                             const Tokenizer& target, const PairSymbols& symbols,
                                             std::span<const std::string_view> lines, const BeamOptions& options,
                                             std::int64_t first_number = 1);

}  // namespace tapeformer
