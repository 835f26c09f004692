// Sentences whose words have labels, for models that are probed or trained as taggers.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapeformer {

// The label is empty for a word that only gives context and is not scored.
struct LabelledWord {
  std::string_view word, label;
};
using LabelledSentence = std::vector<LabelledWord>;

// Each line is "word\tlabel", or a word alone, which has no label; an empty line ends a sentence (the format of CoNLL's
// shared tasks). Sentences stay valid when the object is moved.
class LabelledText {
 public:
  // Throws Error as read_text_file() does, for a line without a word or with a second tab, and for a text without any
  // label.
  static LabelledText from_file(const std::filesystem::path& path);
  // The same for a text in memory; errors call it `origin`.
  static LabelledText from_text(std::string text, const std::string& origin);

  std::span<const LabelledSentence> sentences() const { return sentences_; }

 private:
  LabelledText() = default;

  std::unique_ptr<const std::string> text_;  // on the heap, so that views of it survive a move
  std::vector<LabelledSentence> sentences_;
};

}  // namespace tapeformer
