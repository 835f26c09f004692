// A conversation with a language model.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/chat/chat_format.h"
#include "generate/generator.h"

namespace tapeformer {

struct ChatAnswer {
  // How the answer ended: at its end mark or the end of the text, at its largest number of tokens or the model's
  // context, or because the caller ended it.
  enum class End { mark, length, interrupted };
  std::string text;
  std::int64_t tokens = 0;  // with the end mark
  End end = End::mark;
};

// Keeps the model's cache between the turns, so that each turn reads only its own tokens. When the context is full, the
// oldest questions are forgotten with their answers; a system message stays.
class ChatSession {
 public:
  // The model and the format must outlive the object. An empty `system` means that there is no system message. Throws
  // UsageError as seen_context() does, and Error for a system message with the byte 0xFF.
  ChatSession(const CausalModel& model, const ChatFormat& format, const GenerateOptions& options,
              std::string_view system = {});

  // Answers a question. Calls on_text with each part of the answer as soon as it is known; the answer ends if that
  // returns false. Throws Error, and leaves the conversation as it was before, if the context has no room for the
  // question, the template refuses it, or it has the byte 0xFF, which is no UTF-8.
  ChatAnswer ask(std::string_view question, const std::function<bool(std::string_view)>& on_text);

  // Forgets the conversation, apart from the system message.
  void clear();
  // The number of messages that the last ask() has forgotten to make room.
  std::int64_t forgotten() const { return forgotten_; }
  // The tokens of the conversation so far, and the number of those that the last ask() could not take from the cache.
  std::span<const std::int32_t> row() const { return row_; }
  std::int64_t read_again() const { return read_again_; }
  // The number of tokens that the last ask() has put before its answer, and of those among them that stand for what the
  // vocabulary does not have.
  std::int64_t asked() const { return asked_; }
  std::int64_t unknown() const { return unknown_; }
  // The seed of the next answer.
  std::uint64_t& seed() { return options_.seed; }

 private:
  // Makes row_ the tokens of the conversation up to the next answer. Forgets the oldest messages until these tokens and
  // an answer fit into the context.
  void make_prompt();
  // Returns the place in row_ where its new tokens begin.
  std::size_t read_prompt();
  std::int64_t room() const;

  const CausalModel& model_;
  const ChatFormat& format_;
  GenerateOptions options_;
  const std::optional<std::int64_t> context_;
  std::unique_ptr<CausalDecoder> decoder_;
  std::vector<ChatMessage> messages_;
  std::size_t kept_;               // messages that are never forgotten: a system message
  std::vector<std::int32_t> row_;  // the tokens of text_
  std::string text_;               // the conversation as the template renders it, with escapes
  std::int64_t forgotten_ = 0, read_again_ = 0, asked_ = 0, unknown_ = 0;
};

}  // namespace tapeformer
