// Text to token ids and back.
//
//   char  one token per Unicode character that occurs in the training text, in the order of their code points
//   word  one token per frequent pretoken of GPT-2's pattern (a word with the space before it, a run of digits, …); all
//         others become <unk>, so decoding loses them
//   bpe   byte-level byte pair encoding as in GPT-2: 256 tokens for the bytes, then one for each learned merge; encodes
//         any bytes, and decodes to exactly these bytes; split by one of the patterns of split_pattern.h
//
// Two further kinds are read from files of published models: sentencepiece (pieces/sentencepiece_tokenizer.h) and
// wordpiece (pieces/wordpiece_tokenizer.h). In the vocabularies that we learn, the special tokens have the last ids, as
// GPT-2's <|endoftext|> has; files may have any order. The size of a vocabulary counts all tokens. Tokenizers are
// stored as tokenizer.json in Hugging Face's format (formats/tokenizer_json.h), bpe also in GPT-2's and tiktoken's
// files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "tokenizer/split_pattern.h"

namespace tapeformer {

// Bytes that are not UTF-8, where a tokenizer takes no others. The message has their place in the tokenizer's text.
class InvalidUtf8 : public Error {
 public:
  InvalidUtf8(std::string_view kind, std::int64_t at)
      : Error(str_cat(kind, " tokenizer: invalid UTF-8 at byte ", at, "; a bpe tokenizer takes any bytes")) {}
};

// How a token of Hugging Face's added_tokens, special or not, is found in a text.
struct TokenFlags {
  bool normalized = false;  // only in what the tokens that are not normalized leave over
  bool lstrip = false;      // white space before it in the text belongs to it
  bool rstrip = false;      // white space after it too

  bool strips() const { return lstrip || rstrip; }
};

// One that is not special: it is found in every text before the text is split.
struct AddedToken {
  std::int32_t id = 0;
  std::string text;  // what is found in the text; usually the bytes of the token
  TokenFlags flags = {};
  bool ordinary = false;  // also a token of the model, which merges may use
};

// The special tokens that the programs of a published model put around a text. encode() does not: each command puts the
// special tokens around its text that the model was trained with.
struct TextFrame {
  std::vector<std::int32_t> before = {}, after = {};
  std::string json = {};  // the post_processor of a tokenizer.json; empty: none
};

// What every kind of tokenizer has: the bytes that each id stands for, and which ids are special or added, each list by
// ascending ids.
struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<std::int32_t> special_ids;
  std::vector<AddedToken> added = {};
  std::map<std::int32_t, TokenFlags> special_flags = {};  // of special tokens that have one
  TextFrame frame = {};

  // The ids of tokens that the model itself does not have, ascending: special ones, and added ones that are not
  // ordinary.
  std::vector<std::int32_t> extra_ids() const;
  // All others.
  std::vector<std::int32_t> ordinary_ids() const;
};

// What a tokenizer.json says, and files of tiktoken and GPT-2 do not.
struct FileOptions {
  std::optional<SplitPattern> pattern;  // tiktoken's files need one; default for GPT-2's: the one they name, or gpt2
  std::vector<std::string> special_tokens;  // "NAME" or "NAME=ID"
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // "char", "word", "bpe", "sentencepiece" or "wordpiece".
  virtual std::string kind() const = 0;
  // How bpe splits text, and how many merges it has; the other kinds have neither.
  virtual std::optional<SplitPattern> split_pattern() const { return std::nullopt; }
  virtual std::int64_t merge_count() const { return 0; }
  // The first pretoken of a text as bpe encodes it: the ids of its bytes, then its ids after each merge; only its
  // id, if it is a token to which no merges lead. The other kinds have no merges, and return nothing. Throws Error for
  // an empty text, for a pretoken of more than 64 bytes, and for a byte without a token.
  virtual std::vector<std::vector<std::int32_t>> merge_steps(std::string_view /*text*/) const { return {}; }
  // The id that encode() gives for what has no token; nothing if there is no such id.
  std::optional<std::int32_t> unknown_id() const { return unknown_; }

  // Special tokens that are written in the text become their ids only if allow_special; otherwise they are plain text.
  // Added tokens always become their ids: of those that begin first, the longest. char throws InvalidUtf8,
  // and Error for a character without a token if there is no <unk>; bpe throws Error for a byte without a token (which
  // only vocabularies learned elsewhere may have). Long texts are encoded by all threads; the ids do not depend on
  // their number. May be called from several threads at once.
  std::vector<std::int32_t> encode(std::string_view text, bool allow_special = false) const;
  // The same for a text that continues another one. sentencepiece puts a space before the beginning of a text, and not
  // here; the other kinds make no difference.
  std::vector<std::int32_t> encode_continuation(std::string_view text) const;
  // The same for a text that follows a special or an added token in another text: some files of sentencepiece put a
  // space before every text between such tokens.
  std::vector<std::int32_t> encode_after_token(std::string_view text) const;

  // The text of the tokens: their bytes, one after another, without the space that the kinds sentencepiece and
  // wordpiece put before a text. Throws Error for an id outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids) const;
  // The bytes of the tokens, one after another: what they add to a text. Throws Error for an id outside the vocabulary.
  std::string decode_continuation(std::span<const std::int32_t> ids) const;

  std::int64_t vocab_size() const { return static_cast<std::int64_t>(vocabulary_.tokens.size()); }

  // The bytes that a token stands for; for a special token, its text. Throws Error for an id outside the vocabulary.
  std::string_view token_bytes(std::int32_t id) const;

  // The id of a special token such as "<|endoftext|>"; nothing if the vocabulary has no special token of that name.
  std::optional<std::int32_t> special(std::string_view name) const;
  std::span<const std::int32_t> special_ids() const { return vocabulary_.special_ids; }
  bool is_special(std::int32_t id) const;
  std::span<const AddedToken> added_tokens() const { return vocabulary_.added; }
  TokenFlags special_flags(std::int32_t id) const;
  const TextFrame& frame() const { return vocabulary_.frame; }
  // Whether a token is one of the model: neither special nor added beside it.
  bool is_ordinary(std::int32_t id) const;
  std::vector<std::int32_t> ordinary_ids() const { return vocabulary_.ordinary_ids(); }

  // The same tokenizer always gives the same text.
  std::string to_json() const;
  // XXH3 of to_json().
  std::uint64_t hash() const;
  // Throws Error that names the origin and says what is wrong with the text.
  static std::unique_ptr<Tokenizer> from_json(std::string_view text, const std::string& origin);

  // The format follows from the path. FILE.tiktoken: tiktoken's ranks. A folder that exists or whose name ends with
  // "/": GPT-2's vocab.json and merges.txt in it. A path that ends with vocab.json or merges.txt: both of these files.
  // Any other path: a tokenizer.json. Files appear whole or not at all. Returns a sentence for each thing that a reader
  // of the file is not told. Throws Error where the system refuses, and for what the format cannot hold.
  std::vector<std::string> save(const std::filesystem::path& path) const;
  // Reads the same formats, and BERT's vocab.txt. Of a folder, its tokenizer.json is read if it has one; the tokens
  // that its tokenizer_config.json or added_tokens.json has besides are added (tokenizer_folder.h). A file of another
  // name is a tokenizer.json if its first character is "{", else tiktoken's. Throws Error naming the file, and
  // UsageError for options that the file does not take.
  static std::unique_ptr<Tokenizer> load(const std::filesystem::path& path, const FileOptions& options = {});

 protected:
  explicit Tokenizer(Vocabulary vocabulary);

  const std::vector<std::string>& tokens() const { return vocabulary_.tokens; }
  std::optional<std::int32_t> unknown_;  // set by the kinds that have it

 private:
  struct Part;
  struct WantedToken;
  enum class Place { beginning, continuation, after_token };  // of a text in a whole one
  class Parts;
  static std::vector<Part> find_tokens(const Part& part, std::span<const WantedToken> wanted);
  std::vector<std::int32_t> encode_parts(std::span<const Part> parts) const;

  // The text that is encoded in place of this one, and in which normalized tokens are looked for; nothing: this one.
  virtual std::optional<std::string> normalized(std::string_view /*text*/, bool /*continues*/) const {
    return std::nullopt;
  }
  // Whether a space is put before a plain text that has no tokens any more. begins: the whole text begins with it.
  virtual bool puts_space_before(std::string_view /*text*/, bool /*begins*/) const { return false; }
  // Whether decode() takes the first space away.
  virtual bool strips_space() const { return false; }

  // Appends the ids of a text without special or added tokens. `offset` is its place in the whole text, for messages. A
  // text that is cut at safe cuts (pretokenizer.h) must give the same ids in parts. May be called from several threads
  // at once.
  virtual void encode_plain(std::string_view text, std::size_t offset, std::vector<std::int32_t>& ids) const = 0;

  Vocabulary vocabulary_;
  std::vector<std::int32_t> extra_ids_;  // of the vocabulary
};

// Returns a text of Tokenizer::to_json() without the part that describes Tokenizer::frame().
std::string without_frame(std::string_view json);

}  // namespace tapeformer
