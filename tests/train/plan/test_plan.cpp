// Plans of language models, on a machine whose speed the tests say.
#include <doctest/doctest.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/text/utf8.h"
#include "tasks/plan/rules.h"
#include "tasks/plan/text_size.h"
#include "tests/data/texts.h"
#include "tests/long_test.h"
#include "tests/temp_folder.h"
#include "tests/train/plan/fake_timer.h"
#include "train/config/matmul_config.h"

using namespace tapeformer;

namespace {

PlanRequest stories(FakeMachine& machine, double minutes, std::int64_t lines = 20000) {
  PlanRequest request{
      .given = {}, .given_keys = {"data.corpus", "data.lines"}, .minutes = minutes, .step_seconds = machine.timer()};
  request.given.data.corpus = "stories";
  request.given.data.lines = lines;
  return request;
}

// A training of a minute on data that is yet to be named.
PlanRequest without_data(FakeMachine& machine) {
  return {.given = {}, .given_keys = {}, .minutes = 1, .step_seconds = machine.timer()};
}

// A share of the rate that plans choose for AdamW at the model's width.
double adam_rate(const ResolvedConfig& config, double share) {
  return rate_for(share * tuning::kAdamRate, tuning::kAdamPower, *config.model_dim());
}

}  // namespace

TEST_CASE("plan: a machine that is faster, or more minutes, take a larger model, and the plan is a configuration") {
  std::int64_t before = 0;
  for (const double minutes : {0.1, 10.0, 100.0}) {
    FakeMachine machine;
    const Plan plan = make_plan(stories(machine, minutes));
    const ResolvedConfig config = resolve(plan.config);
    CHECK(config.train.minutes == minutes);
    CHECK((config.schedule.kind == ScheduleKind::wsd));
    CHECK(config.tokenizer.vocab > 257);
    CHECK(*config.model_dim() > before);
    before = *config.model_dim();
    for (const PlannedKey& key : plan.keys) {
      CAPTURE(key.key);
      CHECK_FALSE(key.reason.empty());
      const std::string found = chosen(plan, key.key);
      CHECK(found == key.value);  // each key once
    }
  }
  FakeMachine fast{.flops = 2e13};
  CHECK(*resolve(make_plan(stories(fast, 0.1)).config).model_dim() == before);
}

TEST_CASE("plan: the size is the same if the machine was busy while one was measured") {
  FakeMachine quiet;
  const std::int64_t dim = *resolve(make_plan(stories(quiet, 10)).config).model_dim();
  int first = 0;  // the first measurement of the size that is too large
  while (*quiet.measured[first].model_dim() <= dim) ++first;
  CHECK(first > 1);
  for (int busy = 0; busy <= first; ++busy) {
    CAPTURE(busy);
    FakeMachine machine{.busy = busy};
    CHECK(*resolve(make_plan(stories(machine, 10)).config).model_dim() == dim);
  }
}

TEST_CASE("plan: sizes are measured from small to large until the predicted loss rises, or the time is over") {
  FakeMachine machine;
  const Plan plan = make_plan(stories(machine, 1));
  std::int64_t parameters = 0, sizes = 0;
  for (const ResolvedConfig& config : machine.measured) {
    const std::int64_t size = config.model.options.integer("layers") * *config.model_dim();
    if (size <= parameters) break;
    parameters = size;
    ++sizes;
  }
  CHECK(sizes < std::ssize(tuning::kGptSizes));
  const ResolvedConfig& last = machine.measured[sizes - 1];
  CHECK(*last.model_dim() > *resolve(plan.config).model_dim());
  FakeMachine slow;
  slow.most = 2;
  CHECK(chosen(make_plan(stories(slow, 1000)), "model.dim") == std::to_string(tuning::kGptSizes[1].dim));
  slow = {.most = 0};
  CHECK_THROWS_WITH(make_plan(stories(slow, 1)), "--minutes: there was no time to measure a step");
}

TEST_CASE("plan: the activations of a micro-step fit into the memory, and a step has its tokens all the same") {
  FakeMachine machine{.flops = 1e15};
  const ResolvedConfig config = resolve(make_plan(stories(machine, 10000)).config);
  const std::int64_t context = *config.context(), tokens = config.train.batch * context;
  CHECK(tokens * config.train.accumulate == tuning::kMostStepTokens);
  CHECK(config.train.accumulate == micro_steps_for(tuning::kMostStepTokens, context,
                                                   config.model.options.integer("layers"), *config.model_dim(),
                                                   machine_memory_bytes()));
}

TEST_CASE("plan: keys that are given stay, and the others follow them") {
  FakeMachine machine;
  PlanRequest request = stories(machine, 1);
  Config& given = request.given;
  given.model.options = {{"dim", std::int64_t{100}}, {"dropout", 0.3}, {"activation", std::string("gelu")}};
  given.optimizer.name = "adamw";
  given.optimizer.lr = 0.5;
  given.train.batch = 3;
  given.eval.every = 11;
  request.given_keys.insert({"model.dim", "model.dropout", "model.activation", "optimizer.name", "optimizer.lr",
                             "train.batch", "eval.every"});
  const Plan plan = make_plan(request);
  const ResolvedConfig config = resolve(plan.config);
  CHECK(config.model.options.number("dropout") == 0.3);
  CHECK(config.model.options.text("activation") == "gelu");
  CHECK(config.model.options.integer("heads") == 2);
  CHECK(config.optimizer.name == "adamw");
  CHECK(config.optimizer.lr == 0.5);
  CHECK(config.train.batch == 3);
  CHECK(config.eval.every == 11);
  CHECK(config.checkpoint.every == 11);
  for (const std::string& key : request.given_keys) CHECK(chosen(plan, key) == "");
  CHECK(chosen(plan, "optimizer.adamw_lr") == "");
  for (const ResolvedConfig& measured : machine.measured) CHECK(*measured.model_dim() == 100);

  request.given.model.options = {{"heads", std::int64_t{5}}, {"feed_forward", std::string("none")}};
  request.given_keys = {"data.corpus", "model.heads", "model.feed_forward"};
  const Plan bare = make_plan(request);
  CHECK(*resolve(bare.config).model_dim() % 10 == 0);
  CHECK(chosen(bare, "model.activation") == "");
}

TEST_CASE("plan: linear attention, if it is given, has positions that it can have") {
  FakeMachine machine;
  PlanRequest request = stories(machine, 1);
  CHECK(chosen(make_plan(request), "model.position") == "rotary");
  request.given.model.options = {{"attention_kind", std::string("linear")}};
  request.given_keys = {"data.corpus", "model.attention_kind"};
  const Plan plan = make_plan(request);
  CHECK(chosen(plan, "model.position") == "sinusoidal");
  CHECK_NOTHROW(resolve(plan.config));
}

TEST_CASE("plan: small texts are read by characters, others by byte pairs; many passes bring dropout") {
  FakeMachine machine;
  const Plan small = make_plan(stories(machine, 30, 1000));
  CHECK(chosen(small, "tokenizer.kind") == "char");
  CHECK(chosen(small, "tokenizer.vocab") == "");
  CHECK(chosen(small, "model.dropout") != "0.0");
  const Plan large = make_plan(stories(machine, 0.1, 1'000'000));
  CHECK(chosen(large, "tokenizer.kind") == "bpe");
  CHECK(chosen(large, "tokenizer.vocab") == "1024");  // stories have few different words
  CHECK(chosen(large, "model.dropout") == "0.0");
  // Beside Muon the vocabulary decides on AdamW's rate too; without Muon it does not.
  const ResolvedConfig of_small = resolve(small.config);
  CHECK(std::get<double>(of_small.optimizer.options.at("adamw_lr")) == adam_rate(of_small, tuning::kLeastRateShare));
  PlanRequest by_adamw = stories(machine, 30, 1000);
  by_adamw.given.optimizer.name = "adamw";
  by_adamw.given_keys.insert("optimizer.name");
  const ResolvedConfig of_adamw = resolve(make_plan(by_adamw).config);
  CHECK(of_adamw.optimizer.lr == adam_rate(of_adamw, 1));
  // The validation text of a large text would take more than its share of the time.
  CHECK(resolve(large.config).data.valid_fraction < 0.1);
  CHECK(chosen(small, "data.valid_fraction") == "");
}

TEST_CASE("plan: the characters of a text without spaces count as words do") {
  const TempFolder folder;
  FakeMachine machine;
  PlanRequest request = without_data(machine);
  const auto vocab = [&](int different, std::size_t bytes = 1'500'000) {
    std::string line;
    for (int i = 0; line.size() < bytes; ++i) {
      append_utf8(line, i % 20 == 19 ? 0x3002 : 0x4e00 + (i / 7 * 31 + i) % different);
    }
    request.given.data.text = {folder.write("text.txt", line).string()};
    return chosen(make_plan(request), "tokenizer.vocab");
  };
  CHECK(vocab(2500) == "4096");
  CHECK(vocab(2500, 1'000'000) == "2048");
  CHECK(vocab(2500, 200'000) == "512");
  CHECK(vocab(700) == "2048");
  CHECK(vocab(50) == "512");
}

TEST_CASE("plan: where the text has documents, as generated corpora have, no token looks at another document") {
  const TempFolder folder;
  FakeMachine machine;
  PlanRequest request = stories(machine, 1);
  CHECK(chosen(make_plan(request), "data.document") == "line");
  CHECK(chosen(make_plan(request), "data.within_document") == "true");
  request.given_keys.insert("data.document");
  CHECK(chosen(make_plan(request), "data.within_document") == "");

  request.given_keys = {"data.text"};
  request.given.data.corpus = "";
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "{\"text\": \"One of many short documents.\"}\n";
  for (const char* name : {"plain.txt", "documents.jsonl"}) {
    folder.write(name, lines);
    request.given.data.text = {(folder.path / name).string()};
    const bool documents = request.given.data.text.front().ends_with(".jsonl");
    const Plan plan = make_plan(request);
    CHECK(chosen(plan, "data.document") == "");
    CHECK(chosen(plan, "data.within_document") == (documents ? "true" : ""));
  }
  request.given.data.text = {(folder.path / "plain.txt").string()};
  request.given.data.document = DocumentEnd::line;
  CHECK(chosen(make_plan(request), "data.within_document") == "true");
  // The tokenizer of other weights may lack the token between documents.
  request.given.train.init_from = "another";
  CHECK(chosen(make_plan(request), "data.within_document") == "");
}

TEST_CASE("plan: sizes of files are told without reading them, compressed ones by their beginning") {
  const TempFolder folder;
  std::string text;
  for (int line = 0; text.size() < 4'000'000; ++line)
    text += "A line of some text, whose number is " + std::to_string(line) + ".\n";
  folder.write("large.txt", text);
  FakeMachine machine;
  PlanRequest request = without_data(machine);
  request.given.data.text = {(folder.path / "large.txt").string()};
  CHECK(chosen(make_plan(request), "tokenizer.vocab") == "4096");
  folder.write("large.txt.gz", gzip(text));
  request.given.data.text = {(folder.path / "large.txt.gz").string()};
  CHECK(chosen(make_plan(request), "tokenizer.vocab") == "4096");
  // The plan reads the beginning of a long validation text.
  request.given.data.valid = {(folder.path / "large.txt").string()};
  CHECK(chosen(make_plan(request), "data.valid_fraction") == "");
  CHECK(chosen(make_plan(request), "data.valid_bytes").size() == 6);  // some hundred thousand
  request.given_keys = {"eval.batches"};
  CHECK(chosen(make_plan(request), "data.valid_bytes") == "");
  request.given.data.valid = {};
  request.given.data.text = {"-"};
  CHECK_THROWS_WITH(make_plan(request),
                    "--minutes: expected text in files, whose size is known, got standard input, "
                    "which can be read only once");
  // So many tokens would need more different words.
  std::string lines;
  while (lines.size() < 2'000'000) lines += "always the same\n";
  folder.write("same.txt", lines);
  request.given.data.text = {(folder.path / "same.txt").string()};
  const Plan same = make_plan(request);
  CHECK(chosen(same, "tokenizer.kind") == "bpe");
  CHECK(chosen(same, "tokenizer.vocab") == "512");
  folder.write("short.txt", "A short text.");
  request.given.data.text = {(folder.path / "short.txt").string()};
  CHECK_THROWS_WITH(
      make_plan(request),
      "--minutes: expected at least 512 tokens of text, got about 11, of 13 bytes of text with 10 different "
      "characters");
}

TEST_CASE("plan: the tokens of a text are those that its own byte pairs make of it") {
  const TempFolder folder;
  FakeMachine machine;
  PlanRequest request = without_data(machine);
  const auto use = [&](const std::string& text) {
    request.given.data.text = {folder.write("text.txt", text).string()};
    return size_of_files(request.given.data.text);
  };
  const auto repeat = [](const std::string& line) {
    std::string text;
    while (text.size() < 1'300'000) text += line;
    return text;
  };
  // Tokens of such texts grow until the whole text is a few of them.
  for (const char* line : {"a", "\n", "あ"}) {
    CAPTURE(line);
    use(repeat(line));
    CHECK_THROWS_WITH(make_plan(request), doctest::Contains("--minutes: expected at least 512 tokens of text, got "));
    CHECK_THROWS_WITH(make_plan(request),
                      doctest::Contains(", of 1.3 million bytes of text with 1 different characters"));
  }
  const Config::Tokenizer pairs{.kind = TokenizerKind::bpe, .vocab = 512, .file = {}, .target_file = {}};
  CHECK(token_size(pairs, use(repeat("The same line once more.\n"))).bytes == doctest::Approx(25.0 / 7).epsilon(1e-4));
  CHECK_NOTHROW(make_plan(request));
  std::string noise;
  RandomStream random({.seed = 1});
  for (int i = 0; i < 1'300'000; ++i) noise += static_cast<char>(random.below(256));
  CHECK(token_size(pairs, use(noise)).bytes < 1.1);
  const ResolvedConfig of_noise = resolve(make_plan(request).config);  // it has as many byte pairs as one likes
  CHECK(std::get<double>(of_noise.optimizer.options.at("adamw_lr")) == adam_rate(of_noise, 1));
  const Config::Tokenizer words{.kind = TokenizerKind::word, .vocab = 512, .file = {}, .target_file = {}};
  CHECK(token_size(words, use(repeat("The same line once more.\n"))).bytes == doctest::Approx(25.0 / 7).epsilon(1e-4));
}

TEST_CASE("plan: products in 8 bits or bf16 where the CPU has them, unless more exact ones are clearly faster") {
  const MatmulSetting usual = fast_matmuls().front();
  if (usual == MatmulSetting::highest) return;
  for (const double f32 : {0.5, 0.99, 2.0}) {
    FakeMachine machine{.f32 = f32};
    CHECK(chosen(make_plan(stories(machine, 1)), "train.matmul") == (f32 == 0.5 ? "highest" : word_of(usual)));
    CHECK((machine.measured.front().train.matmul == usual));  // sizes are compared in what is faster
  }
  FakeMachine machine{.bf16 = 0.9};
  const Plan plan = make_plan(stories(machine, 1));
  CHECK(chosen(plan, "train.matmul") == "medium");
  PlanRequest request = stories(machine, 1);
  request.given.train.matmul = MatmulSetting::low;
  request.given_keys.insert("train.matmul");
  CHECK(resolve(make_plan(request).config).train.matmul == MatmulSetting::low);
}

TEST_CASE("plan: the precision of products is the same if the machine was busy while one was measured" * long_test()) {
  FakeMachine quiet{.f32 = 2, .bf16 = 1.2};
  const std::string precision = chosen(make_plan(stories(quiet, 1)), "train.matmul");
  CHECK(precision == word_of(fast_matmuls().front()));
  for (int busy = 0; busy < std::ssize(quiet.measured); ++busy) {
    CAPTURE(busy);
    FakeMachine machine{.f32 = 2, .bf16 = 1.2, .busy = busy};
    CHECK(chosen(make_plan(stories(machine, 1)), "train.matmul") == precision);
  }
  const int sizes = static_cast<int>(std::ssize(quiet.measured)) - 2 * static_cast<int>(fast_matmuls().size());
  FakeMachine hurried{.most = sizes + 1, .f32 = 2, .bf16 = 1.2};  // no time for all of them, or for all a second time
  CHECK(chosen(make_plan(stories(hurried, 1)), "train.matmul") == precision);
}

TEST_CASE("plan: steps and evaluations are whole rounds of local steps") {
  FakeMachine machine;
  PlanRequest request = stories(machine, 1);
  request.given.train.sync_every = 7;
  request.given_keys.insert("train.sync_every");
  const ResolvedConfig config = resolve(make_plan(request).config);
  CHECK(config.train.steps > 900'000'000);
  CHECK(config.train.steps % 7 == 0);
  CHECK(config.eval.every % 7 == 0);
}

TEST_CASE("plan: what has no plan is refused in a line that names what has one") {
  FakeMachine machine;
  PlanRequest request = stories(machine, 1);
  request.given.model.type = "bert";
  CHECK_THROWS_WITH(make_plan(request),
                    "--minutes: no plan is made for masked_language_model, whose best sizes and rates nobody has "
                    "measured; there are plans for language_model, translation, tag, classify, span, instructions");
  request.given.model.type = "rnn";
  CHECK_THROWS_WITH(make_plan(request), "--minutes: expected gpt as model.type of a language model, got rnn");
  request = stories(machine, 1);
  request.given.data = {};
  CHECK_THROWS_WITH(make_plan(request), doctest::Contains("data: expected one of data.text"));
}
