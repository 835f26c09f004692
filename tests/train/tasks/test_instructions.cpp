#include <doctest/doctest.h>

#include <algorithm>

#include "autograd/tape/tape.h"
#include "core/error.h"
#include "core/ignored_target.h"
#include "data/text/text_source.h"
#include "tasks/common/eval.h"
#include "tasks/instructions/answers.h"
#include "tasks/instructions/chat_session.h"
#include "tests/train/toy.h"

using namespace tapeformer;

namespace {

constexpr MicroSteps kOnlyOne{0, 1};

Config single_step_config() {
  Config config = without_dropout(instructions_config());
  config.train.z_loss = 0;
  config.train.matmul = MatmulSetting::highest;
  return config;
}

// The gradient of the loss of step 1.
std::vector<float> gradient_of(InstructionToy& toy, double* loss = nullptr) {
  Tape tape(training_tape(toy.resolved, 1, 0));
  const Variable value = toy.objective.micro_loss(tape, 1, 0, toy.objective.mean_over(1, kOnlyOne));
  tape.backward(value);
  if (loss) *loss = value.value().item();
  return toy.slab.gradients().to_vector<float>();
}

GenerateOptions greedy(std::int64_t tokens) { return {.sampling = {.temperature = 0}, .tokens = tokens}; }

std::string answer_of(ChatSession& session, std::string_view question) {
  std::string shown;
  const ChatAnswer answer = session.ask(question, [&](std::string_view part) { return shown += part, true; });
  CHECK(shown == answer.text);
  return answer.text;
}

}  // namespace

TEST_CASE("instructions: the loss is the mean over the tokens of the answers, each given its own conversation alone") {
  const CacheFolder folder;
  InstructionToy toy(single_step_config());
  double loss = 0;
  const std::vector<float> gradient = gradient_of(toy, &loss);
  // The same rows, each conversation by itself, and only its answers' −ln P summed.
  ConversationBatcher batcher(toy.data.train.list,
                              {.batch = toy.config.train.batch, .length = toy.resolved.block_size(), .seed = 1});
  ConversationBatch batch;
  batcher.draw(1, toy.config.train.batch, 0, toy.config.train.batch, batch);
  double nats = 0;
  std::int64_t targets = 0, conversations = 0;
  for (std::int64_t r = 0; r < batch.rows; ++r) {
    for (std::int64_t begin = 0, end; begin < batch.length; begin = end, ++conversations) {
      const auto at = [&](const std::vector<std::int32_t>& values, std::int64_t t) {
        return values[r * batch.length + t];
      };
      end = begin;
      while (end < batch.length && at(batch.first_tokens, end) == begin) ++end;
      std::vector<std::int32_t> ids, wanted;
      for (std::int64_t t = begin; t < end; ++t) {
        ids.push_back(at(batch.inputs, t)), wanted.push_back(at(batch.targets, t));
        targets += wanted.back() != kIgnoredTarget;
      }
      Tape tape(no_grad);
      const auto row = [&](const std::vector<std::int32_t>& values) {
        return Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(values), {1, std::ssize(values)}));
      };
      nats += toy.model.loss(row(ids), row(wanted), {.normalizer = 1}).value().item();
    }
  }
  CHECK(conversations > batch.rows);
  CHECK(targets == toy.objective.step_size(1, kOnlyOne).targets);
  CHECK(loss == doctest::Approx(nats / static_cast<double>(targets)).epsilon(1e-5));
  CHECK(std::ranges::any_of(gradient, [](float g) { return g != 0; }));
}

TEST_CASE("instructions: tokens of the user have no gradient as targets") {
  // With an untied head without bias, the head's row of a token has a gradient from the softmax of the scored
  // positions; if the loss was that of all tokens, its sum over positions would be another one. So the gradient must be
  // that of a loss in which every other target is ignored, and must not be that of all targets.
  const CacheFolder folder;
  InstructionToy toy(single_step_config());
  const std::vector<float> gradient = gradient_of(toy);
  ConversationBatcher batcher(toy.data.train.list,
                              {.batch = toy.config.train.batch, .length = toy.resolved.block_size(), .seed = 1});
  ConversationBatch batch;
  batcher.draw(1, toy.config.train.batch, 0, toy.config.train.batch, batch);
  const auto with_targets = [&](const std::vector<std::int32_t>& targets, std::int64_t count) {
    InstructionToy other(single_step_config());
    ConversationBatch changed = batch;
    changed.targets = targets;
    Tape tape(training_tape(other.resolved, 1, 0));
    tape.backward(
        answers_loss(other.model, tape, changed, {.normalizer = static_cast<double>(count), .deferred = true}));
    return other.slab.gradients().to_vector<float>();
  };
  std::vector<std::int32_t> all = batch.targets;
  std::int64_t users = 0;
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    if (all[i] != kIgnoredTarget || batch.first_tokens[i] != batch.first_tokens[i + 1]) continue;
    all[i] = batch.inputs[i + 1];
    ++users;
  }
  CHECK(users > batch.scored);
  CHECK(with_targets(batch.targets, batch.scored) == gradient);
  CHECK(norm_of_difference(with_targets(all, batch.scored), gradient) > 0.1);
  // The scored targets are the answers' tokens and nothing else.
  std::int64_t scored = 0;
  for (const std::int32_t target : batch.targets) scored += target != kIgnoredTarget;
  CHECK(scored == batch.scored);
}

TEST_CASE("instructions: padding has no part in the statistics of batch norm") {
  const CacheFolder folder;
  Config config = single_step_config();
  config.model.options["norm_kind"] = "batch";
  const InstructionToy toy(config);
  ConversationBatcher batcher(toy.data.train.list,
                              {.batch = toy.config.train.batch, .length = toy.resolved.block_size(), .seed = 1});
  ConversationBatch batch;
  batcher.draw(1, toy.config.train.batch, 0, toy.config.train.batch, batch);
  REQUIRE(batch.positions < batch.rows * batch.length);
  const auto loss_with_padding = [&](std::int32_t padding) {
    for (std::int64_t r = 0; r < batch.rows; ++r) {
      for (std::int64_t t = batch.lengths[r]; t < batch.length; ++t) batch.inputs[r * batch.length + t] = padding;
    }
    Tape tape(training_tape(toy.resolved, 1, 0));
    return answers_loss(toy.model, tape, batch, {.normalizer = 1}).value().item();
  };
  CHECK(loss_with_padding(0) == loss_with_padding(5));
}

TEST_CASE("instructions: a toy learns to answer, and a conversation goes on from its cache") {
  const CacheFolder folder;
  Config config = instructions_config();
  const std::string file =
      folder
          .write("echo.jsonl",
                 [] {
                   std::string text;
                   for (int i = 0; i < 120; ++i) {
                     const std::string a(1, static_cast<char>('a' + i % 4)), b(1, static_cast<char>('a' + i / 4 % 4));
                     text += R"({"messages":[{"role":"user","content":")" + a +
                             R"("},{"role":"assistant","content":")" + a + a + R"("},{"role":"user","content":")" + b +
                             R"("},{"role":"assistant","content":")" + b + b + R"("}]})" + "\n";
                   }
                   return text;
                 }())
          .string();
  remove_corpus(config);
  config.data.conversations = file;
  config.model.options["context"] = std::int64_t{64};
  config.train.steps = 120, config.train.batch = 4, config.optimizer.lr = 2e-2, config.eval.every = 0;
  config.schedule.kind = ScheduleKind::cosine;
  config.train.z_loss = 0;
  const auto toy = trained<InstructionToy>(config, folder.path / "run");
  CHECK(toy->objective.evaluate({}).loss() < 0.1);
  for (const TextSample& sample : toy->objective.samples({})) CHECK(sample.output == sample.reference);

  const EvalReport report = toy->resolved.task_row().evaluate({.run = folder.path / "run", .conversations = file});
  CHECK(report.json["accuracy"] == 1.0);
  CHECK(report.json["answers"] == 240);
  CHECK(report.json["skipped"] == 0);

  const ChatFormat format(*toy->data.tokenizer, toy->data.settings);
  ChatSession session(toy->model, format, greedy(20));
  CHECK(answer_of(session, "a") == "aa");
  CHECK(answer_of(session, "c") == "cc");
  CHECK(session.read_again() == 0);
  // What the session has read is the conversation as training encodes it.
  const std::vector<ChatMessage> messages{{"user", "a"}, {"assistant", "aa"}, {"user", "c"}, {"assistant", "cc"}};
  const ChatTokens whole = format.encode(messages);
  CHECK(std::ranges::equal(session.row(), whole.ids));
  // A context of 64 tokens has room for a few turns: the oldest ones are forgotten.
  std::int64_t forgotten = 0;
  for (int i = 0; i < 6; ++i) {
    CHECK(answer_of(session, "b") == "bb");
    forgotten += session.forgotten();
    CHECK(std::ssize(session.row()) <= 65);
  }
  CHECK(forgotten > 0);
  CHECK_THROWS_AS(session.ask(std::string(80, 'a'), {}), Error);
  CHECK(answer_of(session, "d") == "dd");
  session.clear();
  CHECK(answer_of(session, "a") == "aa");
  // A question that is too long leaves the conversation as it was.
  CHECK_THROWS_AS(session.ask(std::string(80, 'a'), {}), Error);
  CHECK(session.forgotten() == 0);
  // Templates use the byte 0xFF: a question with it is refused, not answered without it.
  CHECK_THROWS_WITH_AS(answer_of(session, "c\xff"), "the question has the byte 0xFF, which is no UTF-8", Error);
  CHECK_THROWS_AS(ChatSession(toy->model, format, greedy(5), "brief\xff"), Error);
  CHECK(answer_of(session, "c") == "cc");
  CHECK(std::ranges::equal(session.row(), whole.ids));
}

TEST_CASE("instructions: an answer ends with the text, and the conversation goes on behind its end mark") {
  const CacheFolder folder;
  const InstructionToy toy(single_step_config());
  const Tokenizer& tokenizer = *toy.data.tokenizer;
  const ChatFormat format(tokenizer, toy.data.settings);
  const std::int32_t letter = tokenizer.encode("a").front(), end = tokenizer.special("<|endoftext|>").value();
  REQUIRE(format.text_end() == end);
  // The model writes "a" and the end of the text in turn.
  std::int64_t written = 0;
  const HookHandle hook = toy.model.module("head").register_forward_hook([&](const Module&, const Variable& logits) {
    const Tensor chosen = Tensor::zeros(logits.sizes(), logits.dtype());
    const std::int64_t id = written++ % 2 == 0 ? letter : end;
    chosen.slice(1, id, id + 1).copy_from(Tensor::full({1, 1}, logits.dtype(), 1));
    return Variable::constant(*logits.tape(), chosen);
  });
  ChatSession session(toy.model, format, greedy(5));
  CHECK(answer_of(session, "s") == "a");
  const ChatAnswer answer = session.ask("t", [](std::string_view) { return true; });
  CHECK(answer.text == "a");
  CHECK(answer.end == ChatAnswer::End::mark);
  CHECK(session.read_again() == 0);
  const std::vector<ChatMessage> messages{{"user", "s"}, {"assistant", "a"}, {"user", "t"}};
  std::vector<std::int32_t> read = format.encode_prompt(messages).ids;
  const std::vector<AnswerPrompt> prompts{{read, 5}};
  CHECK(greedy_answers(toy.model, format, prompts, 1) == std::vector<std::string>{"a"});
  read.push_back(letter);
  CHECK(std::ranges::equal(session.row(), read));
}

TEST_CASE("instructions: what an answer's last token has behind the end mark is not read twice") {
  const CacheFolder folder;
  Config config = single_step_config();
  config.tokenizer.kind = TokenizerKind::bpe, config.tokenizer.vocab = 300;
  const InstructionToy toy(config);
  const Tokenizer& tokenizer = *toy.data.tokenizer;
  // A token of two letters: the template writes the first one behind each message, and the other one before it.
  const auto is_pair = [](std::string_view token) {
    return token.size() == 2 && token[0] != token[1] &&
           std::ranges::all_of(token, [](char c) { return c > 'a' && c <= 'z'; });
  };
  std::int32_t pair = 0;
  while (!is_pair(tokenizer.token_bytes(pair))) ++pair;
  const std::string end(tokenizer.token_bytes(pair).substr(0, 1)), begin(tokenizer.token_bytes(pair).substr(1));
  const ChatFormat format(tokenizer,
                          {.chat_template = "{% for m in messages %}" + begin + "{{ m.content }}" + end +
                                            "{% endfor %}{% if add_generation_prompt %}" + begin + "{% endif %}",
                           .bos_token = "",
                           .eos_token = ""});
  REQUIRE(format.end_text() == end);
  const std::int32_t letter = tokenizer.encode("a").front();
  std::int64_t written = 0;
  const HookHandle hook = toy.model.module("head").register_forward_hook([&](const Module&, const Variable& logits) {
    const Tensor chosen = Tensor::zeros(logits.sizes(), logits.dtype());
    const std::int64_t id = written++ % 2 == 0 ? letter : pair;
    chosen.slice(1, id, id + 1).copy_from(Tensor::full({1, 1}, logits.dtype(), 1));
    return Variable::constant(*logits.tape(), chosen);
  });
  ChatSession session(toy.model, format, greedy(5));
  CHECK(answer_of(session, "s") == "a");
  CHECK(answer_of(session, "t") == "a");
  CHECK(session.read_again() == 0);
  std::string read;
  for (const char* const text : {"s", "a", "t", "a"}) read += begin + text + end;
  CHECK(tokenizer.decode_continuation(session.row()) == read + begin);
}

TEST_CASE("instructions: what cannot be trained on is refused or left out") {
  const CacheFolder folder;
  const Config config = instructions_config();
  check_refused(config, "data.within_document", "true",
                "data.within_document: expected false beside task.kind = instructions, got true");
  check_refused(config, "task.freeze", "true", "task.freeze: expected false beside task.kind = instructions, got true");
  check_refused(config, "data.corpus", "stories",
                "data.corpus: expected conversations for task.kind = instructions, got stories, which has none");
  check_refused(config, "train.batch_tokens", "100",
                "train.batch_tokens: expected 0 for task.kind = instructions, got 100");
  check_refused(bert_config(), "task.kind", "instructions",
                "task.kind: expected none for bert, which predicts no next token, got instructions");
  Config none = toy_config();
  remove_corpus(none);
  check_refused(none, "data.conversations", "a.jsonl", "data.conversations: expected task.kind beside it, got none");

  Config file = config;
  remove_corpus(file);
  const std::string lines = R"({"prompt": "a", "completion": "b"})"
                            "\n"
                            R"({"messages": [{"role": "user", "content": "c"}]})"
                            "\n";
  file.data.conversations =
      folder.write("some.jsonl", lines + R"({"prompt": ")" + std::string(200, 'a') + R"(", "completion": "b"})")
          .string();
  file.data.valid_fraction = 0;
  const InstructionToy toy(file);
  CHECK(toy.data.train.list.size() == 1);
  CHECK(toy.objective.facts().warnings ==
        std::vector<std::string>{
            "2 of 3 training conversations are left out: 1 longer than 97 tokens, 1 without an answer"});
  CHECK(toy.objective.validation().missing == "no validation conversations");
  file.model.options["context"] = std::int64_t{4};
  CHECK_THROWS_WITH_AS(
      InstructionToy{file},
      (file.data.conversations + ": no conversation is left to train on; 3 of 3 training conversations are "
                                 "left out: 2 longer than 5 tokens, 1 without an answer")
          .c_str(),
      Error);
}
