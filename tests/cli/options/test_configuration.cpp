// What the command makes of configurations: without a file, with data of another kind, and when a run is resumed.
#include <doctest/doctest.h>

#include "tests/cli/sandbox.h"
#include "tests/long_test.h"
#include "train/config/config.h"

using namespace tapeformer;

namespace {

double last_rate(const Sandbox& box, const std::string& run) {
  double rate = -1;
  for (const auto& line : box.metrics(run)) {
    if (line.contains("lr")) rate = line["lr"];
  }
  return rate;
}

}  // namespace

TEST_CASE("configuration: no command at all prints the three that a newcomer needs") {
  const Sandbox box;
  const Outcome outcome = box.run("");
  CHECK(outcome.exit_code == kUsage);
  CHECK(outcome.out == "");
  CHECK(outcome.err.starts_with("tapeformer: expected a command (tapeformer --help lists all)"));
  for (const char* text : {"train --data.text my.txt --out RUN", "generate RUN --prompt", "eval RUN --text"}) {
    CHECK(outcome.tells(text));
  }
}

TEST_CASE("configuration: the short help has the keys that most users need, --help-all has every key") {
  const Sandbox box;
  const std::string brief = result_of(box, "train --help"), whole = result_of(box, "train --help-all");
  const auto keys_in = [](const std::string& help) {
    std::size_t count = 0;
    for (const ConfigKey& key : config_keys()) {
      const std::string name = "\n  --" + key.name;  // a line of its own, if it is long
      count += help.find(name + " ") != help.npos || help.find(name + "\n") != help.npos ? 1 : 0;
    }
    return count;
  };
  CHECK(keys_in(whole) == config_keys().size());
  CHECK(keys_in(brief) >= 12);
  CHECK(keys_in(brief) < 25);
  for (const char* option : {"--model.layers ", "--train.steps ", "--data.text ", "--out ", "--resume ", "--quiet "})
    CHECK_MESSAGE(brief.find(option) != brief.npos, option);
  CHECK(brief.ends_with("\n--help-all lists all " + std::to_string(config_keys().size()) +
                        " keys of a configuration.\n"));
  for (const std::string& help : {brief, whole}) CHECK(help.find("\n\n\n\n") == help.npos);  // no section is empty
  CHECK(result_of(box, "info --help-all").find("\n  --model.layers ") != std::string::npos);
}

TEST_CASE("configuration: train needs no file") {
  const Sandbox box("gpt");
  const Outcome outcome = box.succeed(
      "train --data.text text.txt --out run --train.steps 2 --model.layers 1 --model.context 32 --tokenizer.vocab 300");
  INFO(outcome.err);
  CHECK(box.read("run/config.toml").find("\nstride = 32 ") != std::string::npos);
  CHECK(box.run("generate run --prompt Once --tokens 3").exit_code == 0);
  check_error(box, kUsage,
              "data: expected one of data.text, data.source and data.target, data.pairs, data.labels, data.images, "
              "data.conversations, "
              "data.corpus; got none",
              "train --out new");
}

TEST_CASE("configuration: data of the command line replaces the file's, and it says so") {
  const Sandbox box("transformer");
  const std::string file = PROJECT_ROOT "/configs/reverse.toml", small = " --model.dim 16 --train.steps 2";
  const Outcome outcome =
      box.succeed("train " + file + " --data.pairs pairs.tsv --data.valid_fraction 0.1 --out run" + small);
  INFO(outcome.err);
  CHECK(outcome.tells("data.pairs replaces data.corpus = reverse\n"));
  const std::string config = box.read("run/config.toml");
  CHECK(config.find("\ncorpus = \"\" ") != config.npos);
  CHECK(config.find("/pairs.tsv\"") != config.npos);

  box.write("text.txt", "some text\n");
  check_error(box, kUsage,
              "model.type: transformer trains on data.source and data.target, data.pairs or data.corpus, got data.text",
              "info " + file + " --data.text text.txt");
}

TEST_CASE("configuration: a run goes on with more steps at the rates of a longer schedule") {
  const Sandbox box("gpt");
  for (const std::string kind : {"cosine", "linear", "wsd"}) {
    CAPTURE(kind);
    const std::string options = "--schedule.total 0 --schedule.kind " + kind;
    box.train(kind, options + " --train.steps 10");
    CHECK(last_rate(box, kind) == 0);
    const std::string before = box.read(kind + "/checkpoints/step-000010/model.safetensors");
    const Outcome outcome = box.succeed("train --resume " + kind + " --train.steps 15 --model.dropout 0.2");
    INFO(outcome.err);
    CHECK(outcome.tells("train.steps is now 15\n"));
    CHECK(outcome.tells("schedule.total is now 15 (follows train.steps)\n"));
    CHECK(outcome.tells("model.attention_dropout is now 0.2 (follows model.dropout)\n"));
    CHECK_FALSE(box.read(kind + "/checkpoints/latest") == "step-000010\n");
    const auto lines = box.metrics(kind);
    double rate_of_12 = 0;
    for (const auto& line : lines) {
      if (line["step"] == 12 && line.contains("lr")) rate_of_12 = line["lr"];
    }
    CHECK(rate_of_12 > 0);
  }
  // A total that was given stays.
  box.train("given", "--schedule.kind cosine --schedule.total 10 --train.steps 10");
  const Outcome outcome = box.run("train --resume given --train.steps 12");
  CHECK_FALSE(outcome.tells("schedule.total is now"));
  CHECK(
      outcome.tells("warning: the learning rate is 0 after step 10, so that the last 2 of 12 steps change nothing "
                    "(schedule.total)\n"));
  CHECK(last_rate(box, "given") == 0);
  CHECK_FALSE(box.succeed("train --resume given --train.steps 14 --schedule.total 14").tells("change nothing"));
  const std::string short_schedule = " --schedule.kind linear --schedule.warmup 0 --schedule.total 2 --train.steps 4";
  CHECK(box.succeed("train tiny.toml --out idle" + short_schedule).tells("the last 2 of 4 steps change nothing"));
  const Outcome above_0 = box.succeed("train tiny.toml --out above-0 --schedule.min_lr 1e-4" + short_schedule);
  CHECK_FALSE(above_0.tells("change nothing"));
}

TEST_CASE("configuration: a run that has recorded a key without effect goes on, and says that the key is ignored") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 2 --schedule.kind constant");
  std::string config = box.read("run/config.toml");
  const std::string key = "\nmin_lr = 0.0";
  REQUIRE(config.find(key) != config.npos);
  box.write("run/config.toml", config.replace(config.find(key), key.size(), "\nmin_lr = 0.5"));
  const std::string note =
      "run/config.toml: schedule.min_lr = 0.5 has no effect beside schedule.kind = constant, and is ignored\n";
  CHECK(box.succeed("train --resume run --train.steps 3 --accept-changes").tells(note));
  CHECK(box.read("run/config.toml").find(key) != config.npos);
  CHECK_FALSE(box.succeed("train --resume run --train.steps 4").tells(note));
}

TEST_CASE("configuration: what defines the model or its tokens cannot change on resume" * long_test()) {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 4");
  const std::string config = box.read("run/config.toml"), metrics = box.read("run/metrics.jsonl");
  const auto refused = [&](const std::string& key, const std::string& before, const std::string& after) {
    check_error(box, kUsage,
                key + ": the run has " + before + ", got " + after +
                    ": it says what the model, its tokens or its task are, which cannot change on resume",
                "train --resume run --train.steps 8 --" + key + " " + after);
  };
  refused("model.heads", "2", "4");
  refused("model.activation", "gelu", "relu");
  refused("tokenizer.kind", "char", "bpe");
  refused("data.document", "none", "line");
  CHECK(box.read("run/config.toml") == config);
  CHECK(box.read("run/metrics.jsonl") == metrics);
  CHECK(box.run("train --resume run --train.steps 8 --model.heads 2").exit_code == 0);
}

TEST_CASE("configuration: errors are about keys that the user gave") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 1");
  // The run's file has eval.stride = 16, which nobody gave.
  const Outcome outcome = box.succeed("train run/config.toml --model.context 8 --train.steps 1 --out shorter");
  INFO(outcome.err);
  check_error(box, kUsage, "model.dim: expected a multiple of model.heads, which is 4, got 6",
              "train --data.text text.txt --model.dim 6 --out new");
}

TEST_CASE("configuration: info takes the options that train takes") {
  const Sandbox box("gpt");
  const auto two = json_of(box, "info tiny.toml --seconds 0 --json"),
             one = json_of(box, "info tiny.toml --seconds 0 --json --model.layers 1");
  CHECK(one["parameters"]["blocks"].get<int>() * 2 == two["parameters"]["blocks"].get<int>());
  const std::string help = result_of(box, "train --help-all");
  CHECK(help.find("{auto,pre,post} [auto]") != help.npos);
}
