// Texts, from files or generated, that can be read from beginning to end several times, in constant memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/keys.h"
#include "data/text/text_notes.h"

namespace tapeformer {

// The special token that ends a document.
inline constexpr std::string_view kEndOfText = "<|endoftext|>";

// What follows a stretch of text: more of the same piece; the end of a piece, which the tokenizer encodes by itself; or
// the end of a piece that is a document, after which kEndOfText is put if the tokenizer has it.
enum class Bound { none, piece, document };

struct TextFragment {
  std::string_view text;
  Bound bound = Bound::none;
};

class FragmentReader {
 public:
  virtual ~FragmentReader() = default;
  // Gives the next stretch of the text, valid until the next call. False at the end. Throws Error for what cannot be
  // read.
  virtual bool next(TextFragment& fragment) = 0;
  // The share of the text that was read, from 0 to 1; 0 where the size is not known.
  virtual double share() const = 0;
  // What was odd about the text that was read so far. A text that is not read from files has nothing odd.
  virtual const TextNotes& notes() const {
    static const TextNotes none;
    return none;
  }
};

// Identifies a text without reading it.
struct TextStamp {
  std::uint64_t value = 0;
  bool settled = false;  // whether any change from now on gives another value
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
  none,  // nowhere: nothing is put between files
  file,  // at the end of each file
  line,  // at the end of each line; the newline belongs to no document
  mark,  // where kEndOfText is written, and at the end of each file
};
template <>
struct Words<DocumentEnd> {
  static constexpr std::pair<DocumentEnd, std::string_view> list[] = {{DocumentEnd::none, "none"},
                                                                      {DocumentEnd::file, "file"},
                                                                      {DocumentEnd::line, "line"},
                                                                      {DocumentEnd::mark, "mark"}};
};

struct TextOptions {
  DocumentEnd document = DocumentEnd::none;
  std::string field = "text";  // of JSON lines
};

// Plain text, or JSON lines (.jsonl): each line is an object with the text of one document. Either may be compressed
// (.gz, .zst). Documents without text and files without text are skipped. "-" is standard input, which is plain text
// and, like a pipe, can be read once. The stamp is made of the kinds, sizes, times of change and places on disk of the
// files; it is settled when no file has changed for some seconds.
//
// Reading throws Error as open_bytes() does, when no file has text, and "path:line: …" for a line that is not JSON or
// does not have the field.
class FileText : public TextSource {
 public:
  // Throws Error if there is no path.
  FileText(std::vector<std::filesystem::path> paths, TextOptions options);
  std::unique_ptr<FragmentReader> read() const override;
  // Throws Error for a file that is missing.
  TextStamp stamp() const override;
  bool has_documents() const override;

 private:
  std::vector<std::filesystem::path> paths_;
  TextOptions options_;
};

// A generated corpus. It is one piece; with DocumentEnd::line each line is a document (other values have no effect).
// The stamp is made of its name, its size, its seed and its first lines.
class CorpusText : public TextSource {
 public:
  // Throws UsageError for an unknown name, and for less than one line.
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
