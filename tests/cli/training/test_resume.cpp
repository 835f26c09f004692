// A run that is killed and resumed ends with the same bytes as one that was left alone.
#include <doctest/doctest.h>
#include <signal.h>

#include <chrono>
#include <random>
#include <thread>

#include "core/error.h"
#include "tests/cli/training/resume_support.h"
#include "tests/long_test.h"
#include "train/run/run_folder.h"

namespace fs = std::filesystem;
using tapeformer::checkpoint_name;
using tapeformer::str_cat;
using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

namespace {

constexpr const char* kShort = "--train.steps 24 --eval.every 10";

}  // namespace

TEST_CASE("resume: a run killed at random steps ends with the same bytes" * long_test()) {
  const Sandbox box("gpt");
  // Too fast to get better each time: `best` is not always the latest.
  const char* options = "--optimizer.lr 0.1";
  box.train("straight", options);
  CHECK_FALSE(box.read("straight/checkpoints/best") == box.read("straight/checkpoints/latest"));
  std::mt19937 random(1);
  check_kills(box, "straight", 4, options, [&](Process& process, const std::string& run, int kill) {
    const std::size_t lines = lines_of(box, run) + 3 + random() % 12;
    wait_until(process, [&] { return lines_of(box, run) >= lines; });
    if (kill % 2 == 1) std::this_thread::sleep_for(microseconds(random() % 3000));
  });
}

TEST_CASE("resume: a run killed while it writes checkpoints ends with the same bytes" * long_test()) {
  const Sandbox box("gpt");
  box.train("straight", "--checkpoint.every 2 --train.steps 30");
  std::mt19937 random(2);
  check_kills(box, "straight", 5, "--checkpoint.every 2 --train.steps 30",
              [&](Process& process, const std::string& run, int kill) {
                // The first one leaves no whole checkpoint.
                const std::size_t lines = kill == 0 ? 0 : lines_of(box, run) + 1 + random() % 5;
                wait_until(process, [&] { return lines_of(box, run) >= lines && is_writing_checkpoint(box, run); });
                std::this_thread::sleep_for(microseconds(random() % 4000));
              });
}

TEST_CASE("resume: a run killed at random moments from the start on ends with the same bytes" * long_test()) {
  const Sandbox box("gpt");
  const char* options = "--train.steps 40 --train.seed 7 --optimizer.lr 0.1";
  const auto begin = Clock::now();
  box.train("straight", options);
  const auto whole = Clock::now() - begin;
  std::mt19937 random(3);
  check_kills(box, "straight", 6, options, [&](Process&, const std::string&, int kill) {
    std::this_thread::sleep_for(whole * (kill == 0 ? 10 : static_cast<int>(random() % 1000)) / 1000);
  });
}

TEST_CASE("resume: SIGTERM and SIGINT save the last whole step, and say how to go on") {
  const Sandbox box("gpt");
  for (const int signal : {SIGTERM, SIGINT}) {
    const std::string name = signal == SIGTERM ? "terminated" : "interrupted";
    const auto process = go_on(box, name, "--train.steps 100000");
    wait_until(*process, [&] { return lines_of(box, name) >= 6; });
    process->send(signal);
    const Outcome stopped = process->wait();
    INFO(stopped.err);
    REQUIRE(stopped.exit_code == 0);
    CHECK(stopped.out.empty());  // no result yet
    const int last = box.metrics(name).back()["step"];
    CHECK(stopped.tells(str_cat("stopped at step ", last, "; go on with: tapeformer train --resume ", name, "\n")));
    CHECK(box.read(name + "/checkpoints/latest") == checkpoint_name(last) + "\n");

    const std::string more = str_cat("--train.steps ", last + 20);
    const Outcome resumed = box.run("train --resume " + name + " " + more);
    CHECK(resumed.exit_code == 0);
    CHECK(resumed.tells(str_cat("resumed at step ", last, "\n")));
    box.train("straight-" + name, more);
    check_same_run(box, "straight-" + name, name);
  }
}

TEST_CASE("resume: SIGTERM in a step of very many micro-steps gives it up at once, and the step before is saved") {
  const Sandbox box;
  box.prepare_toy("gpt");
  box.train("run", "--train.steps 4");
  const auto process = box.start("train --resume run --train.steps 5 --train.accumulate 20000");
  wait_until(*process, [&] { return box.read("run/config.toml").find("accumulate = 20000 ") != std::string::npos; });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  process->send(SIGTERM);
  const Outcome stopped = process->wait();
  INFO(stopped.err);
  CHECK(stopped.exit_code == 0);
  CHECK(stopped.tells("stopped at step 4; go on with: tapeformer train --resume run\n"));
  CHECK(box.read("run/checkpoints/latest") == checkpoint_name(4) + "\n");
}

TEST_CASE("resume: damage is told, and the run goes on from the checkpoint before") {
  const Sandbox box("gpt");
  box.train("straight", kShort);
  for (const std::string file : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    const std::string run = "damaged-" + file, newest = run + "/checkpoints/step-000024";
    fs::copy(box / "straight", box / run, fs::copy_options::recursive);
    std::string bytes = box.read(newest + "/" + file);
    bytes[bytes.size() / 2] ^= 1;
    box.write(newest + "/" + file, bytes);
    const Outcome outcome = box.succeed("train --resume " + run);
    INFO(outcome.err);
    CHECK(outcome.tells("damaged checkpoint skipped: " + newest));
    CHECK(outcome.tells("the newest checkpoint that is whole is of step 20"));
    CHECK(outcome.tells("resumed at step 20"));
    CHECK(outcome.tells(str_cat(newest, " is now ", newest, ".damaged\n")));
    CHECK(box.read(newest + ".damaged/" + file) == bytes);  // it may be of use to somebody
    fs::remove_all(box / (newest + ".damaged"));
    check_same_run(box, "straight", run);
  }
}

TEST_CASE("resume: from a checkpoint that is named, or that is not named well") {
  const Sandbox box("gpt");
  box.train("run", kShort);
  fs::copy(box / "run", box / "straight", fs::copy_options::recursive);
  const std::string newest = "run/checkpoints/step-000024";

  SUBCASE("a damaged one is refused") {
    fs::resize_file(box / (newest + "/optimizer.safetensors"), 1000);
    const Outcome outcome = box.run("train --resume " + newest);
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.tells(newest + ": optimizer.safetensors: expected"));
    CHECK(box.has(newest));
  }
  SUBCASE("one before the newest is fine when the later ones may go") {
    CHECK(box.run("train --resume run/checkpoints/step-000020 --discard-newer").exit_code == 0);
    check_same_run(box, "straight", "run");
  }
  SUBCASE("what a kill has left undone is done, though nothing is left to train") {
    box.write("run/checkpoints/latest", "step-000020\n");
    fs::remove(box / "run/checkpoints/best");
    fs::copy(box / newest, box / "run/checkpoints/step-000008");  // and one that should have been removed
    CHECK(box.run("train --resume run").exit_code == 0);
    check_same_run(box, "straight", "run");
  }
  SUBCASE("without a whole checkpoint nothing is changed") {
    for (const std::string& name : names_in(box / "run/checkpoints")) {
      if (name.starts_with("step-")) box.write("run/checkpoints/" + name + "/state.json", "{}");
    }
    const Outcome outcome = box.run("train --resume run");
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.tells("run: the run has no usable checkpoint; "));
    CHECK(outcome.tells("step-000024/state.json"));  // why not
    CHECK(box.read("run/metrics.jsonl") == box.read("straight/metrics.jsonl"));
  }
}

TEST_CASE("resume: more steps on the way are the same as more steps from the start" * long_test()) {
  const Sandbox box("gpt");
  box.train("straight", "--train.steps 80");
  box.train("extended", "--train.steps 60");
  const Outcome outcome = box.succeed("train --resume extended --train.steps 80");
  INFO(outcome.err);
  CHECK(outcome.tells("resumed at step 60"));
  CHECK(outcome.tells("train.steps is now 80"));
  check_same_run(box, "straight", "extended");

  // The schedule asks for no evaluation and no metrics at the first end. The one there is the best of its run.
  const std::string options = " --eval.every 16 --train.log_every 9 --eval.patience 2 --optimizer.lr 3e-3";
  box.train("straight-2", "--train.steps 40" + options);
  box.train("extended-2", "--train.steps 28" + options);
  CHECK(box.read("extended-2/checkpoints/best") == "step-000028\n");
  CHECK(box.metrics("extended-2").back()["at_end"] == true);
  CHECK(box.run("train --resume extended-2 --train.steps 40").exit_code == 0);
  check_same_run(box, "straight-2", "extended-2");
}

TEST_CASE("resume: evaluations that are made in another way do not compare with the earlier ones") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 20 --eval.every 10");
  const Outcome outcome =
      box.succeed("train --resume run --train.steps 21 --eval.batches 1 --eval.stride 1 --optimizer.lr 1");
  INFO(outcome.err);
  CHECK(outcome.tells(
      "validation is scored by eval.batches = 1, eval.stride = 1, train.batch = 8, train.batch_tokens = 0, "
      "and was by eval.batches = 4, eval.stride = 16, train.batch = 8, train.batch_tokens = 0: its losses "
      "do not compare with the earlier ones, and the best one is looked for anew\n"));
  CHECK(box.read("run/checkpoints/best") == "step-000021\n");  // with a larger number than the earlier ones
  CHECK_FALSE(box.succeed("train --resume run --train.steps 22").tells("do not compare"));
}

TEST_CASE("train: patience and plateau are refused where there is no validation data") {
  const Sandbox box("gpt");
  check_error(box, kUsage, "eval.patience: expected 0 where nothing is evaluated (no validation text), got 3",
              "train tiny.toml --out new --data.valid_fraction 0 --eval.patience 3");
  check_error(box, kUsage,
              "schedule.kind: expected another one where nothing is evaluated (no validation text), got plateau",
              "train tiny.toml --out new --data.valid_fraction 0 --schedule.kind plateau");
  box.train("run", "--train.steps 8");
  CHECK(box.run("train --resume run --train.steps 9 --data.valid_fraction 0 --eval.patience 3").exit_code == kUsage);
}

TEST_CASE(
    "resume: SIGTERM within a step of many micro-steps gives the step up, and the run resumes to the same bytes") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 8");
  fs::copy(box / "run", box / "straight", fs::copy_options::recursive);
  // A step of a million micro-steps: nobody waits for its end.
  const auto process = box.start("train --resume run --train.steps 9 --train.accumulate 1000000");
  wait_until(*process, [&] { return box.read("run/config.toml").find("accumulate = 1000000") != std::string::npos; });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  process->send(SIGTERM);
  const Outcome stopped = process->wait();
  INFO(stopped.err);
  REQUIRE(stopped.exit_code == 0);
  CHECK(stopped.tells("stopped at step 8; go on with: tapeformer train --resume run\n"));
  CHECK(box.read("run/checkpoints/latest") == "step-000008\n");
  for (const std::string run : {"run", "straight"}) {
    CHECK(box.run("train --resume " + run + " --train.steps 12 --train.accumulate 2").exit_code == 0);
  }
  check_same_run(box, "straight", "run");
}

TEST_CASE("resume: recomputing, switched on or off on the way, changes no byte" * long_test()) {
  const Sandbox box("gpt");
  const std::string options = "--model.layers 3 --model.dropout 0.1 --train.accumulate 2 --train.steps ";
  box.train("straight", options + "30");
  for (const std::string first : {"false", "true"}) {
    const std::string run = "began-" + first, second = first == "true" ? "false" : "true";
    box.train(run, options + "15 --train.recompute " + first);
    const Outcome outcome = box.succeed("train --resume " + run + " --train.steps 30 --train.recompute " + second);
    INFO(outcome.err);
    CHECK(outcome.tells("train.recompute is now " + second));
    CHECK(box.read(run + "/config.toml").find("\nrecompute = " + second) != std::string::npos);
    for (const std::string file : {"/checkpoints/step-000030/model", "/checkpoints/step-000030/optimizer"}) {
      const bool same = box.read(run + file + ".safetensors") == box.read("straight" + file + ".safetensors");
      CHECK_MESSAGE(same, file);
    }
    const auto lines = box.metrics(run), expected = box.metrics("straight");
    CHECK(without_times(lines.back()) == without_times(expected.back()));
  }
}

TEST_CASE("resume: a training text that has changed is told") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 5");
  CHECK_FALSE(box.succeed("train --resume run --train.steps 6").tells("another than the run began with"));
  const std::string text = box.read("text.txt");
  box.write("text.txt", text + text.substr(0, text.size() / 2));
  const Outcome outcome = box.succeed("train --resume run --train.steps 7");
  INFO(outcome.err);
  CHECK(outcome.tells("the training data is another than the run began with"));
}

TEST_CASE("resume: one process at a time trains a run") {
  const Sandbox box("gpt");
  const auto process = go_on(box, "run", "--train.steps 100000");
  wait_until(*process, [&] { return lines_of(box, "run") >= 1; });
  const Outcome second = box.run("train --resume run");
  CHECK(second.exit_code == 1);
  CHECK(second.err == "tapeformer: run: another process is training this run\n");
}

TEST_CASE("train: the same seed gives the same bytes, another seed others, and threads are free to choose" *
          long_test()) {
  const Sandbox box("gpt");
  box.train("a", "--train.steps 10 --train.threads 2");
  box.train("b", "--train.steps 10 --train.threads 2");
  check_same_run(box, "a", "b");
  box.train("other", "--train.steps 10 --train.threads 2 --train.seed 2");
  box.train("one-thread", "--train.steps 10 --train.threads 1");
  const std::string model = "/checkpoints/step-000010/model.safetensors";
  CHECK_FALSE(box.read("a" + model) == box.read("other" + model));
  CHECK(box.has("one-thread" + model));
}

TEST_CASE("resume: another validation text is told, and the best evaluation is looked for anew") {
  const Sandbox box("gpt");
  const std::string text = box.read("text.txt");
  box.write("valid.txt", text.substr(0, text.size() / 4));
  box.train("run", "--train.steps 5 --data.valid valid.txt");
  CHECK_FALSE(box.succeed("train --resume run --train.steps 6").tells("the validation data is another than before"));
  box.write("valid.txt", text.substr(0, text.size() / 3));
  const Outcome outcome = box.run("train --resume run --train.steps 7");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.tells("the validation data is another than before: its losses do not compare with the earlier ones"));
  CHECK_FALSE(outcome.tells("the training data is another"));
  // A loss of the earlier text, however small, does not count any more.
  box.train("best", "--train.steps 40 --data.valid valid.txt --eval.every 10");
  box.write("valid.txt", std::string(text.rbegin(), text.rbegin() + text.size() / 4));  // harder
  REQUIRE(box.run("train --resume best --train.steps 41").exit_code == 0);
  CHECK(box.read("best/checkpoints/best") == "step-000041\n");
  const auto lines = box.metrics("best");
  CHECK(lines.back()["eval_loss"].get<double>() > lines[lines.size() - 3]["eval_loss"].get<double>());
  CHECK(json_of(box, "runs best --json")[0]["best_loss"] == lines.back()["eval_loss"]);
  CHECK(box.read("best/report.html").find("\"terms_since\":40") != std::string::npos);
}

TEST_CASE("resume: a finished run says how to go on, and shows no step that was not done") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 12");
  const Outcome outcome = box.succeed("train --resume run");
  INFO(outcome.err);
  CHECK(outcome.tells("nothing left to train: go on with --train.steps N, where N is above 12\n"));
  for (const char* text : {"step 12/", "loss 0.0000"}) CHECK_FALSE(outcome.tells(text));
}

TEST_CASE("resume: a time limit holds for the process that it is given to, not for later ones") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 12");
  const Outcome limited = box.run("train --resume run --train.steps 24 --train.max_minutes 1e-9");
  CHECK(limited.tells("train.max_minutes is 1e-09 for this process\n"));
  CHECK(limited.tells("out of time at step 13"));
  CHECK(box.read("run/config.toml").find("\nmax_minutes = 0.0 ") != std::string::npos);
  CHECK(box.read("run/checkpoints/step-000013/config.toml") == box.read("run/config.toml"));
  CHECK(box.run("train --resume run").tells("step 24/24  100%"));
}

TEST_CASE("resume: stops beside the schedule do not change the average" * long_test()) {
  const Sandbox box("gpt");
  const std::string options = "--train.steps 9 --checkpoint.every 3 --checkpoint.average 3 --eval.every 0";
  box.train("straight", options);
  const auto process = box.start("train tiny.toml --out run " + options + " --train.max_minutes 1e-9");
  CHECK(process->wait().exit_code == 0);
  for (int i = 0; i < 6; ++i) {  // after each of the steps 2 to 7
    CHECK(box.run("train --resume run --train.max_minutes 1e-9").exit_code == 0);
  }
  const Outcome last = box.run("train --resume run --train.max_minutes 0");
  CHECK(last.tells("averaged the checkpoints of the steps 3, 6, 9\n"));
  const std::string weights = "/checkpoints/average/model.safetensors";
  const bool same = box.read("run" + weights) == box.read("straight" + weights);
  CHECK(same);
}

TEST_CASE("train: max_minutes stops in good order") {
  const Sandbox box("gpt");
  box.train("straight", "--train.steps 30");
  const Outcome stopped = box.run("train tiny.toml --out run --train.steps 30 --train.max_minutes 1e-9");
  CHECK(stopped.exit_code == 0);
  CHECK(stopped.tells("out of time at step 1; go on with: tapeformer train --resume run"));
  CHECK(box.read("run/checkpoints/latest") == "step-000001\n");
  CHECK(box.run("train --resume run --train.max_minutes 0").exit_code == 0);
  CHECK(box.read("run/checkpoints/step-000030/model.safetensors") ==
        box.read("straight/checkpoints/step-000030/model.safetensors"));
}
