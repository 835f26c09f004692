#include "data/text/labelled_text.h"

#include "core/error.h"
#include "core/lines.h"
#include "data/text/text.h"

namespace tapeformer {

LabelledText LabelledText::from_file(const std::filesystem::path& path) {
  return from_text(read_text_file(path), path.string());
}

LabelledText LabelledText::from_text(std::string text, const std::string& origin) {
  LabelledText result;
  result.text_ = std::make_unique<const std::string>(std::move(text));
  LabelledSentence sentence;
  bool has_label = false;
  const auto end_sentence = [&] {
    if (!sentence.empty()) result.sentences_.push_back(std::move(sentence));
    sentence.clear();
  };
  const std::vector<std::string_view> lines = split_lines(*result.text_);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    if (line.empty()) {
      end_sentence();
      continue;
    }
    const std::size_t tab = line.find('\t');
    const std::string_view word = line.substr(0, tab), label = tab == line.npos ? "" : line.substr(tab + 1);
    check(!word.empty() && label.find('\t') == label.npos, origin, ":", i + 1,
          ": expected a word, or a word, a tab and its label, got \"", line, '"');
    sentence.push_back({word, label});
    has_label = has_label || !label.empty();
  }
  end_sentence();
  check(has_label, origin, ": expected lines of a word, a tab and its label, got none");
  return result;
}

}  // namespace tapeformer
