// Reads comma-separated values (RFC 4180), and values separated by tabs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/labels/labelled_table.h"

namespace tapeformer {

// The records of a text. A field in quotes may contain commas, line ends and, doubled, quotes. A record has the number
// of the line where it begins; an empty line is a record of one empty field. Throws Error that names `origin` and the
// line for text after a closing quote, a quote within a field that does not begin with one, and quotes that are not
// closed.
std::vector<TableRow> csv_rows(std::string_view text, const std::string& origin);

// The lines of a text as rows of fields separated by tabs; an empty line is a row without fields.
std::vector<TableRow> tab_rows(std::string_view text);
// Splits a line at the separators; "" has one field, which is empty.
std::vector<std::string> split_fields(std::string_view line, char separator);

}  // namespace tapeformer
