// Reads, generates and encodes the conversations of a configuration.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/progress.h"
#include "data/chat/chat_format.h"
#include "data/chat/conversations.h"
#include "train/config/config.h"
#include "train/run/run_folder.h"

namespace tapeformer {

// Reads or generates the conversations to train on. Throws Error as read_conversations() does.
ConversationFile training_conversations(const Config::Data& data);

// Encoded conversations, without those that have no answer or are too long.
struct EncodedConversations {
  std::vector<ChatTokens> list;
  std::int64_t without_answer = 0, too_long = 0;

  std::int64_t scored() const;        // the number of tokens in answers
  std::int64_t positions() const;     // of all rows; a conversation of n tokens takes n − 1
  std::int64_t answer_bytes() const;  // of the answers' texts, without end marks
  // The number, and the share, of the scored tokens that are the tokenizer's unknown token.
  std::int64_t unknown(const Tokenizer& tokenizer) const;
  double unknown_share(const Tokenizer& tokenizer) const;
  // Returns a line about the conversations that are left out; "" if there are none. `what` is what the line calls them.
  std::string note(const std::string& what, std::int64_t longest) const;
};

// Encodes conversations of at most `longest` tokens. Throws Error "ORIGIN:LINE: …".
EncodedConversations encode_conversations(std::span<const Conversation> conversations, const ChatFormat& format,
                                          const std::string& origin, std::int64_t longest,
                                          const ProgressCallback& progress = {});

struct InstructionData {
  std::unique_ptr<Tokenizer> tokenizer;
  ChatSettings settings;
  EncodedConversations train, valid;
  std::vector<Conversation> valid_conversations = {};  // the first ones for validation, for samples
  std::uint64_t train_hash = 0, valid_hash = 0;        // valid_hash is 0 if there are none
  std::vector<std::string> warnings = {};
};

// The number of tokens that a conversation may have: a row of the model, and the last token, which is only a target.
inline std::int64_t longest_conversation(const ResolvedConfig& config) { return config.block_size() + 1; }

// Reads or generates the conversations, and encodes them. Tokenizer and chat template are those of the run that is
// resumed, or of tokenizer.file and the tokenizer_config.json beside it; or the tokenizer is learned from the training
// conversations, and the template is ChatML. Throws Error when no conversation is left to train on.
InstructionData prepare_instruction_data(const ResolvedConfig& config, const RunFolder* resumed,
                                         const ProgressMaker& progress);

// The special tokens of a learned tokenizer: the end of a text, and the marks of ChatML.
std::vector<std::string> chat_special_tokens();

}  // namespace tapeformer
