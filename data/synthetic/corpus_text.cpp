#include <algorithm>

#include "core/error.h"
#include "core/hash.h"
#include "data/synthetic/corpora.h"
#include "data/text/text_source.h"

namespace tapeformer {

namespace {

constexpr std::int64_t kStampedLines = 100;

class CorpusReader : public FragmentReader {
 public:
  CorpusReader(std::string name, std::int64_t lines, std::uint64_t seed, bool documents)
      : name_(std::move(name)), lines_(lines), seed_(seed), documents_(documents) {}

  bool next(SourceFragment& fragment) override {
    if (line_ == lines_) return false;
    text_ = corpus_line(name_, line_++, seed_);
    fragment = {text_, line_ == lines_ ? Bound::piece : Bound::none};
    if (documents_) fragment = {std::string_view(text_).substr(0, text_.size() - 1), Bound::document};
    return true;
  }
  double share() const override { return static_cast<double>(line_) / static_cast<double>(lines_); }

 private:
  std::string name_, text_;
  std::int64_t line_ = 0, lines_;
  std::uint64_t seed_;
  bool documents_;
};

}  // namespace

CorpusText::CorpusText(std::string name, std::int64_t lines, std::uint64_t seed, DocumentEnd document)
    : name_(std::move(name)), lines_(lines), seed_(seed), document_lines_(document == DocumentEnd::line) {
  if (lines < 1) fail_usage("lines: expected at least 1, got ", lines);
  corpus_entropy(name_);
}

std::unique_ptr<FragmentReader> CorpusText::read() const {
  return std::make_unique<CorpusReader>(name_, lines_, seed_, document_lines_);
}

TextStamp CorpusText::stamp() const {
  Hasher hasher;
  hasher.update(name_);
  for (const std::uint64_t number : {static_cast<std::uint64_t>(lines_), seed_, std::uint64_t{document_lines_}}) {
    hasher.update(number);
  }
  for (std::int64_t line = 0; line < std::min(lines_, kStampedLines); ++line) {
    hasher.update(corpus_line(name_, line, seed_));
  }
  return {.value = hasher.digest(), .settled = true};
}

}  // namespace tapeformer
