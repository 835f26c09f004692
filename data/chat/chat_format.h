// Conversations as tokens: a chat template together with a tokenizer.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/chat/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

// The template of a model and the special tokens that it may name, as Hugging Face's tokenizer_config.json has them.
struct ChatSettings {
  std::string chat_template{kChatMl};
  std::string bos_token = {}, eos_token = {};  // empty: none

  std::string to_json() const;
  // Throws Error that begins with `origin` for a text that is not such a file. A file without a template has ChatML.
  static ChatSettings from_json(std::string_view text, const std::string& origin);
  // Reads what is beside a tokenizer's file, or in its folder: tokenizer_config.json, special_tokens_map.json, which
  // older folders have for the tokens, and chat_template.jinja, which newer ones have for the template. nullopt: there
  // is no template.
  static std::optional<ChatSettings> find_beside(const std::filesystem::path& tokenizer);
  // The same, with ChatML if there is no template.
  static ChatSettings beside(const std::filesystem::path& tokenizer);
};

// A range [begin, end) of tokens.
struct TokenSpan {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

// The tokens of a conversation.
struct ChatTokens {
  std::vector<std::int32_t> ids;
  std::vector<TokenSpan> answers;         // the assistant's answers with their end marks
  std::vector<std::string> answer_texts;  // without them
  std::string text = {};                  // the text of the ids, with escapes (ChatFormat::escaped())

  std::int64_t scored() const;
};

// An answer ends with an end mark: what the template writes after it, up to the first special token, or, if there is
// none, up to the white space at the end. An answer is encoded by itself, as generation writes it, after the text with
// which the template begins an answer.
class ChatFormat {
 public:
  // The tokenizer must outlive the object. Throws Error for a template that cannot be read, or that writes nothing
  // after an answer.
  ChatFormat(const Tokenizer& tokenizer, const ChatSettings& settings);

  const Tokenizer& tokenizer() const { return tokenizer_; }
  const std::string& end_text() const { return end_text_; }
  // The special token that ends an answer; -1: the end mark consists of other tokens.
  std::int32_t end_token() const { return end_token_; }
  // The special token that ends a text (text_end_token()), and so an answer without an end mark; -1: there is none, or
  // it is end_token().
  std::int32_t text_end() const { return text_end_; }

  // Encodes a conversation up to its last answer; there are no ids if it has none. Throws Error where the template
  // cannot render it, or writes the messages before an answer in another way when the answer follows.
  ChatTokens encode(std::span<const ChatMessage> messages) const;
  // Encodes a conversation up to the place where the assistant's next answer begins.
  ChatTokens encode_prompt(std::span<const ChatMessage> messages) const;
  // Returns the rendered text of that conversation, with escapes.
  std::string render_prompt(std::span<const ChatMessage> messages) const;

  // Encodes a part of a rendered text with escapes, behind the ids of what is before it. Special tokens in it become
  // their ids, and lose the white space beside them if their lstrip or rstrip says so; an answer keeps its white space.
  void append_ids(std::string_view rendered, std::vector<std::int32_t>& ids) const;
  // Returns the content of a message in which special tokens are escaped, so that append_ids() encodes them as plain
  // text.
  std::string escaped(std::string_view content) const;

 private:
  std::vector<ChatMessage> with_escapes(std::span<const ChatMessage> messages) const;
  std::string render(std::span<const ChatMessage> escaped, bool generation_prompt) const;
  // Encodes the conversation up to its last answer.
  ChatTokens encode_answers(std::span<const ChatMessage> escaped) const;
  // Whether the id is that of a special or added token, and not what the tokenizer gives for a text without a token.
  bool is_mark(std::int32_t id) const;
  // Returns the plain text behind these ids without the white space at its ends that belongs to the special token
  // before it (rstrip), or to the special token `next` after it (lstrip; -1: none).
  std::string_view without_own_space(std::span<const std::int32_t> ids, std::string_view text, std::int32_t next) const;
  // Encodes plain text behind these ids.
  std::vector<std::int32_t> encode_behind(std::span<const std::int32_t> ids, std::string_view plain) const;
  // Encodes an answer with its end mark, as a continuation: the tokenizer puts no space before it.
  void append_answer(std::string_view rendered, std::vector<std::int32_t>& ids) const;
  void find_end_mark();
  // The first special token in a text: its place and its id; npos if there is none.
  std::pair<std::size_t, std::int32_t> find_special(std::string_view text) const;
  // The id of the special token with which a text, which is not empty, begins; of several, the longest. -1: there is
  // none.
  std::int32_t special_at(std::string_view text) const;

  const Tokenizer& tokenizer_;
  const ChatTemplate template_;
  const ChatRenderOptions options_;
  std::array<std::vector<std::int32_t>, 256> specials_;  // by the first byte of the name, the longest name first
  std::string end_text_;
  std::int32_t end_token_ = -1, text_end_ = -1;
};

// Collects the tokens of an answer that a model writes, until its end mark.
class AnswerText {
 public:
  explicit AnswerText(const ChatFormat& format) : format_(format) {}
  // Takes the next token. Returns false if the answer has ended with it.
  bool push(std::int32_t token);
  bool ended() const { return ended_; }
  // The text so far, without the end mark.
  const std::string& text() const { return text_; }
  // What the last token has behind the end mark, such as the line's end that the token "|>\n" has.
  const std::string& behind() const { return behind_; }
  // The number of bytes of the text that are certainly not the beginning of an end mark.
  std::size_t settled() const;

 private:
  const ChatFormat& format_;
  std::string text_, behind_;
  bool ended_ = false;
};

}  // namespace tapeformer
