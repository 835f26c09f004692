// Divides the quality of translations by the length of their sources.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/parallel/parallel_text.h"
#include "data/scores/bleu.h"
#include "tasks/translation/trained_translator.h"

namespace tapeformer {

// The pairs whose sources have `first` to `last` tokens.
struct LengthPart {
  std::int64_t first, last;
  std::int64_t pairs = 0, tokens = 0;  // tokens: of their targets, with the end of each
  Bleu bleu;
};

// Translations of a text, as the greedy output of a model.
struct TranslationsByLength {
  Bleu all;                       // of all pairs, also those that belong to no part
  std::vector<LengthPart> parts;  // 1 to 10 tokens, 11 to 20, …, to the longest source
};

// Translates the sources of these pairs, `batch` at once, and compares them with the targets. Pairs with an empty
// source belong to no part. Of a source that is longer than the model's context, only the beginning that fits is
// translated. Each byte that is not valid UTF-8 is read as U+FFFD.
TranslationsByLength translations_by_length(const TrainedTranslator& run, std::span<const SentencePair> pairs,
                                            std::int64_t batch);

// Returns [{"first", "last", "pairs", "tokens", "bleu"}]; bleu is null in a part without pairs.
nlohmann::ordered_json lengths_json(const TranslationsByLength& result);
// Returns these numbers as a table for people.
std::string lengths_table(const TranslationsByLength& result);

}  // namespace tapeformer
