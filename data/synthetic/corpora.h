// Generated corpora: text of any length, of known difficulty.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "data/synthetic/masked_optimum.h"

namespace tapeformer {

// The names, in the order of the table in corpora.cpp.
std::span<const std::string_view> corpus_names();

// Line `line` of the corpus with its newline: a pure function of the seed and the number of the line. A line of a
// parallel corpus is source, tab, target. All functions throw UsageError for an unknown name, with the nearest known
// name.
std::string corpus_line(std::string_view name, std::int64_t line, std::uint64_t seed);
// Lines 0 … lines - 1. Throws UsageError for less than one line.
std::string generate_corpus(std::string_view name, std::int64_t lines, std::uint64_t seed);
// A line of plain text with labels. In `stories`, `tales`, `cloze` and `senses`: its words, each with its label as
// LabelledText reads it ("word\tlabel\n", or "word\n" where it has none), and an empty line; in `stories` and `tales` a
// label is the slot of the grammar's variables that wrote the word, such as animal.home, or O; in `cloze` "it" is
// animal or place, in `senses` "green" is colour, place or novice, and no other word has a label. In `recall`: the
// digit, a tab, the digit and the letters behind it. Throws UsageError for a corpus without labels.
std::string labelled_corpus_line(std::string_view name, std::int64_t line, std::uint64_t seed);
// Whether its lines are sentences and their translations.
bool is_parallel_corpus(std::string_view name);
// Which character of a line's source goes with which one of its target, in Pharaoh's i-j, with a newline. Throws
// UsageError for a corpus without such an alignment.
std::string corpus_alignment(std::string_view name, std::int64_t line, std::uint64_t seed);
// The entropy rate in nats per character: the smallest cross-entropy that a model can reach on the text. Known for
// plain text; nothing for parallel corpora.
std::optional<double> corpus_entropy(std::string_view name);
// The best that a masked language model can reach on rows of `row` characters, each a token: known for `markov`.
std::optional<MaskedOptimum> corpus_masked_optimum(std::string_view name, std::int64_t row, const MaskRates& rates);

}  // namespace tapeformer
