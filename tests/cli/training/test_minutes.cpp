// Trainings that end by the clock: what they say, and what signals and resumes do.
#include <doctest/doctest.h>
#include <signal.h>

#include <thread>

#include "core/error.h"
#include "tests/cli/training/resume_support.h"
#include "tests/long_test.h"

using tapeformer::str_cat;

namespace {

const std::string kOptions =
    " --schedule.kind wsd --schedule.warmup 5 --schedule.cooldown 0.2 --eval.every 0 --checkpoint.every 0 ";
const std::string kTimed = kOptions + "--schedule.total 0 ";

// The options that a run names at its end; empty if it names none.
std::string repeating_options(const Outcome& outcome) {
  const std::string begin = "; the same without a clock: ";
  const std::size_t at = outcome.err.find(begin);
  if (at == outcome.err.npos) return "";
  const std::size_t from = at + begin.size();
  return outcome.err.substr(from, outcome.err.find('\n', from) - from);
}

}  // namespace

TEST_CASE("minutes: a run ends by the clock, says so, is finished, and goes on with more minutes" * long_test()) {
  const Sandbox box("gpt");
  const Outcome run = box.succeed("train tiny.toml --out run --train.steps 1000000 --train.minutes 0.02" + kTimed);
  INFO(run.err);
  const std::int64_t last = box.metrics("run").back()["step"];
  CHECK(run.tells("the learning rate falls after step "));
  CHECK(run.tells("/0.02 min  "));
  CHECK(run.tells(str_cat("info: ", last, " steps in 0.0")));
  CHECK(run.tells(" of 0.02 min"));
  CHECK(run.out.starts_with("best validation loss "));
  CHECK(last < 1000000);
  CHECK(result_of(box, "runs .").find("finished") != std::string::npos);
  const Outcome nothing = box.succeed("train --resume run");
  CHECK(nothing.tells("nothing left to train: go on with --train.minutes M, where M is above 0.0"));
  const Outcome more = box.succeed("train --resume run --train.minutes 0.04");
  CHECK(more.tells("train.minutes is now 0.04\n"));
  CHECK(more.tells(" of 0.04 min\n"));
  CHECK(box.metrics("run").back()["step"] > last);
}

TEST_CASE("minutes: the options that a run names repeat it without a clock, to the byte") {
  const Sandbox box("gpt");
  // train.steps comes first, so that the end does not depend on the machine.
  const std::string given = "--train.steps 30 --train.minutes 30 --train.ema 0.9" + kTimed;
  const std::string options = repeating_options(box.succeed("train tiny.toml --out timed " + given));
  CHECK(options == "--train.minutes 0 --train.steps 30 --schedule.total 30 --schedule.cooldown 0.2 --train.ema 0.9");
  box.succeed("train tiny.toml --out plain" + kOptions + options);
  for (const std::string file : {"model.safetensors", "optimizer.safetensors"}) {
    const std::string path = "/checkpoints/step-000030/" + file;
    const bool same = box.read("timed" + path) == box.read("plain" + path);
    CHECK(same);
  }
}

TEST_CASE("minutes: Ctrl-C cools the run down, another one saves and stops, SIGTERM stops at once") {
  const Sandbox box("gpt");
  const auto begin = [&](const std::string& name, const std::string& options) {
    auto process = go_on(box, name, "--train.steps 1000000 --train.minutes 30" + kTimed + options);
    wait_until(*process, [&] { return lines_of(box, name) >= 40; });
    return process;
  };
  {
    const auto process = begin("cooled", "");
    process->send(SIGINT);
    const Outcome cooled = process->wait();
    INFO(cooled.err);
    REQUIRE(cooled.exit_code == 0);
    CHECK(cooled.tells("cooling down after step "));
    CHECK(cooled.tells(" s; another Ctrl-C saves and stops\n"));
    CHECK(cooled.tells(" of 30 min"));
    CHECK(cooled.out.starts_with("best validation loss "));
    CHECK(box.succeed("train --resume cooled").tells("nothing left to train"));
  }
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string name = str_cat("stopped", signal);
    const auto process = begin(name, "--schedule.cooldown 1");  // it cools down from the end of warm-up on
    process->send(signal);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (signal == SIGINT) process->send(signal);
    const Outcome stopped = process->wait();
    INFO(stopped.err);
    REQUIRE(stopped.exit_code == 0);
    CHECK(stopped.tells("cooling down already: ") == (signal == SIGINT));
    CHECK(stopped.tells("; go on with: tapeformer train --resume " + name + "\n"));
    // Fewer minutes than it has taken: it goes on to an end.
    CHECK(box.succeed("train --resume " + name + " --train.minutes 1e-9").out.starts_with("best validation loss "));
  }
}

TEST_CASE("minutes: what does not go together with a clock is refused in one line") {
  const Sandbox box("gpt");
  check_errors(box, kUsage,
               {{"train tiny.toml --out new --train.minutes 1 --schedule.kind cosine",
                 "schedule.kind: expected wsd beside train.minutes, whose end is a cool-down, got cosine"},
                {"train tiny.toml --out new --train.minutes 1 --schedule.kind wsd --schedule.total 7",
                 "schedule.total: expected 0 beside train.minutes, whose clock says when the rate falls, got 7"},
                {"train tiny.toml --out new --train.minutes -1 --schedule.kind wsd",
                 "train.minutes: expected 0 <= value <= 5270400, got -1.0"}});
}

TEST_CASE("minutes: info says the minutes, and about how many steps they are") {
  const Sandbox box("gpt");
  const std::string timed =
      "info tiny.toml --schedule.kind wsd --schedule.total 0 --train.minutes 3 --seconds 0.2 --train.steps ";
  const nlohmann::ordered_json told = json_of(box, timed + "100000000 --json");
  CHECK(told["training_seconds"] == 180);
  const double steps = told["steps"];
  CHECK(steps < 100000000);
  const double seconds = steps * told["step_seconds"].get<double>() +
                         told["evaluations"].get<double>() * told["evaluation_seconds"].get<double>();
  CHECK(seconds == doctest::Approx(180).epsilon(0.01));
  const std::string text = result_of(box, timed + "100000000");
  CHECK(text.find("  3 min (train.minutes) ") != text.npos);
  CHECK(text.find(" steps   about, with ") != text.npos);
  const nlohmann::ordered_json few = json_of(box, timed + "2 --json");
  CHECK(few["steps"] == 2);
  CHECK(few["training_seconds"].get<double>() < 180);
}
