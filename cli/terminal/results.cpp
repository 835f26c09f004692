#include "cli/terminal/results.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/json.h"

namespace tapeformer {

void print_text(std::string_view text) { std::cout << text; }
void flush_results() { std::cout << std::flush; }

std::string json_text(const Json& json) { return dump_json(json); }
void print_json(const Json& json) { print_text(json_text(json) + '\n'); }

std::size_t width_of(std::string_view text) {
  // fmt fills up to a width in columns, which no text has more of than bytes: what it does not fill is the text's.
  return 2 * text.size() - fmt::formatted_size("{:{}}", text, text.size());
}

std::string indented(std::string_view text) {
  std::string result = "  ";
  for (const char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  result.resize(result.size() - (text.ends_with('\n') ? 2 : 0));
  return result;
}

Table Table::fitted(std::vector<std::vector<std::string>> rows, std::size_t right_from) {
  std::vector<Column> columns;
  for (const auto& row : rows) {
    columns.resize(std::max(columns.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) columns[i].width = std::max(columns[i].width, width_of(row[i]));
  }
  if (!columns.empty()) columns[0].gap = 0;
  for (std::size_t i = right_from; i < columns.size(); ++i) columns[i].right = true;
  Table table(std::move(columns));
  table.rows_ = std::move(rows);
  return table;
}

std::string Table::text() const {
  std::string text;
  for (const auto& row : rows_) {
    std::size_t end = row.size();
    while (end > 0 && row[end - 1].empty()) --end;
    for (std::size_t i = 0; i < end; ++i) {
      const Column& column = columns_[i];
      const std::string fill(column.width - std::min(column.width, width_of(row[i])), ' ');
      text.append(column.gap, ' ');
      if (column.right) text += fill;
      text += row[i];
      if (!column.right && i + 1 < columns_.size()) text += fill;
    }
    text += '\n';
  }
  return text;
}

}  // namespace tapeformer
