#include "tasks/instructions/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/error.h"
#include "tasks/instructions/instruction_data.h"
#include "tasks/plan/packed_rows.h"
#include "tasks/plan/rules.h"
#include "tasks/plan/text_size.h"

namespace tapeformer {
namespace {

// The marks of ChatML around a message.
constexpr double kMarks = 2;

// What ChatML writes between the marks of a message.
std::string text_of(const ChatMessage& message) { return str_cat(message.role, '\n', message.content, '\n'); }

// The size of all messages, as a tokenizer learns from them.
TextSize size_of(std::span<const Conversation> conversations) {
  TextSum texts;
  for (const Conversation& conversation : conversations) {
    for (const ChatMessage& message : conversation.messages) texts.add(text_of(message));
  }
  return texts.size();
}

// The tokens of each conversation, about, where a token has `of_token` bytes.
std::vector<double> lengths_of(std::span<const Conversation> conversations, double of_token) {
  std::vector<double> lengths;
  for (const Conversation& conversation : conversations) {
    double& tokens = lengths.emplace_back(0);
    for (const ChatMessage& message : conversation.messages)
      tokens += kMarks + static_cast<double>(text_of(message).size()) / of_token;
  }
  return lengths;
}

// The tokens of all conversations that fit into a row: longer ones are left out of the training.
double sum_of(std::span<const double> lengths, std::int64_t context) {
  const auto longest = static_cast<double>(context + 1);  // a row has a token more, which is only predicted
  double sum = 0;
  for (const double length : lengths) sum += length <= longest ? length : 0;
  return sum;
}

// Chooses a context that the longest conversations fit into, as far as they are not much too long.
void choose_conversation_context(PlanDraft& draft, std::vector<double> lengths) {
  std::ranges::sort(lengths);
  const auto at = static_cast<std::size_t>(tuning::kFittingConversations * static_cast<double>(lengths.size() - 1));
  const auto length = static_cast<std::uint64_t>(std::max(lengths[at], 1.0));
  draft.choose("model.context",
               std::clamp<std::int64_t>(static_cast<std::int64_t>(std::bit_ceil(length)), tuning::kLeastSentenceContext,
                                        tuning::kMostConversationContext),
               fmt::format("{:.0f} % of the conversations have up to about {} tokens",
                           100 * tuning::kFittingConversations, length));
}

}  // namespace

Plan plan_instructions(const PlanRequest& request) {
  PlanDraft draft(request);
  require_gpt(draft, "a model that answers");
  const Config::Data& files = request.given.data;
  require_files({files.conversations, files.valid_conversations});
  const ConversationFile train = training_conversations(files);
  const TextSize size = size_of(train.conversations);
  choose_clock(draft);
  choose_text_tokenizer(draft, size);
  const auto [of_token, vocab] = token_size(draft.config().tokenizer, size);
  draft.set_vocab(vocab);
  const std::vector<double> lengths = lengths_of(train.conversations, of_token);
  choose_conversation_context(draft, lengths);
  const std::int64_t context = draft.integer("model.context");
  std::optional<double> valid;
  if (!files.valid_conversations.empty())
    valid = sum_of(lengths_of(read_conversations(files.valid_conversations).conversations, of_token), context);
  DataSize data = data_size(sum_of(lengths, context), valid, files.valid_fraction);
  data.token_worth = token_worth(vocab);
  SizedDraft sized = choose_gpt(std::move(draft), data, vocab);
  const double of_batch = tokens_of_evaluation_batch(sized.draft.resolved());
  choose_validation(sized, data, of_batch, {.key = "eval.batches", .tokens = of_batch});
  return finish_gpt(std::move(sized), data, tuning::kTunedConversations);
}

}  // namespace tapeformer
