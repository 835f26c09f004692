// Problems of text files that could be read nevertheless: they are counted, so that the caller can report each kind
// once.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tapeformer {

enum class TextNote {
  empty_file,       // a file without text, among others with text: skipped
  byte_order_mark,  // at the beginning of a file: removed
  lone_surrogate,   // a line of JSON with an unpaired surrogate as a \u escape: replaced by U+FFFD
  trailing_zeros,   // bytes 0 after the end of a gzip file: ignored
  binary,           // bytes 0, or many bytes that are not UTF-8: read unchanged
  json_lines,       // plain text by its name, but its first line is an object of JSON with the field: read unchanged
  plain_mark,       // kEndOfText in plain text whose documents do not end there: read as any other text
};
inline constexpr std::size_t kTextNoteKinds = 7;

struct TextNotes {
  struct Entry {
    std::int64_t count = 0;
    std::string first;  // the file of the first occurrence, or FILE:LINE
  };
  std::array<Entry, kTextNoteKinds> entries;  // indexed by TextNote

  void add(TextNote note, const std::string& where);
  void add(const TextNotes& others);
  // One sentence for each kind that occurred.
  std::vector<std::string> lines() const;
};

}  // namespace tapeformer
