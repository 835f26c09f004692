// Plans of translation, of labels and of fine-tuning, on a machine whose speed the tests say.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/error.h"
#include "tasks/plan/rules.h"
#include "tasks/plan/sizes.h"
#include "tests/long_test.h"
#include "tests/temp_folder.h"
#include "tests/train/plan/fake_timer.h"
#include "train/config/matmul_config.h"

using namespace tapeformer;

namespace {

PlanRequest request_of(FakeMachine& machine, double minutes) {
  return {.given = {}, .given_keys = {}, .minutes = minutes, .step_seconds = machine.timer()};
}

// So many conversations with an answer of so many times a letter, as JSON lines.
std::string conversations(int count, int times, const std::string& letter = "a") {
  std::string answer;
  for (int i = 0; i < times; ++i) answer += letter;
  std::string text;
  for (int i = 0; i < count; ++i)
    text += R"({"prompt": "Question )" + std::to_string(i) + R"(?", "completion": ")" + answer + "\"}\n";
  return text;
}

// Lines of so many words.
std::string sentences(int lines, int words, const std::string& end = "\n") {
  std::string text;
  for (int i = 0; i < lines; ++i) {
    for (int k = 0; k < words; ++k) text += (k > 0 ? " sentence" : "another");
    text += end;
  }
  return text;
}

}  // namespace

TEST_CASE("plan: parallel text has byte pairs by the number of pairs, and more minutes take a larger model") {
  const TempFolder folder;
  folder.write("source", sentences(15000, 9));
  folder.write("target", sentences(15000, 9));
  std::int64_t before = 0;
  for (const double minutes : {0.3, 100.0}) {
    FakeMachine machine;
    PlanRequest request = request_of(machine, minutes);
    request.given.model.type = "transformer";
    request.given.data.source = (folder.path / "source").string();
    request.given.data.target = (folder.path / "target").string();
    const Plan plan = make_plan(request);
    const ResolvedConfig config = resolve(plan.config);
    CHECK((config.tokenizer.kind == TokenizerKind::bpe));
    CHECK(config.tokenizer.vocab == 4000);
    CHECK(config.model.options.text("tie_embeddings") == "all");
    CHECK(config.train.label_smoothing == 0.1);
    CHECK(config.train.minutes == minutes);
    CHECK(*config.context() >= 64);
    CHECK(config.eval.bleu_every % config.eval.every == 0);
    CHECK(config.eval.bleu_sentences == (minutes == 100 ? tuning::kMostBleuSentences : tuning::kFewestBleuSentences));
    CHECK((config.train.accumulate > 1) == (minutes == 100));
    CHECK(*config.model_dim() > before);
    before = *config.model_dim();
    CHECK((config.model.options.number("dropout") > 0) == (minutes == 100));
    request.given.model.options = {{"kv_heads", std::int64_t{5}}};
    request.given_keys.insert("model.kv_heads");
    CHECK(resolve(make_plan(request).config).model.options.integer("heads") % 5 == 0);
  }
}

TEST_CASE("plan: short sentences are translated by characters; keys of a translation that are given stay") {
  FakeMachine machine;
  PlanRequest request = request_of(machine, 1);
  request.given.model = {.type = "transformer", .options = {{"layers", std::int64_t{3}}}};
  request.given.data.corpus = "reverse";
  request.given.train.label_smoothing = 0.3;
  request.given.eval.bleu_every = 0;
  request.given_keys = {"model.layers", "train.label_smoothing", "eval.bleu_every"};
  const Plan plan = make_plan(request);
  const ResolvedConfig config = resolve(plan.config);
  CHECK((config.tokenizer.kind == TokenizerKind::character));
  CHECK(config.model.options.integer("layers") == 3);
  CHECK(config.train.label_smoothing == 0.3);
  CHECK(config.eval.bleu_every == 0);
  request.given.train.batch = 8;
  request.given_keys.insert("train.batch");
  CHECK_THROWS_WITH(make_plan(request),
                    "--minutes: expected train.batch_tokens, by which batches of parallel text are filled, got "
                    "train.batch = 8");
  request.given.model = {};
  request.given.model.type = "rnn_seq2seq";
  CHECK_THROWS_WITH(make_plan(request),
                    "--minutes: expected transformer as model.type of an encoder-decoder, got rnn_seq2seq");
}

TEST_CASE("plan: translations learn by Muon, with a cool-down of their own; where Adam is given, none of Muon's keys") {
  FakeMachine machine;
  PlanRequest request = request_of(machine, 1);
  request.given.model.type = "transformer";
  request.given.data.corpus = "reverse";
  const Plan plan = make_plan(request);
  const ResolvedConfig config = resolve(plan.config);
  const std::int64_t dim = *config.model_dim();
  CHECK(config.optimizer.name == "muon");
  CHECK(config.optimizer.lr == rate_for(tuning::kMuonRate, tuning::kMuonPower, dim));
  CHECK(std::get<double>(config.optimizer.options.at("adamw_lr")) ==
        rate_for(tuning::kAdamRate, tuning::kAdamPower, dim));
  CHECK(chosen(plan, "optimizer.weight_decay") == "0.01");
  CHECK(config.schedule.cooldown == tuning::kTranslationCooldown);
  for (const ResolvedConfig& measured : machine.measured) CHECK(measured.optimizer.name == "muon");

  request.given.optimizer.name = "adam";
  request.given_keys = {"optimizer.name"};
  const Plan adam = make_plan(request);
  CHECK(chosen(adam, "optimizer.weight_decay") == "");
  CHECK(chosen(adam, "optimizer.adamw_lr") == "");
  const ResolvedConfig by_adam = resolve(adam.config);
  CHECK(by_adam.optimizer.lr == rate_for(tuning::kTranslationRate, tuning::kTranslationPower, *by_adam.model_dim()));

  request.given.optimizer.name = "adamw";
  request.given.train.init_from = "another";
  const ResolvedConfig tuned = resolve(make_plan(request).config);
  CHECK(tuned.optimizer.lr == rate_for(tuning::kTunedText.adam, tuning::kTunedPower, *tuned.model_dim()));
  for (const char* key : {"model.dropout", "model.attention_dropout"}) CHECK(chosen(make_plan(request), key) == "0.0");
}

TEST_CASE("plan: weights of another run are trained by AdamW at a smaller rate, and adapters at ten times that") {
  FakeMachine machine;
  PlanRequest request = request_of(machine, 1);
  request.given.data.corpus = "stories";
  request.given.model.options = {{"dim", std::int64_t{128}}};
  request.given_keys = {"model.dim"};
  CHECK(resolve(make_plan(request).config).optimizer.name == "muon");

  request.given.train.init_from = "another";
  const ResolvedConfig tuned = resolve(make_plan(request).config);
  CHECK(tuned.optimizer.name == "adamw");
  CHECK(tuned.optimizer.lr == tuning::kTunedText.adam);
  for (const char* key : {"model.dropout", "model.attention_dropout"}) CHECK(chosen(make_plan(request), key) == "0.0");
  CHECK(std::get<double>(tuned.optimizer.options.at("beta2")) == 0.99);
  request.given.train.lora_rank = 8;
  CHECK(resolve(make_plan(request).config).optimizer.lr == tuning::kTunedText.adam * tuning::kAdapterRateFactor);

  request.given.train.lora_rank = 0;
  request.given.optimizer.name = "muon";
  request.given_keys.insert("optimizer.name");
  const ResolvedConfig by_muon = resolve(make_plan(request).config);
  CHECK(by_muon.optimizer.lr == tuning::kTunedMuonRate);
  CHECK(std::get<double>(by_muon.optimizer.options.at("adamw_lr")) == tuning::kTunedText.adam);
}

TEST_CASE("plan: weights of another run learn a text that they read often at a rate that falls with the passes" *
          long_test()) {
  FakeMachine machine;
  PlanRequest request = request_of(machine, 1);
  request.given.data.corpus = "stories";
  request.given.model.options = {{"dim", std::int64_t{128}}};
  request.given.train.init_from = "another";
  for (const bool muon : {false, true}) {
    if (muon) {
      request.given.optimizer.name = "muon";
      request.given_keys.insert("optimizer.name");
    }
    std::vector<double> rates;
    for (const double minutes : {0.01, 100.0, 1000.0}) {
      request.minutes = minutes;
      rates.push_back(resolve(make_plan(request).config).optimizer.lr);
    }
    CHECK(rates[0] == (muon ? tuning::kTunedMuonRate : tuning::kTunedText.adam));
    CHECK(rates[1] < rates[0] / 5);
    CHECK(rates[2] == doctest::Approx(rates[1] / 10).epsilon(0.05));  // they have two digits
  }
  CHECK(chosen(make_plan(request), "optimizer.lr") != chosen(make_plan(request), "optimizer.adamw_lr"));
}

TEST_CASE("plan: labels are learned from scratch by an encoder; with train.init_from only rates and times are chosen") {
  const TempFolder folder;
  folder.write("labels", sentences(300, 12, "\tlabel\n"));
  FakeMachine machine;
  PlanRequest request = request_of(machine, 1);
  request.given.task.kind = "classify";
  request.given.data.labels = (folder.path / "labels").string();
  const Plan scratch = make_plan(request);
  CHECK(chosen(scratch, "model.type") == "bert");
  CHECK(chosen(scratch, "tokenizer.kind") == "bpe");
  CHECK(resolve(scratch.config).train.minutes == 1);
  CHECK(machine.measured.size() > 1);
  const std::size_t measured = machine.measured.size();

  request.given.train.init_from = "a run";
  request.given.model.type = "bert";
  request.given.model.options = {{"layers", std::int64_t{12}}, {"dim", std::int64_t{768}}, {"heads", std::int64_t{12}}};
  const Plan tuned = make_plan(request);
  for (const PlannedKey& key : tuned.keys) {
    CAPTURE(key.key);
    CHECK((!key.key.starts_with("model.") || key.key == "model.dropout"));
    CHECK_FALSE(key.key.starts_with("tokenizer."));
  }
  CHECK(resolve(tuned.config).optimizer.lr < 1e-4);
  CHECK(resolve(scratch.config).optimizer.lr == rate_for(1e-3, 0.5, *resolve(scratch.config).model_dim()));
  CHECK(chosen(tuned, "train.minutes") == "1.0");
  CHECK(machine.measured.size() - measured <= 1 + 2 * fast_matmuls().size());  // one size, and each precision twice

  request.given.task.freeze = true;  // what learns begins at random
  CHECK(resolve(make_plan(request).config).optimizer.lr > 1e-3);
}

TEST_CASE("plan: where a line is a word, empty lines end the examples") {
  const TempFolder folder;
  for (const std::string end : {"\n", "\r\n"}) {
    std::string words;
    for (int i = 0; i < 400; ++i) words += (i % 4 == 3 ? "ball\tO" + end + end : "red\tO" + end);
    folder.write("labels", words);
    FakeMachine machine;
    PlanRequest request = request_of(machine, 1);
    request.given.task.kind = "tag";
    request.given.data.labels = (folder.path / "labels").string();
    const Plan plan = make_plan(request);
    const auto batch = std::ranges::find(plan.keys, "train.batch", &PlannedKey::key);
    REQUIRE(batch != plan.keys.end());
    CHECK(batch->reason == "100 examples");
  }
}

TEST_CASE(
    "plan: every family of models of text gets a plan for labels; the width has the reason where there are no layers") {
  const TempFolder folder;
  folder.write("labels", sentences(300, 12, "\tlabel\n"));
  for (const ModelFamily& family : model_families()) {
    if (!family.reads_text()) continue;
    CAPTURE(family.name);
    FakeMachine machine;
    PlanRequest request = request_of(machine, 1);
    request.given.model.type = family.name;
    request.given.model.type_is_given = true;
    request.given.task.kind = "classify";
    request.given.data.labels = (folder.path / "labels").string();
    const Plan plan = make_plan(request);
    CHECK(resolve(plan.config).train.minutes == 1);
    CHECK(*resolve(plan.config).model_dim() >= 64);
    const bool has_layers = std::ranges::count(family.keys, "layers", &Key::name) > 0;
    CHECK((chosen(plan, "model.layers") != "") == has_layers);
    const auto width = std::ranges::find(plan.keys, "model.dim", &PlannedKey::key);
    CHECK((width->reason == "chosen with the layers") == has_layers);
  }
}

TEST_CASE("plan: a batch of an evaluation is a micro-step, however many of them a step has") {
  const TempFolder folder;
  FakeMachine machine;
  for (const bool chats : {false, true}) {
    CAPTURE(chats);
    PlanRequest request = request_of(machine, 1);
    request.given_keys = {"train.accumulate"};
    request.given.train.accumulate = 4;
    Config::Data& data = request.given.data;
    if (chats) {
      data.conversations = folder.write("chat.jsonl", conversations(1000, 20)).string();
      data.valid_conversations = folder.write("valid.jsonl", conversations(100'000, 20)).string();
      request.given.task.kind = "instructions";
    } else {
      data.text = {folder.write("text", sentences(20'000, 9)).string()};
      request.given.eval.batches = 3;
      request.given_keys.insert("eval.batches");
    }
    const Plan plan = make_plan(request);
    const ResolvedConfig config = resolve(plan.config);
    const std::int64_t tokens = config.eval.batches * config.train.batch * *config.context();
    const auto every = std::ranges::find(plan.keys, "eval.every", &PlannedKey::key);
    CHECK(every->reason.ends_with("evaluations of " + amount(static_cast<double>(tokens)) + " tokens"));
  }
}

TEST_CASE("plan: evaluations read no more than the eval.batches that are given") {
  const TempFolder folder;
  for (const bool chats : {false, true}) {
    FakeMachine machine;
    PlanRequest request = request_of(machine, 1);
    request.given_keys = {"eval.batches"};
    request.given.eval.batches = 2;
    std::string pairs;  // a batch has as many tokens of targets as of sources
    for (int i = 0; i < 15'000; ++i) pairs += str_cat("ein satz ", i, "\tein satz ", i, "\n");
    const std::string text = chats ? conversations(3000, 20) : pairs;
    (chats ? request.given.data.conversations : request.given.data.pairs) = folder.write("data", text).string();
    (chats ? request.given.task.kind : request.given.model.type) = chats ? "instructions" : "transformer";
    const Plan plan = make_plan(request);
    const ResolvedConfig config = resolve(plan.config);
    const std::int64_t of_batch = chats ? config.train.batch * *config.context() : config.train.batch_tokens;
    const auto every = std::ranges::find(plan.keys, "eval.every", &PlannedKey::key);
    CHECK(every->reason.ends_with("evaluations of " + amount(static_cast<double>(2 * of_batch)) + " tokens"));
  }
}

TEST_CASE("plan: conversations have a context that nearly all of them fit into, and are learned like text") {
  const TempFolder folder;
  FakeMachine machine;
  PlanRequest request = request_of(machine, 1);
  request.given.task.kind = "instructions";
  const auto plan_of = [&](const std::string& text) {
    request.given.data.conversations = folder.write("chat.jsonl", text).string();
    return make_plan(request);
  };
  const Plan plan = plan_of(conversations(1000, 20));
  const ResolvedConfig config = resolve(plan.config);
  CHECK((config.tokenizer.kind == TokenizerKind::character));
  CHECK(config.context() == 64);  // "user\n", a question of 13 letters, "assistant\n", 20 letters, and marks
  CHECK(config.optimizer.name == "muon");
  CHECK(config.model.options.boolean("qk_norm"));
  CHECK(config.train.minutes == 1);
  CHECK(chosen(plan, "eval.batches") == "");
  // The plan reads a sample of long conversations, which cuts no character.
  CHECK(chosen(plan_of(conversations(550, 1001, "\xC3\xA9")), "tokenizer.kind") == "char");
  // The longest one of a hundred may be left out, and no context is longer than 1024.
  CHECK(*resolve(plan_of(conversations(1000, 20) + conversations(5, 3000)).config).context() == 64);
  CHECK(*resolve(plan_of(conversations(1000, 20) + conversations(50, 400)).config).context() == 512);
  CHECK(*resolve(plan_of(conversations(1000, 20) + conversations(50, 3000)).config).context() == 1024);
  // A long validation is scored in part.
  request.given.data.valid_conversations = folder.write("valid.jsonl", conversations(100'000, 20)).string();
  const Plan valid = plan_of(conversations(1000, 20));
  CHECK(chosen(valid, "eval.batches") != "");
  request.given_keys = {"eval.batches"};
  CHECK(chosen(plan_of(conversations(1000, 20)), "eval.batches") == "");

  request.given_keys = {};
  request.given.train.init_from = "another";
  const Plan tuned = plan_of(conversations(1000, 20));
  CHECK(resolve(tuned.config).optimizer.name == "adamw");
  for (const char* key : {"model.context", "model.dim", "tokenizer.kind"}) CHECK(chosen(tuned, key) == "");
  request.minutes = 0.01;
  const ResolvedConfig once = resolve(plan_of(conversations(1000, 20)).config);  // one pass over them
  CHECK(once.optimizer.lr == rate_for(tuning::kTunedConversations.adam, tuning::kTunedPower, *once.model_dim()));
  request.given.model.type = "rnn";
  CHECK_THROWS_WITH(make_plan(request), "--minutes: expected gpt as model.type of a model that answers, got rnn");
}

TEST_CASE("plan: generated conversations are planned by those that they are") {
  FakeMachine machine;
  PlanRequest request = request_of(machine, 1);
  request.given.task.kind = "instructions";
  request.given.data.corpus = "instructions";
  request.given.data.lines = 2000;
  const Plan plan = make_plan(request);
  CHECK(*resolve(plan.config).context() == 128);
  const auto reason = std::ranges::find(plan.keys, "model.dropout", &PlannedKey::key)->reason;
  CHECK(reason.find(" passes over the data") != std::string::npos);
}
