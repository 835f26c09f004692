// Texts, from files or generated, that can be read several times, in constant memory.
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

// What follows a fragment of text: more of the same piece; the end of a piece, which the tokenizer encodes by itself;
// or the end of a piece that is a document, after which kEndOfText is added if the tokenizer has it.
enum class Bound { none, piece, document };

struct SourceFragment {
  std::string_view text;
  Bound bound = Bound::none;
};

class FragmentReader {
 public:
  virtual ~FragmentReader() = default;
  // Gives the next fragment of the text, valid until the next call. Returns false at the end. Throws Error if it cannot
  // be read.
  virtual bool next(SourceFragment& fragment) = 0;
  // The share of the text that was read, from 0 to 1; 0 if the size is unknown.
  virtual double share() const = 0;
  // The problems of the text that was read so far. A text that is not read from files has none.
  virtual const TextNotes& notes() const {
    static const TextNotes none;
    return none;
  }
};

// Identifies a text without reading it.
struct TextStamp {
  std::uint64_t value = 0;
  bool settled = false;  // whether any later change of the text gives another stamp
};

class TextSource {
 public:
  virtual ~TextSource() = default;
  // Begins to read the text from its beginning.
  virtual std::unique_ptr<FragmentReader> read() const = 0;
  virtual TextStamp stamp() const = 0;
  // What messages call the text: "a.txt and 2 other files".
  virtual std::string name() const = 0;
  // Whether the text consists of documents, so that fragments end with Bound::document. Reads nothing.
  virtual bool has_documents() const = 0;
  // Throws Error that names the first file that is not valid UTF-8, with the place in it. A tokenizer knows only the
  // place in all of the text. Does nothing for a text that is not read from files.
  virtual void require_utf8() const {}
};

// Where documents end in plain text.
enum class DocumentEnd {
  none,  // nowhere: nothing is inserted between files
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
  std::string field = "text";  // in JSON lines
};

// A file, and what it is called.
struct TextFile {
  std::filesystem::path path, name;
};

// Plain text, or JSON lines (.jsonl, .ndjson): each line is an object with the text of one document. Both may be
// compressed (.gz, .zst). Documents without text and files without text are skipped. "-" is standard input, which is
// plain text and, like a pipe, can be read only once. The stamp is computed from the types, sizes, modification times
// and inodes of the files; it is settled when no file has changed for some seconds.
//
// Reading throws Error as open_bytes() does, when no file has text, and "path:line: …" for a line that is not JSON or
// does not have the field.
class FileText : public TextSource {
 public:
  // `names` are the names of the files in messages, whose endings also tell whether they are JSON lines, if the files
  // are copies of others; empty: their paths. Throws Error if there is no path.
  FileText(std::vector<std::filesystem::path> paths, TextOptions options,
           std::vector<std::filesystem::path> names = {});
  std::unique_ptr<FragmentReader> read() const override;
  // Throws Error for a file that is missing.
  TextStamp stamp() const override;
  std::string name() const override;
  bool has_documents() const override;
  // Leaves out what can be read only once.
  void require_utf8() const override;

 private:
  std::vector<TextFile> files_;
  TextOptions options_;
};

// A generated corpus. It is one piece; with DocumentEnd::line each line is a document (other values have no effect).
// The stamp is computed from its name, its size, its seed and its first lines.
class CorpusText : public TextSource {
 public:
  // Throws UsageError for an unknown name, and for fewer than one line.
  CorpusText(std::string name, std::int64_t lines, std::uint64_t seed, DocumentEnd document = DocumentEnd::none);
  std::unique_ptr<FragmentReader> read() const override;
  TextStamp stamp() const override;
  std::string name() const override { return "the corpus " + name_; }
  bool has_documents() const override { return document_lines_; }

 private:
  std::string name_;
  std::int64_t lines_;
  std::uint64_t seed_;
  bool document_lines_;
};

}  // namespace tapeformer
