// What options and configurations mean that leave something out, and what is refused of them.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "cli/options/usage.h"
#include "core/text/visible_text.h"
#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

using namespace tapeformer;

TEST_CASE("options: a generated corpus implies the model that reads it, or names those among which to choose") {
  const Sandbox box;
  box.write("empty.toml", "");
  const auto info = [&](const std::string& options) {
    return box.succeed("info empty.toml --seconds 0 --json --data.lines 100 " + options);
  };
  const Outcome pairs = info("--data.corpus reverse");
  CHECK(pairs.json()["type"] == "transformer");
  CHECK(pairs.tells("model.type = transformer, since the data is parallel text\n"));
  const Outcome plain = info("--data.corpus reverse --model.type gpt");
  CHECK(plain.json()["type"] == "gpt");
  CHECK_FALSE(plain.tells("since"));
  const Outcome conversations = info("--data.corpus instructions --model.context 256");
  CHECK(conversations.json()["type"] == "gpt");
  CHECK(conversations.tells("task.kind = instructions, since the corpus instructions has conversations\n"));
  box.write("pairs.tsv", "ab\tba\nabb\tbba\nb\tb\n");
  CHECK(info("--task.kind sentences --data.corpus paraphrases").json()["type"] == "gpt");
  CHECK(json_of(box, "info empty.toml --seconds 0 --json --task.kind sentences --data.pairs pairs.tsv")["type"] ==
        "gpt");
  check_error(box, kUsage,
              "model.type: expected cnn_lstm or vit for the images of data.corpus = shapes, or transformer or "
              "rnn_seq2seq for its texts, got none",
              "train --data.corpus shapes --out new");
}

TEST_CASE("options: what is not given of a model is what the data and train.init_from imply" * long_test()) {
  const Sandbox box;
  box.write("source.txt", "ab\nba\nabb\nbba\n");
  box.write("target.txt", "ba\nab\nbba\nabb\n");
  box.write("labels.tsv", result_of(box, "corpus stories --labels --lines 60"));
  box.write("text.txt", result_of(box, "corpus stories --lines 100"));
  const auto train = [&](const std::string& options) {
    const Outcome outcome = box.succeed("train --train.steps 2 --train.batch 4 --eval.every 2 " + options);
    INFO(outcome.err);
    return outcome;
  };
  const auto has = [&](const std::string& run, const std::string& line) {
    return box.read(run + "/config.toml").find("\n" + line) != std::string::npos;
  };
  const Outcome pairs = train("--data.source source.txt --data.target target.txt --tokenizer.kind char --out pairs");
  CHECK(pairs.tells("model.type = transformer, since the data is parallel text\n"));
  CHECK(has("pairs", "type = \"transformer\""));
  check_error(box, kUsage, "model.type: gpt trains on data.text or data.corpus, got data.source",
              "train --model.type gpt --data.source source.txt --data.target target.txt --out new");

  train(
      "--model.type bert --model.dim 24 --model.heads 2 --model.layers 2 --model.context 40 --model.dropout 0.1 "
      "--tokenizer.kind word --tokenizer.sample 1 --data.text text.txt --out bert");
  const std::string shape =
      "as in " + (box / "bert").string() +
      ": model.type = bert, model.layers = 2, model.heads = 2, model.dim = 24, model.context = 40";
  const Outcome tag = train("--train.init_from bert --data.labels labels.tsv --task.kind tag --out tag");
  CHECK(tag.tells(shape));
  CHECK(tag.tells("the weights and the tokenizer are those of"));
  for (const char* line :
       {"type = \"bert\"", "dim = 24 ", "context = 40 ", "dropout = 0.0 ", "ff_dim = 96 ", "sample = 64 "}) {
    CHECK_MESSAGE(has("tag", line), line);
  }
  // A configuration that no program has written does not list what follows other keys.
  const std::string config = box.read("bert/config.toml");
  const std::size_t derived = config.find("\nderived = ");
  REQUIRE(derived != config.npos);
  box.write("bert/config.toml", config.substr(0, derived) + config.substr(config.find('\n', derived + 1)));
  const Outcome more = train("--train.init_from bert --model.heads 4 --data.text text.txt --out more");
  CHECK(more.tells("model.type = bert, model.layers = 2, model.dim = 24,"));
  CHECK(has("more", "heads = 4 "));
  CHECK(json_of(box, "info more --seconds 0 --json")["type"] == "bert");
  // A run that goes on needs neither.
  std::filesystem::remove_all(box / "bert");
  const Outcome resumed = box.run("train --resume tag --train.steps 4");
  CHECK(resumed.exit_code == 0);
  CHECK_FALSE(resumed.tells("as in"));
}

TEST_CASE("options: OMP_NUM_THREADS is followed where train.threads is not given") {
  const Sandbox box("gpt");
  const char* const before = std::getenv("OMP_NUM_THREADS");
  const std::string kept = before ? before : "";
  const auto threads = [&](const char* value, const std::string& options) -> int {
    value ? ::setenv("OMP_NUM_THREADS", value, 1) : ::unsetenv("OMP_NUM_THREADS");
    return json_of(box, "info tiny.toml --seconds 0 --json" + options)["threads"];
  };
  const int own = threads(nullptr, " --train.threads 0");
  CHECK(threads("3", " --train.threads 0") == 3);
  CHECK(threads("5,2", " --train.threads 0") == 5);  // as OpenMP reads a list: of nested loops
  CHECK(threads("3", " --train.threads 2") == 2);
  for (const char* none : {"0", "-2", "many", ""}) CHECK(threads(none, " --train.threads 0") == own);
  ::setenv("OMP_NUM_THREADS", "3", 1);
  CHECK(box.run("train tiny.toml --train.threads 0 --train.steps 1 --out run").tells("3 threads (OMP_NUM_THREADS);"));
  before ? ::setenv("OMP_NUM_THREADS", kept.c_str(), 1) : ::unsetenv("OMP_NUM_THREADS");
}

TEST_CASE("options: a value that is too long is cut where an error quotes it" * long_test()) {
  const Sandbox box;
  const std::string value(1 << 20, 'x');
  box.write("long.toml", "[train]\nmatmul = \"" + value + "\"\n");
  box.write("key.toml", "[train]\n" + value + " = 1\n");
  for (const char* words : {"train long.toml --out new", "train key.toml --out new", "info long.toml"}) {
    const Outcome outcome = box.run(words);
    CHECK(outcome.exit_code == kUsage);
    CHECK(outcome.err.size() < 2500);
    CHECK(outcome.tells(" bytes are left out) "));
  }
  CHECK(box.run("train long.toml --out new").tells("long.toml:2: train.matmul: expected "));
  CHECK(cli::shortened("short") == "short");
  std::string signs;
  for (int i = 0; i < 2000; ++i) signs += "é";  // never cut within a character
  CHECK(cli::shortened(signs).starts_with("éé"));
  CHECK(printable_text(cli::shortened(signs)).find("\\x") == std::string::npos);
}

TEST_CASE("options: numbers that are not finite or too large are refused by every option") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 1");
  const auto refused = [&](const std::string& words, const std::string& message) {
    const Outcome outcome = box.run(words);
    CAPTURE(words);
    CHECK(outcome.exit_code == kUsage);
    CHECK_MESSAGE(outcome.err.starts_with("tapeformer: " + message), outcome.err);
  };
  for (const std::string number : {"1e400", "inf", "nan"}) {
    refused("generate run --prompt a --temperature " + number,
            "--temperature: expected a finite number, got " + number);
    refused("generate run --prompt a --top-p " + number, "--top-p: ");
    refused("info tiny.toml --seconds " + number, "--seconds: ");
    refused("train tiny.toml --out new --optimizer.lr " + number, "optimizer.lr: expected ");
  }
  refused("generate run --prompt a --seed 99999999999999999999", "--seed: expected ");
  refused("generate run --prompt a --tokens 99999999999999999999", "--tokens: expected ");
}

TEST_CASE("options: keys of several families show the words and the help of each") {
  const Sandbox box;
  const std::string help = result_of(box, "train --help-all");
  const std::size_t begin = help.find("\n  --model.order ");
  const std::string order = help.substr(begin + 1, help.find('\n', begin + 1) - begin - 1);
  CHECK(order.find("the state of the decoder that attends {auto,previous,current} (rnn_seq2seq)") != order.npos);
  CHECK(order.find("n: a token is predicted from the n - 1 tokens before it (nplm)") != order.npos);
  CHECK(order.find("(default: previous for rnn_seq2seq, 5 for nplm)") != order.npos);
  CHECK(help.find("width of a layer's state (rnn, bilm, rnn_seq2seq)") != help.npos);
}
