// What a language model answers in conversations, and how well it predicts given answers.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/progress.h"
#include "data/chat/chat_format.h"
#include "data/chat/conversation_batcher.h"
#include "nn/interfaces/causal_model.h"
#include "train/loop/evaluation.h"

namespace tapeformer {

// Returns the cross-entropy of a batch's targets.
Variable answers_loss(const CausalModel& model, Tape& tape, const ConversationBatch& batch,
                      const CrossEntropyOptions& options);

// Scores the tokens of all answers, end marks included, each given the conversation before it. Only the first
// `max_batches` batches are scored; 0: all. Ranks share the batches, and all return the whole result.
Evaluation evaluate_answers(const CausalModel& model, const ConversationBatcher& batcher, std::int64_t max_batches,
                            const ProgressCallback& progress = {}, Communicator& ranks = Communicator::alone());

// A prompt that ends where an answer begins, and how many tokens the answer may have.
struct AnswerPrompt {
  std::span<const std::int32_t> ids;
  std::int64_t tokens = 200;
};

// Returns the answers of greedy decoding, in the order of the prompts; an answer without an end mark ends with the
// text (ChatFormat::text_end()), or is cut after AnswerPrompt::tokens tokens. Prompts of the same length are decoded
// side by side, at most `batch`. An answer ends early when `go_on` is set and returns false after a token.
std::vector<std::string> greedy_answers(const CausalModel& model, const ChatFormat& format,
                                        std::span<const AnswerPrompt> prompts, std::int64_t batch,
                                        const ProgressCallback& progress = {}, const std::function<bool()>& go_on = {});

}  // namespace tapeformer
