// A folder for what is made from a text once: its summary, its tokens, a tokenizer learned from it. All of it can be
// made again, so any file may be removed.
//
//   text-STAMP.json                        the summary of a text, named by the stamp of its source
//   NAME-TEXT-TOKENIZER.tokens             its tokens, named by the hashes of the text and of the tokenizer
//   tokenizer-KEY.json                     {"tokenizer": its tokenizer.json as a string}, named by the hash of what it
//   is learned from and how
//
// A text whose files have not changed, by their times and sizes, is not read again: its summary and its tokens are
// found here. A text whose files were touched, moved or compressed is read for its hash, and its tokens are found.
// Files appear whole or not at all, and each has a checksum: a damaged one is made again. What a killed process has
// left is removed when the next one opens the folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/encode_text.h"
#include "data/text/text_reader.h"
#include "data/text/token_file.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

// A part of a text, from byte `begin` to byte `end`. TextReader moves both to where characters begin.
struct TextRange {
  TextSummary text;  // of the whole
  std::int64_t begin = 0, end = 0;

  bool empty() const { return begin == end; }
  // Another text, or another range of it, gives another hash.
  std::uint64_t hash() const;
};

// Encodes the range into a token file. The reader stands before the range. Throws Error as the reader and the tokenizer
// do, where the file cannot be written, and when the text has changed since its summary.
void build_token_file(const std::filesystem::path& path, TextReader& reader, const TextRange& range,
                      const Tokenizer& tokenizer, const ProgressCallback& progress = {});

// The folder of the TokenCache, which all runs share: $TAPEFORMER_CACHE, or `tapeformer` in the user's cache folder.
std::filesystem::path token_cache_folder();

class TokenCache {
 public:
  // Makes the folder if it is missing. If nothing can be written to it, new files go to a temporary folder, which is
  // removed with this object, and files that are in the folder already are used. Throws Error where neither can be
  // written.
  explicit TokenCache(std::filesystem::path folder);
  const std::filesystem::path& folder() const { return folder_; }
  // Where new files go: folder(), or the temporary folder.
  const std::filesystem::path& writable_folder() const;
  // One sentence that says why the temporary folder is used; "" if it is not.
  const std::string& warning() const { return warning_; }

  // A sentence for each file that was there and could not be used: it was made again.
  const std::vector<std::string>& found_damaged() const { return *found_damaged_; }

  // As summarize(), without reading a text whose settled stamp is known.
  TextSummary summary(const TextSource& source, const ProgressCallback& progress = {}) const;

  // The tokens of a range: those in the folder if they are whole, which takes a reading of them, else they are built.
  // The reader reads the same text, stands before the range, and is not moved unless the tokens are built.
  TokenFile tokens(std::string_view name, TextReader& reader, const TextRange& range, const Tokenizer& tokenizer,
                   const ProgressCallback& progress = {}) const;

  // The tokenizer under this key; if there is none, the result of `learn` is stored under it.
  std::unique_ptr<Tokenizer> tokenizer(std::uint64_t key,
                                       const std::function<std::unique_ptr<Tokenizer>()>& learn) const;

 private:
  struct TemporaryFolder;

  // The path of a file that is there, in either folder; else where it is to be written.
  std::filesystem::path place(const std::string& name) const;

  // What `read` makes of the file of this name; nothing where there is none, or `read` throws.
  template <class Content>
  std::optional<Content> stored(const std::string& name,
                                const std::function<Content(const std::filesystem::path&)>& read) const;

  std::filesystem::path folder_;
  std::shared_ptr<const TemporaryFolder> temporary_;
  std::string warning_;
  std::shared_ptr<std::vector<std::string>> found_damaged_ = std::make_shared<std::vector<std::string>>();
};

}  // namespace tapeformer
