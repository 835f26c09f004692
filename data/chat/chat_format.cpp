#include "data/chat/chat_format.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "data/chat/template_value.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/unicode_class.h"

namespace tapeformer {
namespace {

// A text of tokenizer_config.json that is a string or {"content": …}; "" for null and for a missing one.
std::string setting(const nlohmann::json& config, const char* key, const std::string& origin) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return "";
  const nlohmann::json& value = found->is_object() && found->contains("content") ? (*found)["content"] : *found;
  check(value.is_string(), origin, ": ", key, ": expected a string, got ", value.type_name());
  return value.get<std::string>();
}

std::size_t first_byte(std::string_view text) { return static_cast<unsigned char>(text.front()); }

// The template of a list [{"name": …, "template": …}] that is called default.
std::string default_template(const nlohmann::json& list, const std::string& origin) {
  for (const nlohmann::json& entry : list) {
    if (entry.is_object() && entry.value("name", nlohmann::json()) == "default")
      return setting(entry, "template", origin);
  }
  fail(origin, ": chat_template: expected one that is called default, got none");
}

nlohmann::json parse_object(std::string_view text, const std::string& origin) {
  auto json = parse_json<nlohmann::json>(text, origin + ": ");
  check(json.is_object(), origin, ": expected a JSON object, got ", json.type_name());
  return json;
}

// Returns the object in a file; an empty one if there is no such file.
nlohmann::json read_object(const std::filesystem::path& file) {
  return is_there(file) ? parse_object(read_file(file), file.string()) : nlohmann::json::object();
}

ChatSettings settings_of(const nlohmann::json& config, const std::string& origin) {
  ChatSettings settings{.bos_token = setting(config, "bos_token", origin),
                        .eos_token = setting(config, "eos_token", origin)};
  const auto found = config.find("chat_template");
  if (found == config.end() || found->is_null()) return settings;
  settings.chat_template =
      found->is_array() ? default_template(*found, origin) : setting(config, "chat_template", origin);
  return settings;
}

// The settings beside a tokenizer, and whether they have a template of their own. As in transformers, the tokens of an
// older folder, whose tokenizer_config.json has no added_tokens_decoder, are those of special_tokens_map.json.
std::pair<ChatSettings, bool> read_beside(const std::filesystem::path& tokenizer) {
  const std::filesystem::path folder = is_folder(tokenizer) ? tokenizer : tokenizer.parent_path();
  const std::filesystem::path file = folder / "tokenizer_config.json", alone = folder / "chat_template.jinja",
                              map = folder / "special_tokens_map.json";
  nlohmann::json config = read_object(file);
  if (!config.contains("added_tokens_decoder")) {
    const nlohmann::json tokens = read_object(map);
    for (const char* const key : {"bos_token", "eos_token"}) {
      if (tokens.contains(key)) config[key] = setting(tokens, key, map.string());
    }
  }
  ChatSettings settings = settings_of(config, file.string());
  if (!is_there(alone)) return {settings, !config.value("chat_template", nlohmann::json()).is_null()};
  settings.chat_template = read_file(alone);
  return {settings, true};
}

}  // namespace

std::string ChatSettings::to_json() const {
  nlohmann::ordered_json json{{"chat_template", chat_template}};
  if (!bos_token.empty()) json["bos_token"] = bos_token;
  if (!eos_token.empty()) json["eos_token"] = eos_token;
  return dump_json(json, 2) + "\n";
}

ChatSettings ChatSettings::from_json(std::string_view text, const std::string& origin) {
  return settings_of(parse_object(text, origin), origin);
}

std::optional<ChatSettings> ChatSettings::find_beside(const std::filesystem::path& tokenizer) {
  const auto [settings, has_template] = read_beside(tokenizer);
  return has_template ? std::optional(settings) : std::nullopt;
}

ChatSettings ChatSettings::beside(const std::filesystem::path& tokenizer) { return read_beside(tokenizer).first; }

std::int64_t ChatTokens::scored() const {
  std::int64_t sum = 0;
  for (const TokenSpan& answer : answers) sum += answer.size();
  return sum;
}

ChatFormat::ChatFormat(const Tokenizer& tokenizer, const ChatSettings& settings)
    : tokenizer_(tokenizer),
      template_(settings.chat_template),
      options_{.bos_token = settings.bos_token, .eos_token = settings.eos_token} {
  std::vector<std::int32_t> ids(tokenizer.special_ids().begin(), tokenizer.special_ids().end());
  std::ranges::stable_sort(ids, std::greater(), [&](std::int32_t id) { return tokenizer.token_bytes(id).size(); });
  for (const std::int32_t id : ids) specials_[first_byte(tokenizer.token_bytes(id))].push_back(id);
  find_end_mark();
}

void ChatFormat::find_end_mark() {
  const std::string probe = "probe of an answer";
  const ChatMessage messages[] = {{"user", "question"}, {"assistant", probe}};
  const std::string text = render(messages, false);
  const std::size_t at = text.rfind(probe);
  check(at != text.npos, "chat template: expected the assistant's text in the rendered conversation, got none");
  const std::string after = text.substr(at + probe.size());
  if (const auto [place, id] = find_special(after); place != after.npos) {
    end_token_ = id;
    end_text_ = after.substr(0, place + tokenizer_.token_bytes(id).size());
  } else {
    end_text_ = after.substr(0, after.find_last_not_of(" \t\r\n") + 1);
    try {
      static_cast<void>(tokenizer_.encode(end_text_));
    } catch (const Error& error) {
      fail("chat template: the tokenizer cannot write ", end_text_, ", which ends an answer: ", error.what());
    }
  }
  check(!end_text_.empty(),
        "chat template: expected a mark after the assistant's text, which ends an answer, got none");
  const std::int32_t text_end = text_end_token(tokenizer_).value_or(-1);
  if (text_end != end_token_) text_end_ = text_end;
}

std::pair<std::size_t, std::int32_t> ChatFormat::find_special(std::string_view text) const {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (const std::int32_t id = special_at(text.substr(at)); id >= 0) return {at, id};
  }
  return {text.npos, -1};
}

std::int32_t ChatFormat::special_at(std::string_view text) const {
  for (const std::int32_t id : specials_[first_byte(text)]) {
    if (text.starts_with(tokenizer_.token_bytes(id))) return id;
  }
  return -1;
}

std::string ChatFormat::escaped(std::string_view content) const {
  std::string out;
  for (std::size_t at = 0; at < content.size(); ++at) {
    if (content[at] == kTemplateEscape) continue;  // no UTF-8
    out += content[at];
    if (special_at(content.substr(at)) >= 0) out += kTemplateEscape;
  }
  return out;
}

bool ChatFormat::is_mark(std::int32_t id) const { return !tokenizer_.is_ordinary(id) && tokenizer_.unknown_id() != id; }

std::vector<std::int32_t> ChatFormat::encode_behind(std::span<const std::int32_t> ids, std::string_view plain) const {
  if (ids.empty()) return tokenizer_.encode(plain);
  return is_mark(ids.back()) ? tokenizer_.encode_after_token(plain) : tokenizer_.encode_continuation(plain);
}

std::string_view ChatFormat::without_own_space(std::span<const std::int32_t> ids, std::string_view text,
                                               std::int32_t next) const {
  const bool behind_mark = !ids.empty() && is_mark(ids.back());
  if (behind_mark && tokenizer_.special_flags(ids.back()).rstrip) text.remove_prefix(white_space_end(text, 0));
  if (next >= 0 && tokenizer_.special_flags(next).lstrip)
    text = text.substr(0, white_space_begin(text, 0, text.size()));
  return text;
}

void ChatFormat::append_ids(std::string_view rendered, std::vector<std::int32_t>& ids) const {
  while (!rendered.empty()) {
    const auto [place, id] = find_special(rendered);
    std::string plain(without_own_space(ids, rendered.substr(0, place), id));
    std::erase(plain, kTemplateEscape);
    const std::vector<std::int32_t> encoded = encode_behind(ids, plain);
    ids.insert(ids.end(), encoded.begin(), encoded.end());
    if (place == rendered.npos) return;
    ids.push_back(id);
    rendered.remove_prefix(place + tokenizer_.token_bytes(id).size());
  }
}

void ChatFormat::append_answer(std::string_view rendered, std::vector<std::int32_t>& ids) const {
  const std::size_t plain_size = find_special(rendered).first;
  std::string plain(rendered.substr(0, plain_size));
  std::erase(plain, kTemplateEscape);
  const std::vector<std::int32_t> encoded = tokenizer_.encode_continuation(plain);
  ids.insert(ids.end(), encoded.begin(), encoded.end());
  if (plain_size != rendered.npos) append_ids(rendered.substr(plain_size), ids);
}

std::vector<ChatMessage> ChatFormat::with_escapes(std::span<const ChatMessage> messages) const {
  std::vector<ChatMessage> list;
  for (const ChatMessage& message : messages) list.push_back({message.role, escaped(message.content)});
  return list;
}

std::string ChatFormat::render(std::span<const ChatMessage> messages, bool generation_prompt) const {
  ChatRenderOptions options = options_;
  options.generation_prompt = generation_prompt;
  return template_.render(messages, options);
}

ChatTokens ChatFormat::encode_answers(std::span<const ChatMessage> messages) const {
  ChatTokens tokens;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != "assistant") continue;
    const std::string prompt = render(messages.first(i), true), whole = render(messages.first(i + 1), false);
    check(prompt.starts_with(tokens.text) && whole.starts_with(prompt), "message ", i + 1,
          ": the chat template writes the text before this answer in another way when the answer follows");
    std::string answer = whole.substr(prompt.size());
    const std::size_t end = answer.rfind(end_text_);
    check(end != answer.npos, "message ", i + 1, ": the chat template ends this answer without ", end_text_);
    append_ids(std::string_view(prompt).substr(tokens.text.size()), tokens.ids);
    tokens.answer_texts.push_back(answer.substr(0, end));
    std::erase(tokens.answer_texts.back(), kTemplateEscape);
    answer.resize(end + end_text_.size());
    const std::int64_t begin = std::ssize(tokens.ids);
    check(begin > 0, "message ", i + 1, ": the chat template writes nothing before this answer");
    append_answer(answer, tokens.ids);
    tokens.answers.push_back({begin, std::ssize(tokens.ids)});
    tokens.text = prompt + answer;
  }
  return tokens;
}

ChatTokens ChatFormat::encode(std::span<const ChatMessage> messages) const {
  return encode_answers(with_escapes(messages));
}

ChatTokens ChatFormat::encode_prompt(std::span<const ChatMessage> messages) const {
  const std::vector<ChatMessage> list = with_escapes(messages);
  ChatTokens tokens = encode_answers(list);
  std::string prompt = render(list, true);
  check(prompt.starts_with(tokens.text), "the chat template writes an answer in another way when messages follow");
  append_ids(std::string_view(prompt).substr(tokens.text.size()), tokens.ids);
  tokens.text = std::move(prompt);
  return tokens;
}

std::string ChatFormat::render_prompt(std::span<const ChatMessage> messages) const {
  return render(with_escapes(messages), true);
}

bool AnswerText::push(std::int32_t token) {
  if (token == format_.end_token()) {
    ended_ = true;
    // The template may write something between the text and the token, such as a space.
    const std::string_view token_text = format_.tokenizer().token_bytes(token);
    const std::string_view before =
        std::string_view(format_.end_text()).substr(0, format_.end_text().size() - token_text.size());
    if (text_.ends_with(before)) text_.resize(text_.size() - before.size());
    return false;
  }
  text_ += format_.tokenizer().token_bytes(token);
  if (format_.end_token() < 0) {
    const std::size_t end = text_.find(format_.end_text());
    ended_ = end != text_.npos;
    if (ended_) behind_ = text_.substr(end + format_.end_text().size()), text_.resize(end);
  }
  return !ended_;
}

std::size_t AnswerText::settled() const {
  const std::string_view mark = format_.end_text();
  if (ended_) return text_.size();
  for (std::size_t held = std::min(mark.size(), text_.size()); held > 0; --held) {
    if (std::string_view(text_).ends_with(mark.substr(0, held))) return text_.size() - held;
  }
  return text_.size();
}

}  // namespace tapeformer
