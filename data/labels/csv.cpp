#include "data/labels/csv.h"

#include <algorithm>

#include "core/error.h"
#include "core/text/lines.h"
#include "core/text/split_at.h"

namespace tapeformer {
namespace {

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& origin) : text_(text), origin_(origin) {}

  std::vector<TableRow> rows() {
    std::vector<TableRow> rows;
    while (at_ < text_.size()) {
      TableRow& row = rows.emplace_back(TableRow{line_, {}});
      do {
        row.fields.push_back(field());
      } while (take(','));
      if (take('\r')) check(at_ == text_.size() || text_[at_] == '\n', where(), "expected a line's end behind \\r");
      take('\n');
    }
    return rows;
  }

 private:
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    line_ += c == '\n';
    return true;
  }

  std::string field() {
    if (take('"')) return quoted();
    const std::size_t end = std::min(text_.find_first_of(",\r\n\"", at_), text_.size());
    check(end == text_.size() || text_[end] != '"', where(),
          "a quote stands within a field: expected the whole field in quotes, and this one doubled");
    std::string field(text_.substr(at_, end - at_));
    at_ = end;
    return field;
  }

  std::string quoted() {
    const std::string begin = where();
    std::string field;
    for (;;) {
      const std::size_t end = text_.find('"', at_);
      check(end != text_.npos, begin, "the quote of a field is not closed");
      field += text_.substr(at_, end - at_);
      line_ += std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                          text_.begin() + static_cast<std::ptrdiff_t>(end), '\n');
      at_ = end + 1;
      if (!take('"')) break;
      field += '"';
    }
    check(at_ == text_.size() || text_.find_first_of(",\r\n", at_) == at_, where(),
          "expected a comma or the line's end behind a closing quote");
    return field;
  }

  std::string where() const { return str_cat(origin_, ":", line_, ": "); }

  std::string_view text_;
  const std::string& origin_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace

std::vector<TableRow> csv_rows(std::string_view text, const std::string& origin) {
  return CsvReader(text, origin).rows();
}

std::vector<TableRow> tab_rows(std::string_view text) {
  std::vector<TableRow> rows;
  std::int64_t number = 0;
  for (const std::string_view line : split_lines(text)) {
    rows.push_back({++number, line.empty() ? std::vector<std::string>() : split_fields(line, '\t')});
  }
  return rows;
}

std::vector<std::string> split_fields(std::string_view line, char separator) {
  const std::vector<std::string_view> fields = split_at(line, separator);
  return {fields.begin(), fields.end()};
}

}  // namespace tapeformer
