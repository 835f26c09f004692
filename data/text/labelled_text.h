// Sentences whose words have labels, for models that are probed or trained as taggers.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/text/labelled_table.h"

namespace tapeformer {

// The label is empty for a word that only gives context and is not scored.
struct LabelledWord {
  std::string word, label;
  std::int64_t line;  // of its file, counted from 1
};
using LabelledSentence = std::vector<LabelledWord>;

// Words with their labels, a line each, and an empty line behind a sentence: "word\tlabel", or a word alone, which has
// no label; or another format of labelled_table.h but fasttext and jsonl.
class LabelledText {
 public:
  // Throws Error as read_table() does, and for a text without any label.
  static LabelledText from_file(const std::filesystem::path& path, const LabelledFormat& format = {});
  // The same for a text in memory; errors call it `origin`.
  static LabelledText from_text(const std::string& text, const std::string& origin, const LabelledFormat& format = {});

  std::span<const LabelledSentence> sentences() const { return sentences_; }
  const std::string& header() const { return header_; }  // LabelledTable::header

 private:
  LabelledText() = default;

  std::string header_;
  std::vector<LabelledSentence> sentences_;
};

// How words and labels stand in a table.
const TableShape& word_table();

}  // namespace tapeformer
