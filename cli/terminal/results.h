// How commands print their results on standard output. Commands that write a text token by token use TextOutput
// (terminal.h); nothing else writes to standard output.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapeformer {

using Json = nlohmann::ordered_json;

// Prints a text unchanged. Throws std::ios::failure if it cannot be written (RequiredOutput in main.cpp).
void print_text(std::string_view text);

// print_line("{:8.4f}  {}", probability, token): formats with fmt, and ends the line.
template <class... Parts>
void print_line(fmt::format_string<Parts...> format, Parts&&... parts) {
  print_text(fmt::format(format, std::forward<Parts>(parts)...) + '\n');
}

// Flushes standard output, so that its reader sees what was printed.
void flush_results();

// A value in one line of JSON. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(const Json& json);
// Prints json_text(), and ends the line.
void print_json(const Json& json);

// Prints json() as one line, or text(), which is for people and has its own line ends. Only one of the two is called.
template <class MakeJson, class MakeText>
void print_result(bool as_json, const MakeJson& json, const MakeText& text) {
  as_json ? print_json(json()) : print_text(text());
}

// The columns that a text in UTF-8 takes in a terminal: two for each wide character (Chinese, Japanese, Korean, emoji),
// one for each other one.
std::size_t width_of(std::string_view text);

// Returns the lines of a text, each after two spaces.
std::string indented(std::string_view text);

// Rows of cells in columns. A cell that is wider than its column moves the rest of its row to the right. Widths are
// those of width_of().
class Table {
 public:
  struct Column {
    std::size_t width = 0;
    bool right = false;   // whether its cells are right-aligned
    std::size_t gap = 2;  // the spaces before the column
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // A table whose columns are as wide as their widest cells. Those from number `right_from` on are right-aligned.
  static Table fitted(std::vector<std::vector<std::string>> rows, std::size_t right_from = kNoColumn);

  // A row may have fewer cells than there are columns.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // The rows as lines. Empty cells at the end of a row are left out, and the last column is not filled up with spaces.
  std::string text() const;

 private:
  static constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tapeformer
