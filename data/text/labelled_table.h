// Tables of labelled text, in the formats that people have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/labelled_format.h"

namespace tapeformer {

// What a task reads of a table.
struct TableShape {
  // Names of columns, in the order in which a line of tabs has them: word or text, label or answer, question.
  std::vector<std::string> columns;
  std::string expected;    // what a line of tabs is, for errors: "a label, a tab and a text"
  bool sentences = false;  // a row is a word with or without a label, and an empty line ends a sentence
};

struct TableRow {
  std::int64_t line;                // of the file, counted from 1
  std::vector<std::string> fields;  // those of the columns, in their order; none: an empty line of a table of sentences
};

struct LabelledTable {
  std::vector<TableRow> rows;
  std::string header = {};  // the first line, where it was taken for names of columns without being told; else empty
};

// Reads a file. Its format is told by its ending (.csv, .conll, .conllu, .jsonl, also before .gz and .zst) or else by
// its text. Throws Error as read_text_file() does, naming file and line for one that does not fit the shape, and for a
// label that is not valid UTF-8.
LabelledTable read_table(const std::filesystem::path& path, const TableShape& shape, const LabelledFormat& format = {});
// The same of a text in memory; `origin` stands for the path.
LabelledTable parse_table(std::string_view text, const std::string& origin, const TableShape& shape,
                          const LabelledFormat& format = {});

// The format of a file, as read_table() tells it.
LabelFormat format_of(std::string_view text, const std::string& origin, const TableShape& shape,
                      const LabelledFormat& format);

// The columns of a line of CoNLL's format: apart by tabs where it has one, else by spaces.
std::vector<std::string> conll_columns(std::string_view line);
// Whether such a line ends a sentence: it is empty, or -DOCSTART-.
bool ends_conll_sentence(std::string_view line);
// Whether such a line is a word of so many columns, and no end of a sentence, comment, or word of CoNLL-U that
// stands for others or is not written ("1-2", "1.1").
bool is_conll_word(std::string_view line, std::size_t columns);
// The usual place of the word among so many columns: the first one; CoNLL-U has its number before it.
std::int64_t conll_word_place(std::size_t columns);
// The place of a column among so many, from its number, as LabelledFormat has it. Throws Error that begins with `where`
// for a number that is not there.
std::int64_t column_place(std::string_view number, std::int64_t count, const std::string& where);

}  // namespace tapeformer
