#include "tasks/instructions/instruction_data.h"

#include <algorithm>

#include "core/error.h"
#include "data/synthetic/corpora.h"
#include "data/text/encode_text.h"
#include "data/text/text_source.h"
#include "tasks/common/models.h"
#include "tokenizer/train_tokenizer.h"

namespace tapeformer {
namespace {

constexpr std::size_t kSampled = 4;  // validation conversations that are kept for samples

// Adds the messages as ChatML writes them, a part of them at a time, so that there is no second copy of them all.
void add_messages(std::span<const Conversation> conversations, TokenizerTrainer& trainer) {
  constexpr std::size_t kPartBytes = std::size_t{1} << 20;
  std::vector<std::string> texts;
  std::size_t bytes = 0;
  const auto add_part = [&] {
    trainer.add(std::vector<std::string_view>(texts.begin(), texts.end()));
    texts.clear();
    bytes = 0;
  };
  for (const Conversation& conversation : conversations) {
    for (const ChatMessage& message : conversation.messages) {
      bytes += texts.emplace_back(str_cat(message.role, '\n', message.content)).size();
      if (bytes >= kPartBytes) add_part();
    }
  }
  add_part();
}

std::unique_ptr<Tokenizer> learn_chat_tokenizer(const ResolvedConfig& config, std::span<const Conversation> train,
                                                std::span<const Conversation> valid, const ProgressMaker& progress) {
  const auto trainer = make_tokenizer_trainer({.kind = word_of(config.tokenizer.kind),
                                               .vocab = config.tokenizer.vocab,
                                               .special_tokens = chat_special_tokens()});
  trainer->add(std::vector<std::string_view>{"system\n", "user\n", "assistant\n"});
  add_messages(train, *trainer);
  if (config.tokenizer.kind == TokenizerKind::character) add_messages(valid, *trainer);
  return trainer->finish(start_progress(progress, "learning merges"));
}

// Chooses tokenizer and chat template.
void set_format(const ResolvedConfig& config, const RunFolder* resumed, std::span<const Conversation> train,
                std::span<const Conversation> valid, const ProgressMaker& progress, InstructionData& data) {
  if (const std::filesystem::path file = tokenizer_file(config, resumed); !file.empty()) {
    data.tokenizer = Tokenizer::load(file);
    data.settings = ChatSettings::beside(file);
  } else {
    data.tokenizer = learn_chat_tokenizer(config, train, valid, progress);
  }
  const bool is_chatml = data.settings.chat_template == kChatMl;
  if (!is_chatml) return;
  if (data.tokenizer->special(kChatMlEnd)) {
    data.settings.eos_token = kChatMlEnd;
  } else {
    try {
      data.tokenizer->encode(str_cat(kChatMlBegin, kChatMlEnd));
    } catch (const Error& error) {  // a char tokenizer may lack their characters
      fail("the marks of the chat template, ", kChatMlBegin, " and ", kChatMlEnd, ": ", error.what());
    }
    data.warnings.push_back(str_cat("the tokenizer has no special tokens ", kChatMlBegin, " and ", kChatMlEnd,
                                    ": they are encoded as plain text, also where a message has them"));
  }
}

}  // namespace

ConversationFile training_conversations(const Config::Data& data) {
  if (data.corpus.empty()) return read_conversations(data.conversations);
  return parse_conversations(generate_corpus(data.corpus, data.lines, static_cast<std::uint64_t>(data.seed)),
                             "corpus " + data.corpus);
}

std::vector<std::string> chat_special_tokens() {
  return {std::string(kEndOfText), std::string(kChatMlBegin), std::string(kChatMlEnd)};
}

std::int64_t EncodedConversations::scored() const {
  std::int64_t sum = 0;
  for (const ChatTokens& conversation : list) sum += conversation.scored();
  return sum;
}

std::int64_t EncodedConversations::positions() const {
  std::int64_t sum = 0;
  for (const ChatTokens& conversation : list) sum += std::ssize(conversation.ids) - 1;
  return sum;
}

std::int64_t EncodedConversations::answer_bytes() const {
  std::int64_t sum = 0;
  for (const ChatTokens& conversation : list) {
    for (const std::string& text : conversation.answer_texts) sum += std::ssize(text);
  }
  return sum;
}

std::int64_t EncodedConversations::unknown(const Tokenizer& tokenizer) const {
  std::int64_t count = 0;
  for (const ChatTokens& conversation : list) {
    for (const TokenSpan& answer : conversation.answers) {
      count += count_unknown(std::span(conversation.ids).subspan(answer.begin, answer.size()), tokenizer);
    }
  }
  return count;
}

double EncodedConversations::unknown_share(const Tokenizer& tokenizer) const {
  return list.empty() ? 0 : static_cast<double>(unknown(tokenizer)) / static_cast<double>(scored());
}

std::string EncodedConversations::note(const std::string& what, std::int64_t longest) const {
  if (without_answer + too_long == 0) return "";
  std::string reasons;
  if (too_long > 0) reasons = str_cat(too_long, " longer than ", longest, " tokens");
  if (without_answer > 0) reasons += str_cat(reasons.empty() ? "" : ", ", without_answer, " without an answer");
  return str_cat(without_answer + too_long, " of ", without_answer + too_long + std::ssize(list), " ", what,
                 " are left out: ", reasons);
}

EncodedConversations encode_conversations(std::span<const Conversation> conversations, const ChatFormat& format,
                                          const std::string& origin, std::int64_t longest,
                                          const ProgressCallback& progress) {
  EncodedConversations encoded;
  for (std::size_t i = 0; i < conversations.size(); ++i) {
    const Conversation& conversation = conversations[i];
    try {
      ChatTokens tokens = format.encode(conversation.messages);
      if (tokens.answers.empty()) {
        ++encoded.without_answer;
      } else if (std::ssize(tokens.ids) > longest) {
        ++encoded.too_long;
      } else {
        encoded.list.push_back(std::move(tokens));
      }
    } catch (const Error& error) {
      fail(origin, ':', conversation.line, ": ", error.what());
    }
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(conversations.size()));
  }
  return encoded;
}

InstructionData prepare_instruction_data(const ResolvedConfig& config, const RunFolder* resumed,
                                         const ProgressMaker& progress) {
  InstructionData data;
  ConversationFile train_file = training_conversations(config.data);
  TextNotes notes = train_file.notes;
  std::span<const Conversation> train = train_file.conversations, valid;
  ConversationFile valid_file;
  if (!config.data.valid_conversations.empty()) {
    valid_file = read_conversations(config.data.valid_conversations);
    valid = valid_file.conversations;
    notes.add(valid_file.notes);
  } else {
    const auto all = static_cast<double>(train.size());
    const auto cut = static_cast<std::size_t>(all * (1 - config.data.valid_fraction));
    valid = train.subspan(cut);
    train = train.first(cut);
  }
  const std::string& valid_origin = valid_file.origin.empty() ? train_file.origin : valid_file.origin;
  data.warnings = notes.lines();
  set_format(config, resumed, train, valid, progress, data);
  const ChatFormat format(*data.tokenizer, data.settings);
  const std::int64_t longest = longest_conversation(config);
  const ProgressCallback show = start_progress(progress, "encoding the conversations");
  data.train = encode_conversations(train, format, train_file.origin, longest, show);
  data.valid = encode_conversations(valid, format, valid_origin, longest);
  const std::string train_note = data.train.note("training conversations", longest);
  check(!data.train.list.empty(), train_file.origin, ": no conversation is left to train on",
        train_note.empty() ? ", all are for validation" : "; " + train_note);
  for (const std::string& note : {train_note, data.valid.note("validation conversations", longest)}) {
    if (!note.empty()) data.warnings.push_back(note);
  }
  const Tokenizer& tokenizer = *data.tokenizer;
  if (auto note = unknown_note(data.train.unknown(tokenizer), data.train.scored(), tokenizer, "the training answers",
                               kMostUnknown))
    data.warnings.push_back(*std::move(note));
  data.train_hash = conversations_hash(train);
  if (!data.valid.list.empty()) data.valid_hash = conversations_hash(valid);
  data.valid_conversations.assign(valid.begin(), valid.begin() + std::min(kSampled, valid.size()));
  return data;
}

}  // namespace tapeformer
