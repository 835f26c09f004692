#include "data/labels/labelled_text.h"

#include "core/error.h"
#include "data/text/text_files.h"

namespace tapeformer {

const TableShape& word_table() {
  static const TableShape shape{{"word", "label"}, "a word, or a word, a tab and its label", true};
  return shape;
}

LabelledText LabelledText::from_file(const std::filesystem::path& path, const LabelledFileOptions& format) {
  return from_text(read_text_file(path), path.string(), format);
}

LabelledText LabelledText::from_text(const std::string& text, const std::string& origin,
                                     const LabelledFileOptions& format) {
  LabelledTable table = parse_table(text, origin, word_table(), format);
  LabelledText result;
  result.origin_ = origin;
  result.header_ = std::move(table.header);
  LabelledSentence sentence;
  bool has_label = false;
  const auto end_sentence = [&] {
    if (!sentence.empty()) result.sentences_.push_back(std::move(sentence));
    sentence.clear();
  };
  for (TableRow& row : table.rows) {
    if (row.fields.empty()) {
      end_sentence();
      continue;
    }
    has_label = has_label || !row.fields[1].empty();
    sentence.push_back({std::move(row.fields[0]), std::move(row.fields[1]), row.line});
  }
  end_sentence();
  check(has_label, origin, ": expected lines of a word, a tab and its label, got none");
  return result;
}

}  // namespace tapeformer
