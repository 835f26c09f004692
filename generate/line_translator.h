// Translates text line by line.
#pragma once

#include <string>
#include <string_view>

#include "generate/translator.h"

namespace tapeformer {

struct LineTranslation {
  std::vector<std::string> texts;            // best first; a line without tokens has one empty text
  std::vector<double> scores;                // Hypothesis::score of each text
  std::vector<std::int32_t> source, target;  // the ids that were translated; the ids of the best text
  // The number of tokens that were cut off at the end of a source that is longer than the model's context.
  std::int64_t dropped_tokens = 0;
};

// Translates lines of text. Each byte that is not valid UTF-8 is read as U+FFFD. A line has no tokens if it is white
// space, or if the source tokenizer leaves nothing of it. The translation of a line does not depend on the other lines.
// TranslateOptions::grammar is called with the index of the line. Throws Error with the line's number (the first is
// first_number) if the source tokenizer cannot encode the line.
std::vector<LineTranslation> translate_lines(const EncoderDecoder& model, const Tokenizer& source,
                                             const Tokenizer& target, const PairSymbols& symbols,
                                             std::span<const std::string_view> lines, const TranslateOptions& options,
                                             std::int64_t first_number = 1);

}  // namespace tapeformer
