// Sentences whose words have labels, for probes and for token classification.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/labels/labelled_table.h"

namespace tapeformer {

// A word with its label. An empty label means that the word is only context and is not scored.
struct LabelledWord {
  std::string word, label;
  std::int64_t line;  // the number of the line in the file, from 1
};
using LabelledSentence = std::vector<LabelledWord>;

// Reads words with their labels, one on each line, and an empty line after each sentence: "word\tlabel", or only a
// word, which has no label. Other formats of labelled_table.h are possible, except fasttext and jsonl.
class LabelledText {
 public:
  // Throws Error as read_table() does, and for a text without any label.
  static LabelledText from_file(const std::filesystem::path& path, const LabelledFileOptions& format = {});
  // The same for a text in memory; errors name it `origin`.
  static LabelledText from_text(const std::string& text, const std::string& origin,
                                const LabelledFileOptions& format = {});

  std::span<const LabelledSentence> sentences() const { return sentences_; }
  const std::string& header() const { return header_; }  // LabelledTable::header
  const std::string& origin() const { return origin_; }  // the file, for error messages

 private:
  LabelledText() = default;

  std::string origin_, header_;
  std::vector<LabelledSentence> sentences_;
};

// The columns of a table of words and labels.
const TableShape& word_table();

}  // namespace tapeformer
