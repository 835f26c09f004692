#include "data/chat/conversations.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/text/lines.h"
#include "data/text/text_files.h"

namespace tapeformer {
namespace {

const std::string& string_field(const nlohmann::json& object, const char* key, const std::string& where) {
  const auto field = object.find(key);
  check(field != object.end() && field->is_string(), where, key, ": expected a string, got ",
        field == object.end() ? "none" : field->type_name());
  return field->get_ref<const std::string&>();
}

ChatMessage message_of(const nlohmann::json& json, const std::string& where) {
  check(json.is_object(), where, "expected a message {\"role\": …, \"content\": …}, got ", json.type_name());
  const std::string& role = string_field(json, "role", where);
  check(role == "system" || role == "user" || role == "assistant", where,
        "role: expected system, user or assistant, got ", role);
  return {role, string_field(json, "content", where)};
}

std::vector<ChatMessage> messages_of(const nlohmann::json& json, const std::string& where) {
  check(json.is_object(), where, "expected a JSON object, got ", json.type_name());
  if (const auto list = json.find("messages"); list != json.end()) {
    check(list->is_array(), where, "messages: expected a list, got ", list->type_name());
    std::vector<ChatMessage> messages;
    for (const nlohmann::json& message : *list) {
      messages.push_back(message_of(message, str_cat(where, "message ", messages.size() + 1, ": ")));
    }
    return messages;
  }
  check(json.contains("prompt") || json.contains("completion"), where,
        "expected an object with messages, or with prompt and completion, got neither");
  return {{"user", string_field(json, "prompt", where)}, {"assistant", string_field(json, "completion", where)}};
}

}  // namespace

ConversationFile parse_conversations(std::string_view text, const std::string& origin) {
  ConversationFile file{.origin = origin, .conversations = {}};
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    if (line.find_first_not_of(" \t") == line.npos) return;
    const std::string where = str_cat(origin, ':', number, ": ");
    file.conversations.push_back(
        {messages_of(parse_json<nlohmann::json>(line, where), where), static_cast<std::int64_t>(number)});
  });
  check(!file.conversations.empty(), origin, ": expected conversations, got none");
  return file;
}

ConversationFile read_conversations(const std::filesystem::path& path) {
  TextNotes notes;
  ConversationFile file = parse_conversations(read_text_file(path, notes), path.string());
  file.notes = notes;
  return file;
}

std::uint64_t conversations_hash(std::span<const Conversation> conversations) {
  Hasher hasher;
  const auto add = [&](std::string_view text) {
    hasher.update(std::uint64_t{text.size()});
    hasher.update(text);
  };
  for (const Conversation& conversation : conversations) {
    hasher.update(std::uint64_t{conversation.messages.size()});
    for (const ChatMessage& message : conversation.messages) add(message.role), add(message.content);
  }
  return hasher.digest();
}

}  // namespace tapeformer
