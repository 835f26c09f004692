#include <array>

#include "core/error.h"
#include "data/chat/chat_template.h"
#include "targets.h"

namespace tapeformer::fuzz {

void chat_template(std::string_view data) {
  const std::array<ChatMessage, 3> messages{{{"system", "S"}, {"user", " a<b> "}, {"assistant", "c\n"}}};
  try {
    const ChatTemplate chat(data);
    const ChatRenderOptions options{.generation_prompt = true, .bos_token = "<s>", .eos_token = "</s>"};
    const std::string text = chat.render(messages, options);
    require(chat.render(messages, options) == text, "a template renders otherwise the second time");
  } catch (const Error&) {
  }
}

}  // namespace tapeformer::fuzz
