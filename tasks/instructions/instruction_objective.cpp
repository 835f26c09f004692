#include "tasks/instructions/instruction_objective.h"

#include "tasks/common/models.h"
#include "tasks/instructions/answers.h"

namespace tapeformer {
namespace {

ConversationRowOptions row_options(const ResolvedConfig& config) {
  return {.batch = config.train.batch,
          .length = config.block_size(),
          .packs = config.family().keeps_documents,
          .seed = static_cast<std::uint64_t>(config.train.seed)};
}

}  // namespace

InstructionObjective::InstructionObjective(const ResolvedConfig& config, InstructionData data)
    : Objective(config),
      data_(std::move(data)),
      format_(*data_.tokenizer, data_.settings),
      model_(make_causal_model(config, model_vocabulary(config, *data_.tokenizer))),
      batcher_(data_.train.list, row_options(config)) {
  if (!data_.valid.list.empty()) {
    ConversationRowOptions options = row_options(config);
    options.seed = 1;  // so that runs of any seed are comparable
    valid_.emplace(data_.valid.list, options);
  }
}

DataFacts InstructionObjective::facts() const {
  const std::int64_t scored = data_.train.scored(), positions = data_.train.positions();
  return {
      .tokenizers = {.source = data_.tokenizer->to_json(), .target = "", .chat = data_.settings.to_json()},
      .data_hash = data_.train_hash,
      .valid_hash = data_.valid_hash,
      .tokens = positions,
      .description = {str_cat(parameters_text(), ", vocabulary of ", data_.tokenizer->vocab_size()),
                      str_cat(data_.train.list.size(), " training conversations in ", batcher_.rows(), " rows with ",
                              positions, " tokens, of which ", scored, " are answers, which alone are scored")},
      .warnings = data_.warnings};
}

StepSize InstructionObjective::step_size(std::int64_t step, MicroSteps micro_steps) {
  const std::int64_t batch = config_.train.batch;
  ConversationBatch size;
  batcher_.count(step, batch * config_.train.accumulate, micro_steps.begin * batch, micro_steps.size() * batch, size);
  return {.targets = size.scored, .tokens = size.positions};
}

Variable InstructionObjective::micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step,
                                          const MeanOver& mean) {
  const std::int64_t batch = config_.train.batch;
  batcher_.draw(step, batch * config_.train.accumulate, micro_step * batch, batch, batch_);
  return answers_loss(*model_, tape, batch_, loss_options(mean.normalizer()));
}

ValidationFacts InstructionObjective::validation() const {
  if (!valid_) return {.missing = "no validation conversations"};
  return {.tokens = data_.valid.scored(),
          .bytes = data_.valid.answer_bytes(),
          .unknown_share = data_.valid.unknown_share(*data_.tokenizer),
          .read = data_.valid.positions()};
}

Evaluation InstructionObjective::evaluate(const ProgressCallback& progress) {
  return evaluate_answers(*model_, *valid_, config_.eval.batches, progress, ranks());
}

std::vector<TextSample> InstructionObjective::samples(const std::function<bool()>& go_on) {
  std::vector<TextSample> samples;
  std::vector<std::vector<std::int32_t>> prompts;
  const std::int64_t longest = longest_conversation(config_);
  for (const Conversation& conversation : data_.valid_conversations) {
    std::span<const ChatMessage> messages = conversation.messages;
    while (!messages.empty() && messages.back().role != "assistant") messages = messages.first(messages.size() - 1);
    if (messages.size() < 2) continue;
    const std::span<const ChatMessage> before = messages.first(messages.size() - 1);
    std::vector<std::int32_t> ids = format_.encode_prompt(before).ids;
    if (std::ssize(ids) >= longest) continue;
    prompts.push_back(std::move(ids));
    samples.push_back({before.back().content, "", messages.back().content});
  }
  std::vector<AnswerPrompt> chosen;
  for (const std::vector<std::int32_t>& ids : prompts) {
    chosen.push_back({ids, std::min(config_.train.sample_tokens, longest - std::ssize(ids))});
  }
  std::vector<std::string> answers = greedy_answers(*model_, format_, chosen, 1, {}, go_on);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].output = std::move(answers[i]);
  return samples;
}

}  // namespace tapeformer
