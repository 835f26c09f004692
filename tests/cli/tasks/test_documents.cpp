// data.within_document, from the configuration to what the commands print.
#include <doctest/doctest.h>

#include <random>

#include "tests/cli/training/resume_support.h"
#include "tests/long_test.h"

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kDocuments = "--data.document line --data.within_document true ";

// Lines of five letters.
void write_lines(const Sandbox& box) {
  std::mt19937 random(4);
  std::string text;
  for (int line = 0; line < 300; ++line) {
    for (int i = 0; i < 5; ++i) text += static_cast<char>('a' + random() % 4);
    text += '\n';
  }
  box.write("text.txt", text);
}

std::vector<double> nats_of(const Json& tokens) {
  std::vector<double> nats;
  for (const Json& token : tokens) nats.push_back(token["nats"].is_null() ? -1 : token["nats"].get<double>());
  return nats;
}

}  // namespace

TEST_CASE("documents: a run killed and resumed ends with the same bytes" * long_test()) {
  const Sandbox box("gpt");
  write_lines(box);
  const std::string options = std::string(kDocuments) + "--train.steps 40";
  box.train("straight", options);
  CHECK(box.read("straight/config.toml").find("\nwithin_document = true") != std::string::npos);
  std::mt19937 random(5);
  check_kills(box, "straight", 3, options, [&](Process& process, const std::string& run, int) {
    const std::size_t lines = lines_of(box, run) + 3 + random() % 9;
    wait_until(process, [&] { return lines_of(box, run) >= lines; });
  });
  box.train("across", "--data.document line --train.steps 40");
  const std::string model = "/checkpoints/step-000040/model.safetensors";
  CHECK_FALSE(box.read("across" + model) == box.read("straight" + model));
}

TEST_CASE("documents: eval and surprisal cut a text as the training did, and score each document by itself") {
  const Sandbox box("gpt");
  write_lines(box);
  box.train("run", std::string(kDocuments) + "--train.steps 20");
  box.write("lines.txt", "abcda\nddbac\nddbac\nabbba\nddbac\n");
  box.write("lines.jsonl",
            "{\"text\": \"abcda\"}\n{\"text\": \"ddbac\"}\n{\"text\": \"ddbac\"}\n{\"text\": \"abbba\"}\n"
            "{\"text\": \"ddbac\"}\n");

  const Json lines = json_of(box, "eval run --text lines.txt --json");
  CHECK(lines["tokens"] == 5 * 6 - 1);  // the ends of documents too
  CHECK(lines["bytes"] == 5 * 5);
  CHECK(json_of(box, "eval run --text lines.jsonl --json") == lines);

  const Json surprisal = json_of(box, "surprisal run --text lines.txt --json");
  const std::vector<double> nats = nats_of(surprisal["tokens"]);
  REQUIRE(nats.size() == 30);
  CHECK(surprisal["tokens"][5]["token"] == "<|endoftext|>");
  CHECK(surprisal["tokens"][0]["nats"].is_null());
  for (int i = 0; i < 6; ++i) {
    CAPTURE(i);
    // Windows of 16 tokens, 8 apart, begin in the middle of other documents, and see all of these.
    CHECK(nats[12 + i] == doctest::Approx(nats[6 + i]).epsilon(1e-4));
    CHECK(nats[24 + i] == doctest::Approx(nats[6 + i]).epsilon(1e-4));
  }
  CHECK_FALSE(nats[18 + 2] == doctest::Approx(nats[6 + 2]).epsilon(1e-4));

  // A prompt begins a document: its first token is predicted from <|endoftext|>, as that of every other.
  const Json prompt = json_of(box, "surprisal run --prompt ddbac --json");
  REQUIRE(prompt["tokens"].size() == 6);
  CHECK(prompt["tokens"][0]["token"] == "<|endoftext|>");
  for (int i = 1; i < 6; ++i) CHECK(nats_of(prompt["tokens"])[i] == doctest::Approx(nats[5 + i]).epsilon(1e-4));
  CHECK(result_of(box, "generate run --prompt dd --tokens 3").starts_with("dd"));

  // A run that looks across documents reads a text as its training did, too.
  box.train("across", "--data.document line --data.text lines.txt,text.txt --train.steps 4");
  const Json across = json_of(box, "eval across --text lines.txt --json");
  CHECK(across["tokens"] == 5 * 6 - 1);
  CHECK(across["bytes"] == 5 * 5);
  CHECK(result_of(box, "generate run --prompt ab --tokens 20").starts_with("ab"));
}

TEST_CASE("documents: a text with them, scored by a model that has read none, is told") {
  const Sandbox box("gpt");
  box.write("some.jsonl", "{\"text\": \"abcda\"}\n{\"text\": \"ddbac\"}\n");
  box.write("none.txt", "abcdaddbac\n");
  box.train("run", "--train.steps 2 --tokenizer.kind bpe --tokenizer.vocab 260");
  CHECK(box.run("eval run --text some.jsonl -q").err ==
        "warning: the text has documents, and that of the training had none: the model has not learned the token "
        "<|endoftext|>, which this text has 2 times\n");
  CHECK(box.run("eval run --text none.txt -q").err == "");
  box.train("lines", "--train.steps 2 --tokenizer.kind bpe --tokenizer.vocab 260 --data.document line");
  CHECK(box.run("eval lines --text some.jsonl -q").err == "");
}

TEST_CASE("documents: asked for where there are none, in one line") {
  const Sandbox box("gpt");
  const std::string none =
      "data.within_document: expected documents (data.document other than none, or JSON lines), got none";
  check_error(box, kUsage, none, "train tiny.toml --out new --data.within_document true");
  box.train("run", "--train.steps 2");
  const std::string fixed = ": it says what the model, its tokens or its task are, which cannot change on resume";
  check_error(box, kUsage, "data.within_document: the run has false, got true" + fixed,
              "train --resume run --data.within_document true");
  check_error(box, kUsage, "data.within_document: expected a tokenizer with the token <|endoftext|>, got one without",
              std::string("train tiny.toml --out new --tokenizer.file run/tokenizer.json ") + kDocuments);
  check_error(box, kUsage, "data.document: the run has none, got line" + fixed,
              std::string("train --resume run ") + kDocuments);
  check_error(box, kUsage, "data.within_document: expected true or false, got \"yes\"",
              "train tiny.toml --out new --data.within_document yes");
  box.prepare_toy("transformer");
  check_error(box, kUsage, "data.document: expected none beside model.type = transformer, got line",
              std::string("train tiny.toml --out new ") + kDocuments);
}

TEST_CASE("documents: info leaves attention out of what a step costs, since documents do not say how long they are") {
  const Sandbox box("gpt");
  write_lines(box);
  box.train("within", std::string(kDocuments) + "--train.steps 1");
  box.train("across", "--data.document line --train.steps 1");
  const Json within = json_of(box, "info within --seconds 0 --json"),
             across = json_of(box, "info across --seconds 0 --json");
  CHECK(across["flops_per_token"].get<double>() - within["flops_per_token"].get<double>() == 6 * 2 * 32 * 16);
  CHECK(across["parameters"] == within["parameters"]);
}
