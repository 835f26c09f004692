// A cache folder for what is computed from a text: its summary, its tokens, a tokenizer learned from it. All of it can
// be computed again, so any file may be removed.
//
//   text-STAMP.json                        the summary of a text, named by the stamp of its source
//   NAME-TEXT-TOKENIZER-vVERSION.tokens    its tokens, named by the hashes of the text and of the tokenizer, and by the
//                                          version of how this program encodes and learns
//   tokenizer-KEY-vVERSION.json            {"tokenizer": its tokenizer.json as a string}, named by a hash of the text
//                                          and the options that it was learned from, and by that version
//
// A text whose files are unchanged, by their times and sizes, is not read again: its summary and its tokens are found
// here. A text whose files were touched, moved or compressed is read to compute its hash, and its tokens are found.
// Files appear whole or not at all, and each has a checksum: a damaged one is made again. The leftovers of a killed
// process, and tokens that were not used for 90 days, are removed when the next one opens the folder: the time of a
// file says when it was made or used.
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

// A range of a text, from byte `begin` to byte `end`. TextReader moves both to the beginnings of characters.
struct TextRange {
  TextSummary text;  // the summary of the whole text
  std::int64_t begin = 0, end = 0;

  bool empty() const { return begin == end; }
  // A hash of the text and the range.
  std::uint64_t hash() const;
};

// Encodes the range into a token file. The reader must be at or before the beginning of the range. Throws Error as the
// reader and the tokenizer do, if the file cannot be written, and if the text has changed since its summary.
void build_token_file(const std::filesystem::path& path, TextReader& reader, const TextRange& range,
                      const Tokenizer& tokenizer, const ProgressCallback& progress = {});

// The folder of the TokenCache, which all runs share: $TAPEFORMER_CACHE, or `tapeformer` in the user's cache folder.
std::filesystem::path token_cache_folder();

class TokenCache {
 public:
  // Creates the folder if it is missing. If it is not writable, new files go to a temporary folder, which is removed
  // with this object, and the folder's existing files are used. Throws Error if neither can be written.
  explicit TokenCache(std::filesystem::path folder);
  const std::filesystem::path& folder() const { return folder_; }
  // The folder of new files: folder(), or the temporary folder.
  const std::filesystem::path& writable_folder() const;
  // A sentence that says why the temporary folder is used; "" if it is not.
  const std::string& warning() const { return warning_; }

  // A sentence for each existing file that could not be used and was made again.
  const std::vector<std::string>& found_damaged() const { return *found_damaged_; }

  // The same as summarize(), but a text whose settled stamp is known is not read.
  TextSummary summary(const TextSource& source, const ProgressCallback& progress = {}) const;

  // The tokens of a range: from the folder if the file is undamaged (all of it is read to check this), else they are
  // built. The reader must read the same text, be at or before the beginning of the range, and is moved only if the
  // tokens are built.
  TokenFile tokens(std::string_view name, TextReader& reader, const TextRange& range, const Tokenizer& tokenizer,
                   const ProgressCallback& progress = {}) const;

  // The tokenizer under this key; if there is none, the result of `learn`, which is then stored under it.
  std::unique_ptr<Tokenizer> tokenizer(std::uint64_t key,
                                       const std::function<std::unique_ptr<Tokenizer>()>& learn) const;

 private:
  struct TemporaryFolder;

  // The path of an existing file, in either folder; else the path where it is to be written.
  std::filesystem::path path_of(const std::string& name) const;
  // The path where a file is to be written. Creates the folder again if it was removed.
  std::filesystem::path new_path(const std::string& name) const;

  // The result of `read` for the file of this name; nullopt if there is no such file, or `read` throws.
  template <class Content>
  std::optional<Content> stored(const std::string& name,
                                const std::function<Content(const std::filesystem::path&)>& read) const;

  std::filesystem::path folder_;
  std::shared_ptr<const TemporaryFolder> temporary_;
  std::string warning_;
  std::shared_ptr<std::vector<std::string>> found_damaged_ = std::make_shared<std::vector<std::string>>();
};

}  // namespace tapeformer
