// Generated corpora: text of any length, of known difficulty.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "data/images/captioned_images.h"
#include "data/synthetic/masked_optimum.h"

namespace tapeformer {

// The names of the corpora, in the order of the table in corpora.cpp.
std::span<const std::string_view> corpus_names();

// Line `line` of the corpus with its newline: a pure function of the seed and the line number. Lines are drawn
// independently, so another line, of this seed or another one, may be the same. A line of a parallel corpus is source,
// tab, target. All functions throw UsageError for an unknown name, and suggest the nearest known name.
std::string corpus_line(std::string_view name, std::int64_t line, std::uint64_t seed);
// The lines 0 … lines - 1. Throws UsageError for fewer than one line.
std::string generate_corpus(std::string_view name, std::int64_t lines, std::uint64_t seed);
// A line of plain text with labels. In `stories`, `tales`, `cloze` and `senses`, it has the words, each with its label
// as LabelledText reads it ("word\tlabel\n", or "word\n" without a label), and an empty line. In `stories` and `tales`
// a label is the slot of the grammar's variables that wrote the word, such as animal.home, or O; in `cloze` "it" has
// the label animal or place, in `senses` "green" has colour, place or novice, and no other word has a label. In
// `recall`, the line is the digit, a tab, and the digit with the letters after it. Throws UsageError for a corpus
// without labels.
std::string labelled_corpus_line(std::string_view name, std::int64_t line, std::uint64_t seed);
// Whether the corpus consists of sentences with translations.
bool is_parallel_corpus(std::string_view name);
// Whether the lines are conversations, as parse_conversations() reads them.
bool is_conversation_corpus(std::string_view name);
// Whether the corpus has images, which corpus_image() draws; its lines describe them.
bool is_image_corpus(std::string_view name);
// The alignment of a line's source characters with its target characters, in Pharaoh's i-j, with a newline. Throws
// UsageError for a corpus without an alignment.
std::string corpus_alignment(std::string_view name, std::int64_t line, std::uint64_t seed);
// All analogies of a corpus with related words, as relations_analogies() writes them. Throws UsageError for a corpus
// without such words.
std::string corpus_analogies(std::string_view name);
// Line `line` of a corpus of images, whose text describes the same image and has the same caption. Throws UsageError
// for a corpus without images.
CaptionedImage corpus_image(std::string_view name, std::int64_t line, std::uint64_t seed);
// The most probable tree of a line's sentence under the corpus's own grammar, in flat form with a newline: no parser
// can have more trees right as a whole, in expectation. Throws UsageError for a corpus without trees.
std::string most_probable_tree(std::string_view name, std::int64_t line, std::uint64_t seed);
// The entropy rate in nats per character: the smallest cross-entropy that a model can reach on the text. It is known
// for plain text; nullopt for parallel corpora and conversations. Where each line is a document (DocumentEnd::line),
// its newline is not one of the characters.
std::optional<double> corpus_entropy(std::string_view name, bool lines_are_documents = false);
// The same in nats per byte.
std::optional<double> corpus_entropy_per_byte(std::string_view name, bool lines_are_documents = false);
// The best result of any masked language model on rows of `row` characters, each of them a token; known for `markov`.
std::optional<MaskedOptimum> corpus_masked_optimum(std::string_view name, std::int64_t row, const MaskRates& rates);

}  // namespace tapeformer
