// What plans read of the training data, in its formats.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "tasks/plan/sizes.h"
#include "tasks/plan/text_size.h"
#include "tests/data/texts.h"
#include "tests/temp_folder.h"
#include "tests/train/plan/fake_timer.h"

using namespace tapeformer;

namespace {

PlanRequest request_of(FakeMachine& machine) {
  return {.given = {}, .given_keys = {}, .minutes = 1, .step_seconds = machine.timer()};
}

std::string reason(const Plan& plan, std::string_view key) {
  const auto found = std::ranges::find(plan.keys, key, &PlannedKey::key);
  return found == plan.keys.end() ? "" : found->reason;
}

}  // namespace

TEST_CASE("plan: the size of JSON lines is that of the documents that training reads from them") {
  const TempFolder folder;
  const auto lines = [](int count, std::size_t other) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += fmt::format("{{\"text\": \"Document {:06}\", \"page\": \"{}\"}}\n", i, std::string(other, 'x'));
    return text;
  };
  const TextSize few = size_of_documents({folder.write("few.jsonl", lines(300, 5000)).string()}, TextOptions{});
  CHECK(few.bytes == 300 * 16);  // each with its end
  CHECK(few.words == 301);
  const std::string many = lines(100'000, 20);
  for (const bool packed : {false, true}) {
    CAPTURE(packed);
    const auto path = folder.write(packed ? "many.jsonl.gz" : "many.jsonl", packed ? gzip(many) : many);
    const TextSize size = size_of_documents({path.string()}, TextOptions{});
    CHECK(size.bytes == doctest::Approx(1.6e6).epsilon(packed ? 0.05 : 1e-3));
    CHECK(std::ssize(size.sample) == tuning::kSampleBytes);
  }
  const TextOptions pages{.document = DocumentEnd::none, .field = "page"};
  CHECK(size_of_documents({(folder.path / "few.jsonl").string()}, pages).bytes ==
        doctest::Approx(300 * 5001).epsilon(1e-3));
}

TEST_CASE("plan: characters that JSON lines write as escapes count as themselves") {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += "{\"text\": \"";
    for (int k = 0; k < 40; ++k) text += fmt::format("\\u{:04x}", 0x4e00 + (40 * i + k) % 2500);
    text += "\"}\n";
  }
  FakeMachine machine;
  PlanRequest request = request_of(machine);
  request.given.data.text = {folder.write("text.jsonl", text).string()};
  const Plan plan = make_plan(request);
  CHECK(chosen(plan, "tokenizer.kind") == "bpe");
  CHECK(size_of_text(request.given.data).different == 2501);  // with the end of a document
}

TEST_CASE("plan: a small text that is not valid UTF-8 has byte pairs, since no characters can be read from it") {
  const TempFolder folder;
  FakeMachine machine;
  PlanRequest request = request_of(machine);
  const auto kind = [&](const std::string& text) {
    request.given.data.text = {folder.write("text.txt", text).string()};
    return chosen(make_plan(request), "tokenizer.kind");
  };
  std::string latin1, utf8;
  for (int i = 0; i < 2000; ++i) latin1 += "Gr\xFC\xDF Gott\n", utf8 += "Grüß Gott\n";
  CHECK(kind(utf8) == "char");
  CHECK(kind(latin1) == "bpe");
  CHECK(kind(utf8 + '\xFC') == "bpe");
  request.given.data.valid = {folder.write("valid.txt", latin1).string()};
  CHECK(kind(utf8) == "bpe");
  request.given.data.valid = {};
  // A text that may be read by characters is read to its end.
  std::string whole;
  while (whole.size() + 3 * utf8.size() < tuning::kSampleBytes) whole += utf8;
  CHECK(kind(whole) == "char");
  CHECK(kind(whole + '\xFC') == "bpe");
  // The sample of a longer text ends within one of these characters.
  std::string longer(tuning::kSampleBytes - 1, 'a');
  for (int i = 0; i < 20'000; ++i) longer += "ß";
  CHECK(size_of_documents({folder.write("longer.txt", longer).string()}, TextOptions{}).is_utf8);
}

TEST_CASE("plan: examples with labels are counted in the formats in which training reads them") {
  const TempFolder folder;
  FakeMachine machine;
  PlanRequest request = request_of(machine);
  const auto plan_of = [&](const char* kind, const std::string& name, const std::string& text) {
    request.given.task.kind = kind;
    request.given.data.labels = folder.write(name, text).string();
    return make_plan(request);
  };
  const auto repeated = [](const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  const std::string lines = repeated("good,\nred ball\n\n", 10);
  const Plan csv = plan_of("classify", "labels.csv", "text,label\n" + repeated('"' + lines + "\",good\n", 200));
  CHECK(reason(csv, "train.batch") == "200 examples");
  CHECK(*resolve(csv.config).context() >= 256);

  const Plan conll = plan_of("tag", "labels.conll", repeated(repeated("ball NN B-NP O\n", 9) + "\n", 300));
  CHECK(reason(conll, "train.batch") == "300 examples");
  CHECK(chosen(conll, "model.context") == "64");

  const std::string page(10'000, 'x'), object = R"({"label": 1, "page": ")" + page + R"(", "text": "ball"})";
  const Plan json = plan_of("classify", "labels.jsonl", repeated(object + '\n', 200));
  CHECK(reason(json, "train.batch") == "200 examples");
  CHECK(reason(json, "tokenizer.vocab") == "1000 bytes of text with 4 different characters");
}

TEST_CASE("plan: a step reads no more of an example with labels than the context has room for") {
  const TempFolder folder;
  const auto plan_of = [&](const char* kind, const std::string& examples) {
    FakeMachine machine;
    PlanRequest request = request_of(machine);
    request.given.model = {
        .type = "bert",
        .options = {{"context", std::int64_t{64}}, {"layers", std::int64_t{2}}, {"dim", std::int64_t{64}}}};
    request.given.model.type_is_given = true;
    request.given.tokenizer.kind = TokenizerKind::word;
    request.given_keys = {"model.context", "model.layers", "model.dim", "tokenizer.kind"};
    request.given.task.kind = kind;
    request.given.data.labels = folder.write("labels", examples).string();
    return make_plan(request);
  };
  const auto examples = [](int words, const std::string& begin, const std::string& word) {
    std::string text;
    for (int i = 0; i < 100; ++i) {
      text += begin;
      for (int k = 0; k < words; ++k) text += word;
      text += '\n';
    }
    return text;
  };
  const Plan texts = plan_of("classify", examples(200, "good\t", "ball ")),
             longer = plan_of("classify", examples(1000, "good\t", "ball "));  // only their beginning is read
  for (const char* key : {"model.dropout", "schedule.warmup", "eval.every"})
    CHECK(reason(texts, key) == reason(longer, key));
  const Plan words = plan_of("tag", examples(62, "", "ball\tO\n")),
             twice = plan_of("tag", examples(125, "", "ball\tO\n"));  // each is two rows
  CHECK(reason(words, "schedule.warmup") == reason(twice, "schedule.warmup"));
}

TEST_CASE("plan: conversations that are longer than the context count nothing, since they are left out") {
  const TempFolder folder;
  const auto line = [](int words) {
    std::string text;
    for (int i = 0; i < words; ++i) text += "word ";
    return R"({"prompt": ")" + text + R"(", "completion": "word"})" + '\n';
  };
  const auto plan_of = [&](bool has_long) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += line(10) + (has_long ? line(100) : "");
    FakeMachine machine;
    PlanRequest request = request_of(machine);
    request.given.model.options = {
        {"context", std::int64_t{128}}, {"layers", std::int64_t{2}}, {"dim", std::int64_t{64}}};
    request.given.tokenizer.kind = TokenizerKind::character;
    request.given_keys = {"model.context", "model.layers", "model.dim", "tokenizer.kind"};
    request.given.task.kind = "instructions";
    request.given.data.conversations = folder.write("chat.jsonl", text).string();
    return make_plan(request);
  };
  for (const char* key : {"model.dropout", "eval.every"})
    CHECK(reason(plan_of(false), key) == reason(plan_of(true), key));
}

TEST_CASE("plan: labels and conversations that can be read only once are refused before the speed is measured") {
  FakeMachine machine;
  PlanRequest request = request_of(machine);
  const std::string message =
      "--minutes: expected text in files, whose size is known, got standard input, which can be read only once";
  request.given.task.kind = "instructions";
  request.given.data.conversations = "-";
  CHECK_THROWS_WITH(make_plan(request), message.c_str());
  request.given.data.conversations = "";
  request.given.task.kind = "classify";
  request.given.data.labels = "-";
  CHECK_THROWS_WITH(make_plan(request), message.c_str());
  CHECK(machine.measured.empty());
}

TEST_CASE("plan: data of a kind that the task does not read is refused as a training refuses it, and is not read") {
  const auto refusal = [](const std::string& type, const std::string& kind, std::string Config::Data::*data) {
    FakeMachine machine;
    PlanRequest request = request_of(machine);
    request.given.model.type = type;
    request.given.task.kind = kind;
    request.given.data.*data = "nothing is there";
    try {
      make_plan(request);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(refusal("gpt", "none", &Config::Data::images) ==
        "data.images: expected a model of images as model.type, got gpt");
  CHECK(refusal("gpt", "none", &Config::Data::labels) == "data.labels: expected task.kind beside it, got none");
  CHECK(refusal("transformer", "none", &Config::Data::conversations) ==
        "data.conversations: expected task.kind beside it, got none");
  CHECK(refusal("gpt", "none", &Config::Data::pairs) ==
        "model.type: gpt trains on data.text or data.corpus, got data.pairs");
  CHECK(refusal("bert", "classify", &Config::Data::conversations) ==
        "task.kind: classify trains on data.labels, got data.conversations");
  CHECK(refusal("gpt", "instructions", &Config::Data::labels) ==
        "task.kind: instructions trains on data.conversations or data.corpus, got data.labels");
}

TEST_CASE("plan: the sentences of a translation count by bytes, and those of the longer side fit into its context") {
  const TempFolder folder;
  std::string text = "another", sources, targets, pairs;
  for (int i = 0; i < 100; ++i) text += " sentence";
  for (int i = 0; i < 500; ++i) {
    sources += text + '\n';
    targets += "a sentence\n";
    pairs += text + "\ta sentence\n";
  }
  FakeMachine machine;
  PlanRequest request = request_of(machine);
  request.given.model.type = "transformer";
  Config::Data& data = request.given.data;
  data.pairs = folder.write("pairs", pairs).string();
  const std::string both = "sources have about 103 tokens, targets 4";  // with their ends
  CHECK(reason(make_plan(request), "model.context") == both);
  data.pairs = "";
  data.source = folder.write("source", sources).string();
  data.target = folder.write("target", targets).string();
  CHECK(reason(make_plan(request), "model.context") == both);
  CHECK(chosen(make_plan(request), "model.context") == "512");
  std::swap(data.source, data.target);
  CHECK(chosen(make_plan(request), "model.context") == "512");
  // Short sentences are read by characters, but a character of Chinese says as much as some letters.
  data = {};
  for (const std::string target : {"Beide Seiten", "在纸张的两面打印这份文档"}) {
    pairs.clear();
    for (int i = 0; i < 500; ++i) pairs += "Print this document on both sides\t" + target + '\n';
    data.pairs = folder.write("pairs", pairs).string();
    CHECK(chosen(make_plan(request), "tokenizer.kind") == (target.starts_with('B') ? "char" : "bpe"));
  }
}

TEST_CASE("plan: a translation counts the tokens of targets, of which a batch of longer sources has few") {
  const TempFolder folder;
  std::string of_long, of_short;
  for (int i = 0; i < 500; ++i) of_long += std::string(100, 'a') + '\n', of_short += "ab\n";
  FakeMachine machine;
  PlanRequest request = request_of(machine);
  request.given.model = {.type = "transformer", .options = {{"layers", std::int64_t{2}}, {"dim", std::int64_t{64}}}};
  request.given.tokenizer.kind = TokenizerKind::character;
  request.given_keys = {"model.layers", "model.dim", "tokenizer.kind"};
  Config::Data& data = request.given.data;
  data.source = folder.write("long", of_long).string();
  data.target = folder.write("short", of_short).string();
  const auto passes = [&] {
    const std::string text = reason(make_plan(request), "model.dropout");
    const std::size_t at = text.find(" tokens are about ");
    REQUIRE(at != text.npos);
    return text.substr(at);
  };
  const std::string of_long_sources = passes();
  std::swap(data.source, data.target);
  CHECK(of_long_sources == passes());  // a step has as many pairs of either
}

TEST_CASE("plan: a tokenizer counts the tokens that it learns, of which tokenizer.vocab is only the most") {
  const TempFolder folder;
  std::string lines;
  for (int i = 0; i < 500; ++i) lines += "one two three\tvier fuenf sechs\n";
  for (const bool pairs : {false, true}) {
    CAPTURE(pairs);
    FakeMachine machine;
    PlanRequest request = request_of(machine);
    if (pairs) {
      request.given.model.type = "transformer";
      request.given.data.pairs = folder.write("pairs", lines).string();
    } else {
      request.given.data.corpus = "stories";
    }
    request.given.tokenizer.kind = TokenizerKind::word;
    request.given.tokenizer.vocab = 4096;
    request.given_keys = {"tokenizer.kind", "tokenizer.vocab"};
    const Plan plan = make_plan(request);
    CHECK(resolve(plan.config).tokenizer.vocab == 4096);
    for (const ResolvedConfig& measured : machine.measured) CHECK(measured.tokenizer.vocab < 1000);
    if (!pairs) CHECK(reason(plan, "optimizer.adamw_lr").ends_with(" of that for a small vocabulary"));
  }
}

TEST_CASE("plan: the reason for a batch tells the steps that the training has") {
  CHECK(steps_reason(6e6, 2048) == "6 million tokens in about 2930 steps");
  CHECK(steps_reason(2.2e5, 2048) == "220 thousand tokens in about 107 steps, which have at least 2048 tokens each");
  CHECK(steps_reason(1e9, 32768) ==
        "1 billion tokens in about 31 thousand steps, which have at most 32768 tokens each");
  FakeMachine machine{.flops = 1e8};
  PlanRequest request = request_of(machine);
  request.given.data.corpus = "stories";
  CHECK(reason(make_plan(request), "train.batch").ends_with(" steps, which have at least 2048 tokens each"));
}

TEST_CASE("plan: reasons tell how often a short training is evaluated, and the limits that decide") {
  const TempFolder folder;
  std::string lines;
  for (int i = 0; i < 500; ++i) lines += "one two three\tvier fuenf sechs\n";
  const std::string file = folder.write("pairs", lines).string();
  const auto plan_of = [&](double flops, double minutes) {
    FakeMachine machine{.flops = flops};
    PlanRequest request = request_of(machine);
    request.minutes = minutes;
    request.given.model.type = "transformer";
    request.given.data.pairs = file;
    request.given.tokenizer.kind = TokenizerKind::word;
    request.given_keys = {"tokenizer.kind"};
    return make_plan(request);
  };
  const auto number_of = [](const std::string& text) {  // "about 37 …"
    const std::size_t at = text.find("about ") + 6;
    return text.substr(at, text.find(' ', at) - at);
  };
  const Plan slow = plan_of(1e9, 1);
  REQUIRE(chosen(slow, "eval.every") == "1");
  CHECK(number_of(reason(slow, "eval.every")) == number_of(reason(slow, "schedule.warmup")));
  CHECK(reason(slow, "schedule.warmup").ends_with(" steps, at least 10"));
  CHECK(chosen(slow, "eval.bleu_sentences") == "100");
  CHECK(reason(slow, "eval.bleu_sentences") == "100 for each minute");
  CHECK(reason(plan_of(1e9, 0.3), "eval.bleu_sentences") == "100 for each minute, at least 50");
  const Plan fast = plan_of(1e15, 20);
  CHECK(chosen(fast, "schedule.warmup") == "1000");
  CHECK(reason(fast, "schedule.warmup").ends_with(" steps, at most 1000"));
  CHECK(reason(fast, "eval.bleu_sentences") == "100 for each minute, at most 1000");
}
