// Reads words with labels in CoNLL format: a word and its columns on each line, and an empty line after a sentence.
// Files with ten columns are CoNLL-U.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/labels/labelled_table.h"

namespace tapeformer {

// The columns of a line in CoNLL format: separated by tabs if the line has one, else by spaces.
std::vector<std::string> conll_columns(std::string_view line);
// Whether a line in CoNLL format ends a sentence: it has nothing but spaces and tabs, or is -DOCSTART-.
bool ends_conll_sentence(std::string_view line);
// Whether a line in CoNLL format has a word with this number of columns. It has none if it ends a sentence, or is a
// comment.
bool is_conll_word(std::string_view line, std::size_t columns);
// Whether the columns of such a line are those of CoNLL-U for several words together ("1-2") or for a word that is not
// written ("1.1"). Where the first column has the words, not their numbers, these are words too.
bool is_conllu_extra(std::span<const std::string> columns);
// The usual index of the word among this number of columns: 0; in CoNLL-U 1, since the word's number comes first.
std::int64_t conll_word_column(std::size_t columns);
// The usual index of the label: the last column; in CoNLL-U the universal part of speech.
std::int64_t conll_label_column(std::size_t columns);

// The lines with words of a text, and an empty row for each end of a sentence. Throws Error that names `origin` and the
// line for a word that has another number of columns than the first one.
std::vector<TableRow> conll_rows(std::string_view text, const std::string& origin);
// Whether a text looks like CoNLL: it has a line -DOCSTART-, or all words have the same number of columns, unless these
// are just a word and a label separated by a tab.
bool seems_conll(std::string_view text);

}  // namespace tapeformer
