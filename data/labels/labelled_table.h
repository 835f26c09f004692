// Reads tables of labelled text in the common formats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/labels/labelled_format.h"

namespace tapeformer {

// The columns that a task reads from a table.
struct TableShape {
  // Names of columns, in their order in a line separated by tabs: word or text, label or answer, question.
  std::vector<std::string> columns;
  std::string expected;    // describes such a line in error messages: "a label, a tab and a text"
  bool sentences = false;  // each row is a word with or without a label, and an empty line ends a sentence
};

struct TableRow {
  std::int64_t line;  // the number of the line in the file, from 1
  // The fields of the columns, in their order; empty for an empty line in a table of sentences.
  std::vector<std::string> fields;
};

struct LabelledTable {
  std::vector<TableRow> rows;
  std::string header = {};  // the first line, if the reader guessed that it names the columns; else empty
};

// Reads a file. Its format is detected from its ending (.csv, .conll, .conllu, .jsonl, .ndjson, also before .gz and
// .zst) or else from its text. Throws Error as read_text_file() does, naming file and line for a line that does not fit
// the shape, and for a label that is not valid UTF-8.
LabelledTable read_table(const std::filesystem::path& path, const TableShape& shape,
                         const LabelledFileOptions& format = {});
// The same for a text in memory; `origin` replaces the path.
LabelledTable parse_table(std::string_view text, const std::string& origin, const TableShape& shape,
                          const LabelledFileOptions& format = {});

// The format of a file, as read_table() detects it.
LabelFormat format_of(std::string_view text, const std::string& origin, const TableShape& shape,
                      const LabelledFileOptions& format);

// Converts a column number, as in LabelledFileOptions, to an index below `count`. Throws Error that begins with `where`
// for a number out of range.
std::int64_t column_index(std::string_view number, std::int64_t count, const std::string& where);

}  // namespace tapeformer
