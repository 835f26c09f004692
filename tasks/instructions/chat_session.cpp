#include "tasks/instructions/chat_session.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "data/chat/template_value.h"
#include "data/text/encode_text.h"

namespace tapeformer {
namespace {

constexpr std::int64_t kLeastAnswer = 16;  // tokens for which room is made, if the context is long enough

// Throws Error for a text with the byte that marks escapes, which templates would leave out.
void require_no_escape(std::string_view text, std::string_view what) {
  check(text.find(kTemplateEscape) == text.npos, what, " has the byte 0xFF, which is no UTF-8");
}

}  // namespace

ChatSession::ChatSession(const CausalModel& model, const ChatFormat& format, const GenerateOptions& options,
                         std::string_view system)
    : model_(model),
      format_(format),
      options_(options),
      context_(seen_context(model, options.context)),
      kept_(system.empty() ? 0 : 1) {
  require_no_escape(system, "the system message");
  options_.stop_token = format.text_end();  // AnswerText finds the end mark
  if (kept_ > 0) messages_.push_back({"system", std::string(system)});
  clear();
}

void ChatSession::clear() {
  messages_.resize(kept_);
  row_.clear();
  text_.clear();
  decoder_ = std::make_unique<CausalDecoder>(model_, options_.use_cache, context_);
}

std::int64_t ChatSession::room() const {
  if (!context_) return std::numeric_limits<std::int64_t>::max();
  // The last token of an answer is not read.
  return *context_ + 1 - std::ssize(row_);
}

std::size_t ChatSession::read_prompt() {
  const std::string prompt = format_.render_prompt(messages_);
  if (!row_.empty() && prompt.starts_with(text_)) {
    const std::size_t begin = row_.size();
    format_.append_ids(std::string_view(prompt).substr(text_.size()), row_);
    text_ = prompt;
    return begin;
  }
  // The template writes the conversation so far in another way, or some of it was forgotten.
  read_again_ = std::ssize(row_);
  ChatTokens tokens = format_.encode_prompt(messages_);
  row_ = std::move(tokens.ids);
  text_ = std::move(tokens.text);
  decoder_ = std::make_unique<CausalDecoder>(model_, options_.use_cache, context_);
  return 0;
}

void ChatSession::make_prompt() {
  const std::int64_t wanted = std::min({options_.tokens, kLeastAnswer, context_.value_or(4 * kLeastAnswer) / 4 + 1});
  std::size_t begin = read_prompt();
  while (room() < wanted && messages_.size() > kept_ + 1) {
    // Forgets the oldest question and its answer.
    const auto oldest = messages_.begin() + static_cast<std::ptrdiff_t>(kept_);
    messages_.erase(oldest, oldest + 2);
    forgotten_ += 2;
    begin = read_prompt();
  }
  check(room() >= std::max<std::int64_t>(wanted, 1), "the question has ", row_.size(),
        " tokens with what the chat template adds: expected at most ", context_.value_or(0) + 1 - wanted,
        ", since the model's context is ", context_.value_or(0));
  const std::span<const std::int32_t> new_tokens = std::span<const std::int32_t>(row_).subspan(begin);
  asked_ = std::ssize(new_tokens), unknown_ = count_unknown(new_tokens, format_.tokenizer());
}

ChatAnswer ChatSession::ask(std::string_view question, const std::function<bool(std::string_view)>& on_text) {
  forgotten_ = read_again_ = 0;
  require_no_escape(question, "the question");
  const std::vector<ChatMessage> before = messages_;
  messages_.push_back({"user", std::string(question)});
  try {
    make_prompt();
  } catch (const Error&) {
    messages_ = before;  // also those that were forgotten to make room
    forgotten_ = 0;
    row_.clear();  // they may have the tokens of the question
    throw;
  }
  GenerateOptions options = options_;
  options.tokens = std::min(options_.tokens, room());
  AnswerText answer(format_);
  std::size_t shown = 0;
  bool goes_on = true;
  const auto show = [&](std::size_t end) {
    if (end <= shown) return;
    goes_on = on_text(std::string_view(answer.text()).substr(shown, end - shown));
    shown = end;
  };
  const std::vector<std::int32_t> ids = generate(*decoder_, row_, options, [&](std::int32_t token) {
    const bool continues = answer.push(token);
    show(answer.settled());
    return continues && goes_on;
  });
  const bool ended = answer.ended() || (goes_on && std::ssize(ids) < options.tokens);  // by its mark, or with the text
  show(answer.text().size());
  row_.insert(row_.end(), ids.begin(), ids.end());
  text_ += format_.escaped(answer.text());
  if (answer.ended()) text_ += format_.end_text() + answer.behind();
  messages_.push_back({"assistant", answer.text()});
  return {.text = answer.text(),
          .tokens = std::ssize(ids),
          .end = ended     ? ChatAnswer::End::mark
                 : goes_on ? ChatAnswer::End::length
                           : ChatAnswer::End::interrupted};
}

}  // namespace tapeformer
