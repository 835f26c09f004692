// Texts that are read from their beginning to their end, again and again, in constant memory: of files and generated.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tapeformer {

// The special token that ends a document.
inline constexpr std::string_view kEndOfText = "<|endoftext|>";

// What comes after a stretch of text: more of the same piece; the end of a piece, which is a text by itself for the
// tokenizer; or the end of a piece that is a document, after which kEndOfText is put where the tokenizer has it.
enum class Bound { none, piece, document };

struct TextFragment {
  std::string_view text;
  Bound bound = Bound::none;
};

class FragmentReader {
 public:
  virtual ~FragmentReader() = default;
  // The next stretch of the text, valid until the next call; false at the end. Throws Error for what cannot be read.
  virtual bool next(TextFragment& fragment) = 0;
  // How much of the text is read, 0 to 1; 0 where that is not known.
  virtual double share() const = 0;
};

// What tells a text from others without reading it.
struct TextStamp {
  std::uint64_t value = 0;
  bool settled = false;  // whether a change from now on is sure to give another value
};

class TextSource {
 public:
  virtual ~TextSource() = default;
  virtual std::unique_ptr<FragmentReader> read() const = 0;
  virtual TextStamp stamp() const = 0;
  virtual bool has_documents() const = 0;
};

// Where a document ends in plain text.
enum class DocumentEnd {
  none,  // nowhere: files follow each other without anything between them
  file,  // at the end of each file
  line,  // at the end of each line; the newline belongs to no document
  mark,  // where kEndOfText is written, and at the end of each file
};
// From the words none, file, line and mark. Throws UsageError for any other.
DocumentEnd document_end(std::string_view word);

struct TextOptions {
  DocumentEnd document = DocumentEnd::none;
  std::string field = "text";  // of JSON lines
};

// Plain text, or JSON lines (.jsonl), each of which is an object with the text of one document; either may be
// compressed (.gz, .zst). Documents without text are left out. "-" is standard input, plain text, which can be read
// once. The stamp is of the kinds, sizes, times of change and places on disk of the files; it is settled once they have
// been as they are for some seconds.
//
// Reading throws Error as open_bytes() does, for a file without any text, and "path:line: …" for a line that is no JSON
// or has not the field.
class FileText : public TextSource {
 public:
  // Throws Error without any path.
  FileText(std::vector<std::filesystem::path> paths, TextOptions options);
  std::unique_ptr<FragmentReader> read() const override;
  // Throws Error for a file that is missing.
  TextStamp stamp() const override;
  bool has_documents() const override;

 private:
  std::vector<std::filesystem::path> paths_;
  TextOptions options_;
};

// A generated corpus: one piece, or a document a line (DocumentEnd::line, and only that). The stamp is of its name, its
// size, its seed and its first lines.
class CorpusText : public TextSource {
 public:
  // Throws UsageError for an unknown name, and below one line.
  CorpusText(std::string name, std::int64_t lines, std::uint64_t seed, DocumentEnd document = DocumentEnd::none);
  std::unique_ptr<FragmentReader> read() const override;
  TextStamp stamp() const override;
  bool has_documents() const override { return document_lines_; }

 private:
  std::string name_;
  std::int64_t lines_;
  std::uint64_t seed_;
  bool document_lines_;
};

}  // namespace tapeformer
