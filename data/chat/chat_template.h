// Chat templates: how the messages of a conversation become the text that a model reads.
//
// A template is written in a subset of Jinja, which docs/instructions.md lists: what the published templates of Llama
// 3, Qwen2, SmolLM, Gemma and Mistral use. It is rendered as transformers' apply_chat_template() does, without tools.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tapeformer {

struct ChatMessage {
  std::string role, content;
  bool operator==(const ChatMessage&) const = default;
};

// ChatML: <|im_start|>ROLE\nTEXT<|im_end|>\n for each message.
inline constexpr std::string_view kChatMl =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
    "'\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
inline constexpr std::string_view kChatMlBegin = "<|im_start|>", kChatMlEnd = "<|im_end|>";

struct ChatRenderOptions {
  bool generation_prompt = false;  // add_generation_prompt: the text ends where the assistant's answer begins
  std::string bos_token = {}, eos_token = {};  // empty: undefined
};

class ChatTemplate {
 public:
  // Throws Error "chat template: line N: …" for what is not in the subset.
  explicit ChatTemplate(std::string_view text);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  // Throws Error "chat template: line N: …" where the template cannot be rendered or calls raise_exception().
  std::string render(std::span<const ChatMessage> messages, const ChatRenderOptions& options) const;

 private:
  struct Program;
  std::unique_ptr<const Program> program_;
};

}  // namespace tapeformer
