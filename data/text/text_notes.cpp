#include "data/text/text_notes.h"

#include "core/error.h"

namespace tapeformer {
namespace {

struct Wording {
  const char *one, *several;
};

constexpr std::array<Wording, kTextNoteKinds> kWordings = {{
    {"file has no text and is skipped", "files have no text and are skipped"},
    {"file begins with a byte order mark, which is removed", "files begin with a byte order mark, which is removed"},
    {"line of JSON has half of a pair of \\u escapes, which is replaced by U+FFFD",
     "lines of JSON have half of a pair of \\u escapes, which is replaced by U+FFFD"},
    {"file has bytes 0 behind its compressed data, which are ignored",
     "files have bytes 0 behind their compressed data, which are ignored"},
    {"file does not look like text (bytes 0, or many that are not UTF-8)",
     "files do not look like text (bytes 0, or many that are not UTF-8)"},
    {"file begins like JSON lines, and is read as plain text, since its name does not end in .jsonl",
     "files begin like JSON lines, and are read as plain text, since their names do not end in .jsonl"},
    {"file has <|endoftext|> written in it, read as plain text (documents end there if data.document is mark)",
     "files have <|endoftext|> written in them, read as plain text (documents end there if data.document is mark)"},
}};

}  // namespace

void TextNotes::add(TextNote note, const std::string& where) {
  Entry& entry = entries[static_cast<std::size_t>(note)];
  if (entry.count++ == 0) entry.first = where;
}

void TextNotes::add(const TextNotes& others) {
  for (std::size_t kind = 0; kind < kTextNoteKinds; ++kind) {
    Entry& entry = entries[kind];
    if (entry.count == 0) entry.first = others.entries[kind].first;
    entry.count += others.entries[kind].count;
  }
}

std::vector<std::string> TextNotes::lines() const {
  std::vector<std::string> lines;
  for (std::size_t kind = 0; kind < kTextNoteKinds; ++kind) {
    const Entry& entry = entries[kind];
    if (entry.count == 0) continue;
    const bool one = entry.count == 1;
    lines.push_back(str_cat(entry.count, " ", one ? kWordings[kind].one : kWordings[kind].several,
                            one ? ": " : "; the first: ", entry.first));
  }
  return lines;
}

}  // namespace tapeformer
