// A folder of what is made once of a text: its summary, its tokens, a tokenizer learned from it. Everything in it can
// be made again, and may be removed.
//
//   text-STAMP.json                        a text's summary, found by the stamp of its source
//   NAME-TEXT-TOKENIZER.tokens             its tokens, found by the hashes of the text and the tokenizer
//   tokenizer-KEY.json                     a tokenizer, found by the hash of what it is learned from and how
//
// So a text that has not changed, by the times and sizes of its files, is not read again: not for its hash, and its
// tokens are mapped. One whose files are touched, moved or compressed is read, for its hash, and its tokens are used
// again. Files appear whole or not at all; what a killed process has left is removed when the next one opens the
// folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "data/text/text_reader.h"
#include "data/text/token_file.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

// A part of a text, from byte begin to byte end (TextReader moves both to where characters begin).
struct TextRange {
  TextSummary text;  // of the whole
  std::int64_t begin = 0, end = 0;

  bool empty() const { return begin == end; }
  // Tells this range of this text from all others.
  std::uint64_t hash() const;
};

// The ids of a part, in the order of the vectors: each segment encoded by itself, and kEndOfText after each document
// where the tokenizer has it. Many segments are spread over threads; a long one is left to the tokenizer to spread.
std::vector<std::vector<std::int32_t>> encode_part(const TextPart& part, const Tokenizer& tokenizer);

// Encodes what the reader, which stands before it, hands out of the range; while a part is encoded, the next is read.
// Throws Error as the reader and the tokenizer do, and where the file cannot be written; it appears whole or not
// at all, and not when the text has changed since its summary.
void build_token_file(const std::filesystem::path& path, TextReader& reader, const TextRange& range,
                      const Tokenizer& tokenizer, const ReadProgress& progress = {});

class TokenCache {
 public:
  // Makes the folder where it is missing. Throws Error where that cannot be.
  explicit TokenCache(std::filesystem::path folder);
  const std::filesystem::path& folder() const { return folder_; }

  // As summarize(), without reading a text whose settled stamp is known.
  TextSummary summary(const TextSource& source, const ReadProgress& progress = {}) const;

  // The tokens of a range: those in the folder when they are whole, else built now. The reader is of the same text,
  // stands before the range, and is not moved unless they are built.
  TokenFile tokens(std::string_view name, TextReader& reader, const TextRange& range, const Tokenizer& tokenizer,
                   const ReadProgress& progress = {}) const;

  // The tokenizer under this key, or `learn` called and its result kept.
  std::unique_ptr<Tokenizer> tokenizer(std::uint64_t key,
                                       const std::function<std::unique_ptr<Tokenizer>()>& learn) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace tapeformer
