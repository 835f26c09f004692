// Text to token ids and back.
//
//   char  one token per Unicode character that occurs in the training text, in the order of their code points
//   word  the most frequent pretokens of GPT-2's pre-tokenisation (a word with the space before it, a run of digits,
//   …);
//         all others become <unk>, so decoding loses them
//   bpe   byte-level byte pair encoding as GPT-2's: 256 tokens for the bytes, then one for each learned merge; takes
//         any bytes and gives exactly them back; split by GPT-2's pattern or by cl100k's
//
// In all three the special tokens have the last ids, as GPT-2's <|endoftext|> has; a vocabulary's size counts
// everything. Tokenizers are stored as tokenizer.json in Hugging Face's format (tokenizer_json.h), and another order
// of ids is read as it is; bpe in GPT-2's and tiktoken's files as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/split_pattern.h"

namespace tapeformer {

// What every kind of tokenizer has: the bytes that each id stands for, and which ids are special (ascending).
struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<std::int32_t> special_ids;
};

// What tiktoken's files and GPT-2's do not say; a tokenizer.json says it itself.
struct FileOptions {
  std::optional<SplitPattern> pattern;      // GPT-2's where its files are read; tiktoken's need one
  std::vector<std::string> special_tokens;  // "NAME" or "NAME=ID"
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // "char", "word" or "bpe".
  virtual std::string kind() const = 0;

  // Special tokens written in the text become their ids only when allow_special; otherwise the text is plain text.
  // Throws Error for char: invalid UTF-8, and a character without a token where there is no <unk> to stand for it; for
  // bpe: a byte without a token, which vocabularies learned elsewhere may have (ours know every byte).
  // Long texts are encoded by all threads; the ids do not depend on their number. May be called from several threads at
  // once.
  std::vector<std::int32_t> encode(std::string_view text, bool allow_special = false) const;

  // The bytes of the tokens, put one after another. Throws Error for an id outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids) const;

  std::int64_t vocab_size() const { return static_cast<std::int64_t>(vocabulary_.tokens.size()); }

  // The bytes that a token stands for; a special token's text. Throws Error for an id outside the vocabulary.
  std::string_view token_bytes(std::int32_t id) const;

  // The id of a special token such as "<|endoftext|>"; nothing when the vocabulary has none of that name.
  std::optional<std::int32_t> special(std::string_view name) const;
  std::span<const std::int32_t> special_ids() const { return vocabulary_.special_ids; }
  bool is_special(std::int32_t id) const;

  // The same tokenizer always gives the same text.
  std::string to_json() const;
  // XXH3 of to_json().
  std::uint64_t hash() const;
  // Throws Error naming the origin and what is wrong with the text.
  static std::unique_ptr<Tokenizer> from_json(std::string_view text, const std::string& origin);

  // By the path: FILE.tiktoken (tiktoken_file.h), a folder that is there or whose name ends with "/" (vocab.json and
  // merges.txt in it, gpt2_files.h), or a path that ends with vocab.json or merges.txt (both), else a tokenizer.json.
  // Files appear whole or not at all. Throws Error where the system refuses, and for what the format cannot hold.
  void save(const std::filesystem::path& path) const;
  // The same formats; a folder's tokenizer.json where it has one, or a path that ends with vocab.json or merges.txt; a
  // file of another name by its first character. Throws Error naming the file, and UsageError for options that the file
  // does not take.
  static std::unique_ptr<Tokenizer> load(const std::filesystem::path& path, const FileOptions& options = {});

 protected:
  explicit Tokenizer(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

  const std::vector<std::string>& tokens() const { return vocabulary_.tokens; }

 private:
  struct Part;
  std::vector<Part> parts_of(std::string_view text, bool allow_special) const;

  // Appends the ids of a text without special tokens; `offset` is its place in the whole text, for messages. A text cut
  // at safe cuts (pretokenizer.h) gives the same ids in parts. May be called from several threads at once.
  virtual void encode_plain(std::string_view text, std::size_t offset, std::vector<std::int32_t>& ids) const = 0;

  Vocabulary vocabulary_;
};

}  // namespace tapeformer
