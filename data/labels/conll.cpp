#include "data/labels/conll.h"

#include <algorithm>

#include "core/error.h"
#include "core/text/lines.h"
#include "data/labels/csv.h"

namespace tapeformer {
namespace {

constexpr std::string_view kDocumentStart = "-DOCSTART-";
constexpr std::size_t kConlluColumns = 10;
constexpr std::int64_t kConlluUpos = 3;  // the index of this column

// Whether it is two numbers with a "-" or a "." between them.
bool is_no_single_word(std::string_view number) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t mark = number.find_first_not_of(kDigits);
  if (mark == 0 || mark == number.npos || (number[mark] != '-' && number[mark] != '.')) return false;
  const std::string_view rest = number.substr(mark + 1);
  return !rest.empty() && rest.find_first_not_of(kDigits) == rest.npos;
}

std::size_t count_conll_columns(std::span<const std::string_view> lines) {
  for (const std::string_view line : lines) {
    if (!ends_conll_sentence(line) && !line.starts_with('#')) return conll_columns(line).size();
  }
  return 0;
}

}  // namespace

std::vector<std::string> conll_columns(std::string_view line) {
  if (line.find('\t') != line.npos) return split_fields(line, '\t');
  std::vector<std::string> columns = split_fields(line, ' ');
  std::erase(columns, "");
  return columns;
}

bool ends_conll_sentence(std::string_view line) {
  return line.find_first_not_of(" \t") == line.npos || line.starts_with(kDocumentStart);
}

bool is_conll_word(std::string_view line, std::size_t columns) {
  if (ends_conll_sentence(line)) return false;
  const std::vector<std::string> fields = conll_columns(line);
  return !line.starts_with('#') || (line.find(" = ") == line.npos && fields.size() == columns);
}

bool is_conllu_extra(std::span<const std::string> columns) {
  return columns.size() == kConlluColumns && is_no_single_word(columns[0]);
}

std::int64_t conll_word_column(std::size_t columns) { return columns == kConlluColumns ? 1 : 0; }

std::int64_t conll_label_column(std::size_t columns) {
  return columns == kConlluColumns ? kConlluUpos : static_cast<std::int64_t>(columns) - 1;
}

std::vector<TableRow> conll_rows(std::string_view text, const std::string& origin) {
  const std::vector<std::string_view> lines = split_lines(text);
  const std::size_t columns = count_conll_columns(lines);
  std::vector<TableRow> rows;
  std::int64_t number = 0;
  for (const std::string_view line : lines) {
    ++number;
    if (is_conll_word(line, columns)) {
      std::vector<std::string> fields = conll_columns(line);
      check(fields.size() == columns, origin, ":", number, ": expected ", columns,
            " columns as in the first word's line, got ", fields.size());
      rows.push_back({number, std::move(fields)});
    } else if (ends_conll_sentence(line)) {
      rows.push_back({number, {}});
    }
  }
  return rows;
}

bool seems_conll(std::string_view text) {
  const std::vector<std::string_view> lines = split_lines(text);
  const std::size_t columns = count_conll_columns(lines);
  bool has_tab = false, all_alike = columns > 1, has_more = false;
  for (const std::string_view line : lines) {
    if (line.starts_with(kDocumentStart)) return true;
    if (!is_conll_word(line, columns)) continue;
    has_tab = has_tab || line.find('\t') != line.npos;
    has_more = has_more || std::ranges::count(line, '\t') > 1;
    all_alike = all_alike && conll_columns(line).size() == columns;
  }
  return all_alike && (has_more || !has_tab);
}

}  // namespace tapeformer
