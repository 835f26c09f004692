#include "data/labels/labelled_table.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "core/text/joined.h"
#include "core/text/lines.h"
#include "core/text/lower_ascii.h"
#include "core/text/utf8.h"
#include "data/labels/conll.h"
#include "data/labels/csv.h"
#include "data/text/byte_reader.h"
#include "data/text/text_files.h"

namespace tapeformer {
namespace {

constexpr std::string_view kFastTextLabel = "__label__";

bool is_label(std::string_view column) { return column == "label" || column == "answer"; }

// The column of the file that the user named for the task's `column`; empty if none.
const std::string& chosen(const LabelledFileOptions& format, std::string_view column) {
  static const std::string nothing;
  return is_label(column) ? format.label_column : column == "question" ? nothing : format.text_column;
}

bool is_number(std::string_view column) {
  const std::size_t digits = column.starts_with('-') ? 1 : 0;
  return column.size() > digits && column.find_first_not_of("0123456789", digits) == column.npos;
}

bool has_only_spaces(std::string_view field) { return field.find_first_not_of(' ') == field.npos; }

// Whether files commonly use this name for the task's `column`.
bool is_usual_name(std::string_view name, std::string_view column) {
  static constexpr std::string_view kLabels[] = {"label",    "labels", "tag",     "tags",     "class",
                                                 "category", "target", "topic",   "intent",   "pos",
                                                 "upos",     "ner",    "ner_tag", "ner_tags", "sentiment"},
                                    kTexts[] = {"text",     "sentence", "review", "content",
                                                "document", "comment",  "context"},
                                    kWords[] = {"word", "words", "token", "tokens", "form"};
  const std::string plain = lower_ascii(name);
  const auto is_one_of = [&](std::span<const std::string_view> names) { return std::ranges::count(names, plain) > 0; };
  if (column == "label") return is_one_of(kLabels);
  if (column == "text") return is_one_of(kTexts);
  if (column == "word") return is_one_of(kWords);
  return plain == column;
}

std::vector<TableRow> fasttext_rows(std::string_view text, const std::string& origin) {
  std::vector<TableRow> rows;
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    const std::size_t begin = std::min(line.find_first_not_of(" \t", end), line.size());
    const std::string_view label = line.substr(0, end), rest = line.substr(begin);
    check(label.starts_with(kFastTextLabel) && !rest.starts_with(kFastTextLabel), origin, ":", number,
          ": expected one __label__LABEL and a text, got \"", line, '"');
    rows.push_back(
        {static_cast<std::int64_t>(number), {std::string(label.substr(kFastTextLabel.size())), std::string(rest)}});
  });
  return rows;
}

// Reads a field of a JSON object; a label may also be a whole number or a boolean.
std::string json_field(const nlohmann::json& object, const std::string& name, bool label, const std::string& where) {
  const auto found = object.find(name);
  const bool is_there = found != object.end();
  if (is_there && label && (found->is_number_integer() || found->is_boolean())) return found->dump();
  check(is_there && found->is_string(), where, "expected a string in the field \"", name, '"');
  return found->get<std::string>();
}

LabelledTable json_table(std::string_view text, const std::string& origin, const TableShape& shape,
                         const LabelledFileOptions& format) {
  LabelledTable table;
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    const std::string where = str_cat(origin, ":", number, ": ");
    const auto object = parse_json<nlohmann::json>(line, where);
    check(object.is_object(), where, "expected a JSON object, got \"", line, '"');
    TableRow row{static_cast<std::int64_t>(number), {}};
    for (const std::string& column : shape.columns) {
      const std::string& name = chosen(format, column);
      row.fields.push_back(json_field(object, name.empty() ? column : name, is_label(column), where));
    }
    table.rows.push_back(std::move(row));
  });
  return table;
}

// Finds the columns of a shape among the fields of a file's lines.
class Columns {
 public:
  // `first` has the fields of the first line. `detected` is the format that format_of() detects.
  Columns(std::span<const std::string> first, const TableShape& shape, const LabelledFileOptions& format,
          LabelFormat detected, const std::string& where)
      : shape_(shape), format_(format), detected_(detected), first_(first), where_(where) {
    bool by_name = false, usual = true;
    for (const std::string& column : shape.columns) {
      const std::string& name = chosen(format, column);
      by_name = by_name || (!name.empty() && !is_number(name));
      // A column that is given needs no usual name, unless all are given as numbers, which tell nothing of a first
      // line. The first word of a CoNLL file may be "words": such a line has names if it has one of the label too.
      const bool is_given = !name.empty() && detected != LabelFormat::conll && !all_numbers();
      usual = usual && (is_given || !usual_indices(column).empty());
    }
    const bool guess = first.size() > 1 && usual;
    const bool by_default = detected == LabelFormat::csv || by_name || guess;
    has_header_ = format.header == HeaderLine::automatic ? by_default : format.header == HeaderLine::yes;
    guessed_ = has_header_ && format.header == HeaderLine::automatic && !by_name && detected != LabelFormat::csv;
    for (std::size_t i = 0; i < shape.columns.size(); ++i) indices_.push_back(index_of(i));
  }

  bool has_header() const { return has_header_; }
  bool guessed() const { return guessed_; }
  std::size_t count() const { return first_.size(); }  // number of fields in a line
  std::int64_t operator[](std::size_t column) const { return indices_[column]; }
  // Whether the columns are the first ones in the usual order, so that the last one may contain tabs.
  bool are_default() const { return !has_header_ && format_.label_column.empty() && format_.text_column.empty(); }

 private:
  bool all_numbers() const {
    return std::ranges::all_of(shape_.columns,
                               [&](const std::string& column) { return is_number(chosen(format_, column)); });
  }
  // The fields of the first line that have the name of the task's column or, if there is none, a usual one.
  std::vector<std::int64_t> usual_indices(const std::string& column) const {
    std::vector<std::int64_t> same, usual;
    for (std::size_t i = 0; i < first_.size(); ++i) {
      if (lower_ascii(first_[i]) == column) same.push_back(static_cast<std::int64_t>(i));
      if (is_usual_name(first_[i], column)) usual.push_back(static_cast<std::int64_t>(i));
    }
    return same.empty() ? usual : same;
  }
  std::int64_t only_one(const std::vector<std::int64_t>& indices, const std::string& column) const {
    std::vector<std::string> names;
    for (const std::int64_t index : indices) names.push_back(first_[index]);
    check(indices.size() == 1, where_, "expected one column of the ", column, ", got ", joined(names, " and "),
          "; data.label_column and data.text_column say which columns are read");
    return indices[0];
  }
  std::int64_t index_of(std::size_t i) const {
    const std::string& column = shape_.columns[i];
    const std::string& name = chosen(format_, column);
    if (is_number(name)) return column_index(name, std::ssize(first_), where_);
    if (!name.empty()) {
      const auto found = std::ranges::find(first_, name);
      check(has_header_ && found != first_.end(), where_, "expected a column \"", name, "\", got \"",
            joined(first_, detected_ == LabelFormat::csv ? "," : "\t"), '"');
      return found - first_.begin();
    }
    const bool has_places = detected_ == LabelFormat::conll;
    if (has_header_) {
      const std::vector<std::int64_t> indices = usual_indices(column);
      if (!indices.empty() && (indices.size() == 1 || !has_places)) return only_one(indices, column);
    }
    if (has_places) {
      return is_label(column) ? conll_label_column(first_.size()) : conll_word_column(first_.size());
    }
    check(detected_ != LabelFormat::csv || format_.header == HeaderLine::no, where_,
          "expected a first line that names the ", "column of the ", column, ", got \"", joined(first_, ","),
          "\"; data.label_column and data.text_column say which columns are read");
    return static_cast<std::int64_t>(i);
  }

  const TableShape& shape_;
  const LabelledFileOptions& format_;
  LabelFormat detected_;
  std::span<const std::string> first_;
  const std::string& where_;
  bool has_header_ = false, guessed_ = false;
  std::vector<std::int64_t> indices_;
};

// The fields of the shape's columns in one row.
std::vector<std::string> fields_of(std::vector<std::string> all, const Columns& columns, const TableShape& shape,
                                   LabelFormat detected, const std::string& where) {
  const std::size_t wanted = shape.columns.size();
  const char* const separator = detected == LabelFormat::csv ? "," : "\t";
  const std::string line = joined(all, separator);
  if (detected == LabelFormat::tsv && columns.are_default() && !shape.sentences && all.size() > wanted) {
    all[wanted - 1] = joined(std::span(all).subspan(wanted - 1), "\t");
    all.resize(wanted);
  }
  const bool only_word = shape.sentences && all.size() == 1;
  if (!columns.are_default() && !only_word) {
    check(all.size() == columns.count(), where, "expected ", columns.count(), " fields as in the first line, got ",
          all.size());
  }
  const bool too_many = detected == LabelFormat::tsv && columns.are_default() && all.size() > wanted;
  std::vector<std::string> fields;
  for (std::size_t i = 0; i < wanted; ++i) {
    const bool is_there = columns[i] < std::ssize(all);
    check((is_there || (only_word && i > 0)) && !too_many, where, "expected ", shape.expected, ", got \"", line, '"');
    fields.push_back(is_there ? all[columns[i]] : "");
  }
  check(!shape.sentences || !fields[0].empty(), where, "expected ", shape.expected, ", got \"", line, '"');
  return fields;
}

LabelledTable table_of(std::vector<TableRow> rows, const std::string& origin, const TableShape& shape,
                       const LabelledFileOptions& format, LabelFormat detected) {
  LabelledTable table;
  for (TableRow& row : rows) {
    if (shape.sentences && std::ranges::all_of(row.fields, has_only_spaces)) row.fields.clear();
  }
  const auto first = std::ranges::find_if(rows, [](const TableRow& row) { return !row.fields.empty(); });
  if (first == rows.end()) return table;
  const std::string of_first = str_cat(origin, ":", first->line, ": ");
  const Columns columns(first->fields, shape, format, detected, of_first);
  if (columns.guessed()) table.header = joined(first->fields, "\t");
  for (auto row = columns.has_header() ? first + 1 : first; row != rows.end(); ++row) {
    const bool is_empty =
        row->fields.empty() || (detected == LabelFormat::csv && row->fields == std::vector<std::string>{""});
    if (is_empty) {
      if (shape.sentences) table.rows.push_back({row->line, {}});
      continue;
    }
    if (detected == LabelFormat::conll && columns[0] != 0 && is_conllu_extra(row->fields)) continue;
    const std::string where = str_cat(origin, ":", row->line, ": ");
    table.rows.push_back({row->line, fields_of(row->fields, columns, shape, detected, where)});
  }
  return table;
}

}  // namespace

std::int64_t column_index(std::string_view number, std::int64_t count, const std::string& where) {
  std::int64_t index = 0;
  std::from_chars(number.data(), number.data() + number.size(), index);
  check(index != 0 && std::abs(index) <= count, where, "expected a column ", number, ", got ", count, " columns");
  return index > 0 ? index - 1 : count + index;
}

LabelFormat format_of(std::string_view text, const std::string& origin, const TableShape& shape,
                      const LabelledFileOptions& format) {
  if (format.format != LabelFormat::automatic) return format.format;
  const std::string ending = lower_ascii(uncompressed_name(origin).extension().string());
  if (is_json_lines(origin)) return LabelFormat::jsonl;
  if (ending == ".csv") return LabelFormat::csv;
  if (shape.sentences) {
    return ending == ".conll" || ending == ".conllu" || seems_conll(text) ? LabelFormat::conll : LabelFormat::tsv;
  }
  return text.starts_with(kFastTextLabel) ? LabelFormat::fasttext : LabelFormat::tsv;
}

LabelledTable parse_table(std::string_view text, const std::string& origin, const TableShape& shape,
                          const LabelledFileOptions& format) {
  const LabelFormat detected = format_of(text, origin, shape, format);
  const bool has_columns = detected != LabelFormat::fasttext, has_label = std::ranges::any_of(shape.columns, is_label);
  const auto refuse = [&](const std::string& column, const char* key, const char* why) {
    check(column.empty(), origin, ": data.", key, ": expected none, since ", why, ", got ", column);
  };
  if (has_columns && !has_label) refuse(format.label_column, "label_column", "no labels are read");
  if (!has_columns && !format.of_another_file) {
    refuse(format.label_column, "label_column", "__label__ marks the label");
    refuse(format.text_column, "text_column", "the text follows the label");
  }
  LabelledTable table;
  if (detected == LabelFormat::jsonl) {
    table = json_table(text, origin, shape, format);
  } else if (detected == LabelFormat::fasttext) {
    check(shape.columns == std::vector<std::string>{"label", "text"}, origin, ": __label__ stands for ",
          "the label of a text: expected ", shape.expected);
    table.rows = fasttext_rows(text, origin);
  } else {
    check(detected != LabelFormat::conll || shape.sentences, origin, ": conll has words and their labels: expected ",
          shape.expected);
    std::vector<TableRow> rows = detected == LabelFormat::csv     ? csv_rows(text, origin)
                                 : detected == LabelFormat::conll ? conll_rows(text, origin)
                                                                  : tab_rows(text);
    table = table_of(std::move(rows), origin, shape, format, detected);
  }
  const auto label = std::ranges::find_if(shape.columns, is_label);
  if (label == shape.columns.end()) return table;
  for (const TableRow& row : table.rows) {
    if (row.fields.empty()) continue;
    const std::string& text_of_label = row.fields[label - shape.columns.begin()];
    const std::size_t invalid = find_invalid_utf8(text_of_label);
    check(invalid == text_of_label.npos, origin, ":", row.line, ": the label is not valid UTF-8 at its byte ", invalid);
  }
  return table;
}

LabelledTable read_table(const std::filesystem::path& path, const TableShape& shape,
                         const LabelledFileOptions& format) {
  return parse_table(read_text_file(path), path.string(), shape, format);
}

}  // namespace tapeformer
