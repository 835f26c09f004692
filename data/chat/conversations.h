// Reads conversations from JSON lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/chat/chat_template.h"
#include "data/text/text_notes.h"

namespace tapeformer {

struct Conversation {
  std::vector<ChatMessage> messages;
  std::int64_t line = 0;  // of the file, from 1
};

struct ConversationFile {
  std::string origin;  // its name in error messages
  std::vector<Conversation> conversations;
  TextNotes notes = {};
};

// Each line is {"messages": [{"role": …, "content": …}, …]}, where a role is system, user or assistant, or {"prompt":
// …, "completion": …}, a question and its answer; other fields are ignored, and empty lines are skipped. Throws Error
// "FILE:LINE: …" for another line, and for a file without conversations; and as read_text_file() does.
ConversationFile read_conversations(const std::filesystem::path& path);
// Does the same for a text in memory; errors name it `origin`.
ConversationFile parse_conversations(std::string_view text, const std::string& origin);

// A hash of the messages and their order.
std::uint64_t conversations_hash(std::span<const Conversation> conversations);

}  // namespace tapeformer
