// The formats of files of labelled text, and what the user may say of a file.
#pragma once

#include <string>

#include "core/keys.h"

namespace tapeformer {

// The format of a file of labelled text:
//   tsv       fields separated by tabs
//   csv       fields separated by commas, quoted as in RFC 4180, with a first line that names the columns
//   conll     one word on each line, its columns separated by spaces or tabs; -DOCSTART- and comments are skipped
//   fasttext  "__label__LABEL text"
//   jsonl     one JSON object on each line
enum class LabelFormat { automatic, tsv, csv, conll, fasttext, jsonl };
template <>
struct Words<LabelFormat> {
  static constexpr std::pair<LabelFormat, std::string_view> list[] = {
      {LabelFormat::automatic, "auto"}, {LabelFormat::tsv, "tsv"},           {LabelFormat::csv, "csv"},
      {LabelFormat::conll, "conll"},    {LabelFormat::fasttext, "fasttext"}, {LabelFormat::jsonl, "jsonl"}};
};

// Whether the first line names the columns.
enum class HeaderLine { automatic, yes, no };
template <>
struct Words<HeaderLine> {
  static constexpr std::pair<HeaderLine, std::string_view> list[] = {
      {HeaderLine::automatic, "auto"}, {HeaderLine::yes, "yes"}, {HeaderLine::no, "no"}};
};

// What the user says of a file of labelled text. A column is a number (from 1, or −1 for the last), a name in the
// first line, or the name of a JSON field; empty: the usual column.
struct LabelledFileOptions {
  LabelFormat format = LabelFormat::automatic;
  HeaderLine header = HeaderLine::automatic;
  std::string label_column = {}, text_column = {};
  // Whether the user said it of the file that a run was trained on. Then a file without columns may be read as well.
  bool of_another_file = false;
};

}  // namespace tapeformer
