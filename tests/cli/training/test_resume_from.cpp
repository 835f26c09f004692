// Going back to an earlier checkpoint, and beginning a run from the weights of another.
#include <doctest/doctest.h>
#include <signal.h>

#include <filesystem>

#include "tests/cli/training/resume_support.h"
#include "tests/long_test.h"

namespace fs = std::filesystem;

namespace {

constexpr const char* kFewSteps = "--train.steps 24 --eval.every 10";

bool same_file(const Sandbox& box, const std::string& a, const std::string& b) {
  REQUIRE(box.has(a));
  REQUIRE(box.has(b));
  return box.read(a) == box.read(b);
}

bool is_finetuning_of(const Sandbox& box, const std::string& run, const std::string& checkpoint) {
  return same_file(box, run + "/checkpoints/step-000000/model.safetensors", checkpoint + "/model.safetensors");
}

}  // namespace

TEST_CASE("resume: a checkpoint before the newest asks what happens to the later ones, and touches nothing") {
  const Sandbox box("gpt");
  box.train("run", kFewSteps);
  fs::copy(box / "run", box / "straight", fs::copy_options::recursive);
  check_error(box, kUsage,
              "train: run/checkpoints/step-000016 is of step 16, and the run has checkpoints up to step 24: give "
              "--discard-newer to remove those, or --out NEW to go on in a new run",
              "train --resume run/checkpoints/step-000016");
  box.write("run/checkpoints/best", "step-000020\n");
  CHECK(box.run("train --resume run/checkpoints/best").exit_code == kUsage);
  box.write("run/checkpoints/best", box.read("straight/checkpoints/best"));
  CHECK(box.read("run/metrics.jsonl") == box.read("straight/metrics.jsonl"));
  check_same_run(box, "straight", "run");
  CHECK(box.run("train --resume run/checkpoints/latest").exit_code == 0);  // nothing is lost
  CHECK(box.run("train --resume run/checkpoints/step-000016 --discard-newer --train.steps 17").exit_code == 0);
  CHECK_FALSE(box.has("run/checkpoints/step-000020"));
  CHECK(box.read("run/checkpoints/latest") == "step-000017\n");
}

TEST_CASE("resume: with --out it goes on in a new run, byte for byte, and leaves the other as it was") {
  const Sandbox box("gpt");
  box.train("run", kFewSteps);
  fs::copy(box / "run", box / "straight", fs::copy_options::recursive);
  const Outcome outcome = box.succeed("train --resume run/checkpoints/step-000016 --out fork");
  INFO(outcome.err);
  CHECK(outcome.tells("resumed at step 16\n"));
  check_same_run(box, "straight", "run");
  for (const std::string name : {"/config.toml", "/tokenizer.json", "/checkpoints/step-000024/model.safetensors",
                                 "/checkpoints/step-000024/optimizer.safetensors"}) {
    CHECK_MESSAGE(same_file(box, "run" + name, "fork" + name), name);
  }
  const auto lines = box.metrics("fork"), expected = box.metrics("run");
  REQUIRE(lines.size() == expected.size());
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK(without_times(lines[i]) == without_times(expected[i]));

  // Another course from there.
  CHECK(box.run("train --resume run/checkpoints/step-000016 --out other --optimizer.lr 1e-4").exit_code == 0);
  CHECK_FALSE(same_file(box, "run/checkpoints/step-000024/model.safetensors",
                        "other/checkpoints/step-000024/model.safetensors"));
  CHECK(box.run("train --resume run --out more --train.steps 28").exit_code == 0);  // from the newest
  CHECK(box.has("more/checkpoints/step-000028"));
  check_same_run(box, "straight", "run");
  check_error(box, kFailure, "fork already holds a run: go on with --resume fork, or give another --out",
              "train --resume run --out fork");
}

TEST_CASE("resume: a run that goes on in a new folder ends with the average and the best of the one that it is of") {
  const Sandbox box("gpt");
  const std::string options = " --eval.every 8 --checkpoint.average 3";
  box.train("run", "--train.steps 8" + options);
  REQUIRE(box.run("train --resume run --train.steps 24 --optimizer.lr 1").exit_code ==
          0);  // so fast that it gets worse
  REQUIRE(box.read("run/checkpoints/best") == "step-000008\n");
  const Outcome outcome = box.succeed("train --resume run/checkpoints/step-000020 --out fork");
  INFO(outcome.err);
  CHECK(outcome.tells("averaged the checkpoints of the steps 16, 20, 24\n"));
  CHECK(same_file(box, "run/checkpoints/average/model.safetensors", "fork/checkpoints/average/model.safetensors"));
  check_same_run(box, "run", "fork");
  // A damaged one is told, and left out.
  box.write("run/checkpoints/step-000016/model.safetensors", "damaged");
  const Outcome damaged = box.run("train --resume run/checkpoints/step-000020 --out without");
  CHECK(damaged.exit_code == 0);
  CHECK(damaged.tells("warning: cannot copy "));
  CHECK(damaged.tells("run/checkpoints/step-000016: model.safetensors: expected "));
  CHECK(damaged.tells("averaged the checkpoints of the steps 8, 20, 24\n"));
}

TEST_CASE("resume: with --out a recurrent model goes on byte for byte, its state in the copied checkpoint too") {
  const Sandbox box("rnn");
  box.train("run", "--train.steps 12 --checkpoint.every 4 --checkpoint.keep 0");
  const Outcome outcome = box.succeed("train --resume run/checkpoints/step-000004 --out fork");
  INFO(outcome.err);
  for (const std::string step : {"4", "8", "12"}) {
    const std::string state = "/checkpoints/step-" + std::string(6 - step.size(), '0') + step + "/carried.safetensors";
    CAPTURE(state);
    CHECK(same_file(box, "run" + state, "fork" + state));
  }
}

TEST_CASE("resume: a named checkpoint goes on with its own configuration" * long_test()) {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 12");
  box.train("straight", "--train.steps 16 --optimizer.lr 1e-2");
  CHECK(box.run("train --resume run --train.steps 16 --optimizer.lr 1e-4").exit_code == 0);
  CHECK(box.run("train --resume run/checkpoints/step-000012 --discard-newer --train.steps 16").exit_code == 0);
  const std::string weights = "/checkpoints/step-000016/model.safetensors";
  CHECK(same_file(box, "run" + weights, "straight" + weights));
}

TEST_CASE("init_from: a new run begins with the weights and the tokenizer of another, and its own schedule and data" *
          long_test()) {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 12");
  box.write("other.txt", box.read("text.txt").substr(0, 2000));
  for (const std::string from : {"run", "run/checkpoints/step-000008", "run/checkpoints/best"}) {
    CAPTURE(from);
    const std::string name = "from-" + fs::path(from).filename().string();
    const Outcome outcome =
        box.succeed("train tiny.toml --data.text other.txt --checkpoint.keep 0 --train.steps 6 --out " + name +
                    " --train.init_from " + from);
    INFO(outcome.err);
    CHECK(outcome.tells("the weights and the tokenizer are those of"));
    CHECK(same_file(box, name + "/tokenizer.json", "run/tokenizer.json"));
    const auto first = box.metrics(name).front();
    CHECK(first["step"] == 1);
    CHECK(first["tokens"] == 8 * 2 * 16);
    CHECK(first["lr"] == doctest::Approx(1e-2 / 5));
    CHECK(first["loss"].get<double>() < box.metrics("run").front()["loss"].get<double>() - 0.2);
    CHECK(box.read(name + "/config.toml").find("init_from = \"" + (box / from).string()) != std::string::npos);
  }
  const std::string best = box.read("run/checkpoints/best");
  CHECK(is_finetuning_of(box, "from-run", "run/checkpoints/" + best.substr(0, best.find('\n'))));
  CHECK(is_finetuning_of(box, "from-step-000008", "run/checkpoints/step-000008"));

  SUBCASE("the run does not need the other one any more") {
    box.train("straight", "--train.steps 6 --train.init_from run");
    const Outcome stopped =
        box.run("train tiny.toml --train.steps 6 --out stopped --train.init_from run --train.max_minutes 1e-9");
    REQUIRE(stopped.exit_code == 0);
    fs::rename(box / "run", box / "moved");
    CHECK(box.run("train --resume stopped --train.max_minutes 0").exit_code == 0);
    const std::string weights = "/checkpoints/step-000006/model.safetensors";
    CHECK(same_file(box, "stopped" + weights, "straight" + weights));
    CHECK(box.run("train --resume stopped --train.init_from moved").exit_code == kUsage);
  }
  SUBCASE("a file of weights, with a tokenizer that is named") {
    const Outcome outcome = box.succeed(
        "train tiny.toml --out file --checkpoint.keep 0 --train.steps 6 --train.init_from "
        "run/checkpoints/step-000012/model.safetensors --tokenizer.file run/tokenizer.json");
    INFO(outcome.err);
    CHECK(is_finetuning_of(box, "file", "run/checkpoints/step-000012"));
  }
  SUBCASE("a killed start is no run, or one that begins with the weights") {
    const auto process =
        box.start("train tiny.toml --out killed --checkpoint.keep 0 --train.steps 6 --train.init_from run");
    wait_until(*process, [&] { return box.has("killed/config.toml"); });
    process->send(SIGKILL);
    process->wait();
    CHECK(is_finetuning_of(box, "killed", "run/checkpoints/" + best.substr(0, best.find('\n'))));
  }
}

TEST_CASE("init_from: weights that do not fit are one line, and weights that mean something else a warning" *
          long_test()) {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 4");
  const std::string file = (box / "run/checkpoints/step-000004/model.safetensors").string();
  const std::string tokens = std::to_string(box.run("info run --seconds 0 --json").json()["vocab"].get<int>());
  check_error(box, kFailure,
              "train.init_from: " + file +
                  " does not fit the model: load_state_dict: token_embedding.weight: the model "
                  "has (" +
                  tokens + ", 64) f32, got (" + tokens + ", 32) f32",
              "train tiny.toml --out new --train.init_from run --model.dim 64");
  check_error(box, kFailure, (box / "none").string() + ": no such run or checkpoint",
              "train tiny.toml --out new --train.init_from none");
  const Outcome outcome = box.run("train tiny.toml --out heads --train.steps 1 --train.init_from run --model.heads 4");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.tells("warning: model.heads is 4; the weights were trained with 2\n"));
  CHECK_FALSE(outcome.tells("model.dropout"));
}

TEST_CASE("init_from: a file of weights in a checkpoint means its run's tokenizer, another one is told" * long_test()) {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 4");
  const std::string file = "run/checkpoints/step-000004/model.safetensors";
  // A text with as many characters, but others.
  std::string other = box.read("text.txt");
  for (char& c : other) c = c == 'e' ? '#' : c;
  box.write("other.txt", other);
  const std::string options = "train tiny.toml --data.text other.txt --train.steps 1 --train.init_from ";
  // The run's tokenizer is taken, which does not know one of the other text's characters.
  check_error(box, kFailure, (box / "other.txt").string() + ": char tokenizer: character '#' (U+0023) at byte …",
              options + file + " --out new");

  box.train("others", "--data.text other.txt --train.steps 1");
  const Outcome named = box.run(options + file + " --tokenizer.file others/tokenizer.json --out named");
  CHECK(named.exit_code == 0);
  CHECK(named.tells("is another tokenizer than"));
  const Outcome same = box.run(options + file + " --tokenizer.file run/tokenizer.json --out same");
  CHECK_FALSE(same.tells("is another tokenizer than"));

  fs::copy(box / file, box / "bare.safetensors");
  const Outcome bare = box.run(options + "bare.safetensors --out bare");
  CHECK(bare.exit_code == 0);
  CHECK(bare.tells("bare.safetensors is in no run: whether its weights were trained with these tokens cannot be told"));
}

TEST_CASE("init_from: an encoder-decoder, with both of its tokenizers") {
  const Sandbox box("transformer");
  box.train("run", "--train.steps 8 --tokenizer.joint false");
  const Outcome outcome =
      box.succeed("train tiny.toml --out new-run --train.steps 4 --train.init_from run/checkpoints/best");
  INFO(outcome.err);
  CHECK(same_file(box, "new-run/tokenizer.json", "run/tokenizer.json"));
  CHECK(same_file(box, "new-run/tokenizer-target.json", "run/tokenizer-target.json"));
}

TEST_CASE("init_from: keys of a tokenizer to learn are told to have no effect where one is taken") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 1");
  const std::string taken = "train tiny.toml --train.steps 1 --train.init_from run --out ",
                    named = "train tiny.toml --train.steps 1 --tokenizer.file run/tokenizer.json --out ";
  const std::string of_run = " has no effect beside train.init_from, whose tokenizer is taken\n",
                    of_file = " has no effect beside tokenizer.file, whose tokenizer is taken\n";
  const Outcome initial = box.succeed(taken + "a --tokenizer.kind word --tokenizer.vocab 300");
  INFO(initial.err);
  CHECK(initial.tells("tokenizer.kind = word" + of_run));
  CHECK(initial.tells("tokenizer.vocab = 300" + of_run));
  CHECK(box.read("a/tokenizer.json") == box.read("run/tokenizer.json"));
  const Outcome file = box.succeed(named + "b --tokenizer.kind word");
  INFO(file.err);
  CHECK(file.tells("tokenizer.kind = word" + of_file));
  CHECK_FALSE(box.succeed(taken + "c --tokenizer.kind char").tells(of_run));
  CHECK_FALSE(box.succeed(named + "d").tells(of_file));
}

TEST_CASE("resume: other validation data is refused where nothing is left to train, so that the best one is not lost") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 10 --data.text text.txt");
  const std::string best = box.read("run/checkpoints/best"), config = box.read("run/config.toml");
  const Outcome outcome = box.run("train --resume run --eval.batches 1");
  INFO(outcome.err);
  CHECK(outcome.exit_code == kUsage);
  CHECK(outcome.tells("has nothing left to train, and validation is scored by eval.batches = 1"));
  CHECK(box.read("run/checkpoints/best") == best);
  CHECK(box.read("run/config.toml") == config);
  CHECK(box.run("train --resume run --eval.batches 1 --train.steps 11").exit_code == 0);
}
