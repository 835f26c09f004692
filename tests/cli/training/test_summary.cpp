// What a training prints at its end, beyond the best evaluation and the weights that commands read.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "data/synthetic/corpora.h"
#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

using Json = nlohmann::ordered_json;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

// A number as the summary writes it.
std::string digits(const Json& number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number.get<double>());
  return text;
}

std::string comparison_line(const Json& json) {
  return "\nfor comparison, bits per byte of the same validation text: this model " +
         digits(json["model"]["bits_per_byte"]) + ", a Kneser-Ney 5-gram of the same tokens " +
         digits(json["kneser_ney"]["bits_per_byte"]) + ", xz " + digits(json["xz"]["bits_per_byte"]) + "\n";
}

}  // namespace

TEST_CASE("summary: bits per byte stand beside those of n-grams and of xz") {
  const Sandbox box("gpt");
  const Outcome outcome = box.succeed("train tiny.toml --out run --train.steps 20 --eval.batches 0");
  INFO(outcome.out);
  Json json = Json::parse(box.read("run/comparison.json"));
  double best = 1e9;
  int best_step = 0;
  for (const Json& line : box.metrics("run")) {
    if (!line.contains("eval_loss") || line["eval_bits_per_byte"].get<double>() >= best) continue;
    best = line["eval_bits_per_byte"].get<double>();
    best_step = line["step"].get<int>();
  }
  CHECK(json["step"] == 20);
  CHECK(json["model"]["step"] == best_step);
  CHECK(json["model"]["bits_per_byte"].get<double>() == doctest::Approx(best).epsilon(1e-9));
  CHECK(json["kneser_ney"]["tokens"] == json["kneser_ney"]["of"]);
  CHECK(json["xz"]["whole"] == true);
  CHECK(json["xz"]["training_bytes"].get<int>() + json["xz"]["validation_bytes"].get<int>() ==
        static_cast<int>(box.read("text.txt").size()));
  CHECK(has(outcome.out, comparison_line(json)));

  // A run that is resumed with nothing left to train prints what was found, and does not look again.
  json["kneser_ney"]["bits_per_byte"] = 1.25;
  box.write("run/comparison.json", json.dump());
  CHECK(has(result_of(box, "train --resume run"), comparison_line(json)));
  box.write("run/comparison.json", "{");
  const Outcome damaged = box.succeed("train --resume run");
  CHECK(damaged.tells("run/comparison.json: "));
  CHECK_FALSE(has(damaged.out, "for comparison"));
  // One that goes on compares anew.
  CHECK(has(box.succeed("train --resume run --train.steps 22").out, "for comparison"));
  CHECK(Json::parse(box.read("run/comparison.json"))["step"] == 22);
}

TEST_CASE("summary: a run that was killed before it was compared is compared when it is resumed") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 6 --eval.batches 0");
  const Json made = Json::parse(box.read("run/comparison.json"));
  Json former = made;
  former["step"] = 4;
  for (const bool is_former : {false, true}) {  // the kill came before any comparison, or left that of fewer steps
    std::filesystem::remove(box / "run/comparison.json");
    if (is_former) box.write("run/comparison.json", former.dump());
    const Outcome outcome = box.succeed("train --resume run");
    CHECK(outcome.tells("nothing left to train"));
    CHECK(has(outcome.out, "for comparison"));
    const Json json = Json::parse(box.read("run/comparison.json"));
    CHECK(json["step"] == 6);
    CHECK(json["model"] == made["model"]);
  }
}

TEST_CASE("summary: what a run has taken back is not compared") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 8 --eval.batches 0 --checkpoint.keep 0");
  const std::string comparison = box.read("run/comparison.json");
  REQUIRE(Json::parse(comparison)["step"] == 8);
  // Another training up to the same step, which compares nothing.
  const Outcome again =
      box.succeed("train --resume run/checkpoints/step-000004 --discard-newer --optimizer.lr 1e-3 --quiet");
  CHECK(has(again.out, "best validation loss"));
  CHECK_FALSE(has(again.out, "for comparison"));
  CHECK_FALSE(box.has("run/comparison.json"));
  // The best evaluation is forgotten, since evaluations read another part of the validation text.
  box.write("run/comparison.json", comparison);
  const std::string stopped = "train --resume run --train.steps 10 --train.max_minutes 1e-9 --eval.every 0";
  CHECK_FALSE(has(result_of(box, stopped + " --eval.batches 1"), "for comparison"));
  CHECK_FALSE(box.has("run/comparison.json"));
}

TEST_CASE("summary: the entropy of a corpus is that of its bytes, without the newlines where lines are documents") {
  const Sandbox box("gpt");
  // A line of mappings has 79 characters, of which 16 are arrows of three bytes, and one is the newline.
  const double nats = *tapeformer::corpus_entropy("mappings") * 79;
  for (const bool documents : {false, true}) {
    const Outcome outcome = box.succeed(
        "train --model.dim 8 --model.layers 1 --tokenizer.kind char --data.corpus mappings --data.lines 300 --out run" +
        std::string(documents ? "2 --data.document line" : "") + " --train.steps 1");
    const int newline = documents ? 1 : 0;
    CHECK(has(outcome.out,
              fmt::format("the corpus mappings has an entropy of {:g} bits per byte ({:g} nats per character)",
                          nats / (111 - newline) / std::log(2), nats / (79 - newline))));
  }
}

TEST_CASE("summary: a part of the validation text is compared in nats, and a quiet training compares nothing") {
  const Sandbox box("gpt");
  const Outcome outcome = box.succeed("train tiny.toml --out run --train.steps 6 --eval.batches 1");
  const Json json = Json::parse(box.read("run/comparison.json"));
  CHECK(has(outcome.out, "\nfor comparison, nats per token of the same validation tokens: this model " +
                             digits(json["model"]["loss"]) + ", a Kneser-Ney 5-gram of the same tokens " +
                             digits(json["kneser_ney"]["loss"]) + "\n"));
  const Outcome quiet = box.succeed("train tiny.toml -q --out quiet --train.steps 6 --eval.batches 0");
  CHECK_FALSE(has(quiet.out, "for comparison"));
  CHECK_FALSE(has(quiet.out, "a sample"));
  CHECK_FALSE(box.has("quiet/comparison.json"));
}

TEST_CASE("summary: it says in plain words what the curves show") {
  const Sandbox box("gpt");
  const Outcome outcome = box.succeed("train tiny.toml --out run --train.steps 8 --eval.every 2 --eval.batches 0");
  INFO(outcome.out);
  CHECK(has(outcome.out, "\nstill falling: over the last evaluation the validation loss fell by "));
  CHECK(has(outcome.out, ": a longer training would probably lower it further\n"));
}

TEST_CASE("summary: the training loss of adapters is measured with their dropout") {
  const Sandbox box("gpt");
  box.train("base", "--train.steps 40");
  const std::string adapters =
      "train tiny.toml --train.init_from base --model.dropout 0 --train.lora.rank 2 --train.steps 60 --eval.every 20";
  CHECK(has(box.succeed(adapters + " --train.lora.dropout 0.9 --out dropout").out, " training loss (with dropout), "));
  CHECK_FALSE(has(box.succeed(adapters + " --out plain").out, "with dropout"));
}

TEST_CASE("summary: a sample is what generate makes of the prompt" * long_test()) {
  const Sandbox box("gpt");
  const std::string prompt = " --train.sample_prompt The --train.sample_tokens 12";
  const Outcome outcome = box.succeed("train tiny.toml --out run --train.steps 8" + prompt);
  const std::string text = json_of(box, "generate run --json --prompt The --tokens 12")["text"];
  CHECK(has(outcome.out, "\na sample that begins with \"The\":\nThe" + text));
  // The training's own sample of that step is not made again.
  REQUIRE(box.run("train tiny.toml --out other --train.steps 8 --train.sample_every 8" + prompt).exit_code == 0);
  std::string metrics = box.read("other/metrics.jsonl");
  const std::size_t at = metrics.find("\"output\":\"");
  REQUIRE(at != metrics.npos);
  metrics.insert(at + 10, "recorded");
  box.write("other/metrics.jsonl", metrics);
  CHECK(has(box.succeed("train --resume other").out, "\nTherecorded"));
  // A tokenizer of characters that do not include the prompt's begins as the validation text does.
  std::string letters;
  for (int i = 0; i < 400; ++i) letters += "abcab";
  box.write("letters.txt", letters);
  const Outcome without = box.succeed("train tiny.toml --out letters --train.steps 8 --data.text letters.txt");
  CHECK(has(without.out,
            "\na sample that begins with \"" + letters.substr(1800, 16) + "\":\n" + letters.substr(1800, 16)));
  const Sandbox pairs("transformer");
  const std::string out = pairs.succeed("train tiny.toml --out run").out;
  for (const char* part : {"\na sample: ", "\n  generated:  ", "\n  reference:  "}) CHECK(has(out, part));
}

TEST_CASE("train: the commands that it names can be pasted, whatever the name of the run") {
  const Sandbox box("gpt");
  const Outcome stopped = box.run("train tiny.toml --train.steps 30 --train.max_minutes 1e-9", {"--out", "my run"});
  INFO(stopped.err);
  REQUIRE(stopped.exit_code == 0);
  CHECK(stopped.tells("out of time at step 1; go on with: tapeformer train --resume 'my run'\n"));
  const Outcome again = box.run("train tiny.toml", {"--out", "my run"});
  CHECK(again.exit_code == 1);
  CHECK(again.tells("my run already holds a run: go on with --resume 'my run', or give another --out\n"));
}

TEST_CASE("train: a training that is shorter than the warm-up is told so when it begins") {
  const Sandbox box("gpt");
  const std::string told = "the learning rate rises over 6 steps: in 5 it does not reach its peak (schedule.warmup)";
  CHECK(box.succeed("train tiny.toml --out short --train.steps 5 --schedule.warmup 6").tells(told));
  CHECK_FALSE(box.succeed("train tiny.toml --out enough --train.steps 6 --schedule.warmup 6").tells("schedule.warmup"));
}

TEST_CASE("train: an average of fewer checkpoints than were asked for is told") {
  const Sandbox box("gpt");
  const std::string options = "train tiny.toml --checkpoint.average 3 --train.steps ";
  const std::string told =
      "warning: checkpoint.average: 3 checkpoints were asked for, and the run has 2 (checkpoint.every is 8)\n";
  CHECK(box.succeed(options + "10 --checkpoint.every 8 --out fewer").tells(told));
  CHECK_FALSE(box.succeed(options + "12 --checkpoint.every 4 --out all").tells("were asked for"));
}

TEST_CASE("train: a plateau whose rate cannot fall before the last step is told when it begins") {
  const Sandbox box("gpt");
  const std::string options = "train tiny.toml --schedule.kind plateau --eval.every 3 --train.steps ";
  CHECK(box.succeed(options + "6 --schedule.warmup 0 --out short")
            .tells("in 6 steps with evaluations every 3 the learning rate cannot fall (schedule.kind = plateau)\n"));
  CHECK(box.succeed(options + "8 --schedule.warmup 7 --out warm-up").tells("cannot fall"));
  CHECK_FALSE(box.succeed(options + "7 --schedule.warmup 6 --out enough").tells("cannot fall"));
}
