// What must hold when something around a training goes wrong: numbers, signals, descriptors, folders, memory.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/sanitizers.h"
#include "tests/cli/training/resume_support.h"
#include "tests/long_test.h"

namespace fs = std::filesystem;

namespace {

// The command in a shell's hands: "$0" is the program.
std::unique_ptr<Process> start_in_shell(const Sandbox& box, const std::string& script) {
  return std::make_unique<Process>(box / ".", std::vector<std::string>{"/bin/sh", "-c", script, TAPEFORMER_BINARY}, "");
}

// The checkpoint that a run goes on from is that of its last step.
void check_saved_at_last_step(const Sandbox& box, const std::string& run) {
  const std::string step = box.metrics(run).back()["step"].dump();
  CHECK(box.read(run + "/checkpoints/latest") == "step-" + std::string(6 - step.size(), '0') + step + "\n");
}

bool is_one_line(const std::string& text) { return std::count(text.begin(), text.end(), '\n') == 1; }

}  // namespace

TEST_CASE("numbers: an update that blows up ends the training, with the last good checkpoint as the latest") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 8");
  const std::set<std::string> before = names_in(box / "run/checkpoints");
  const std::string blow_up = " --train.steps 9 --optimizer.lr 1e30 --schedule.warmup 0";
  for (const std::string valid : {"", " --data.valid_fraction 0"}) {
    CAPTURE(valid);
    const Outcome outcome = box.run("train --resume run" + blow_up + valid);
    CHECK(outcome.exit_code == kFailure);
    CHECK(outcome.tells("\ntapeformer: step 9: the "));
    CHECK(outcome.tells("; a lower optimizer.lr or a longer schedule.warmup may help\n"));
    CHECK(outcome.out == "");
    CHECK(box.read("run/checkpoints/latest") == "step-000008\n");
    CHECK(names_in(box / "run/checkpoints") == before);
  }
  const Outcome again = box.run("train --resume run --optimizer.lr 1e-2 --schedule.warmup 5 --train.steps 12");
  CHECK(again.exit_code == 0);
}

TEST_CASE("numbers: generate, eval, surprisal and fill of a model without finite predictions are one line") {
  const Sandbox box("gpt");
  for (const std::string family : {"gpt", "bert"}) {
    const std::string model = " --model.type " + family;
    box.train(family, "--train.steps 4" + model);
    std::string weights = box.read(family + "/checkpoints/step-000004/model.safetensors");
    std::fill(weights.end() - 64, weights.end(), '\xff');  // NaN
    fs::remove_all(box / family);
    box.write("bad.safetensors", weights);
    const Outcome begun = box.run("train tiny.toml --out " + family +
                                  " --train.steps 1 --optimizer.lr 0 --data.valid_fraction 0 "
                                  "--train.init_from bad.safetensors" +
                                  model);
    CHECK(begun.exit_code == kFailure);  // the file itself is whole, so the run begins
  }
  const std::string message = "the model's predictions are not finite numbers";
  for (const std::string command :
       {"fill bert/checkpoints/step-000000 --text [MASK]", "generate gpt/checkpoints/step-000000 --prompt a",
        "generate gpt/checkpoints/step-000000 --temperature 0", "eval gpt/checkpoints/step-000000 --text text.txt",
        "surprisal gpt/checkpoints/step-000000 --text text.txt"}) {
    CAPTURE(command);
    const Outcome outcome = box.run(command + " -q");
    CHECK(outcome.exit_code == kFailure);
    CHECK(outcome.tells(message));
    CHECK(is_one_line(outcome.err));
  }
}

TEST_CASE("signals: SIGHUP saves like SIGTERM, and one that was ignored from the start stays ignored") {
  const Sandbox box("gpt");
  SUBCASE("SIGHUP, and SIGXCPU of a soft limit of CPU time") {
    for (const int signal : {SIGHUP, SIGXCPU}) {
      const std::string run = "run" + std::to_string(signal);
      const auto process = box.start("train tiny.toml --train.steps 100000 --out " + run);
      wait_until(*process, [&] { return lines_of(box, run) >= 6; });
      process->send(signal);
      const Outcome outcome = process->wait();
      CHECK(outcome.exit_code == 0);
      CHECK(outcome.tells("stopped at step "));
      check_saved_at_last_step(box, run);
    }
  }
  SUBCASE("nohup") {
    const auto process =
        start_in_shell(box, "trap '' HUP INT; exec \"$0\" train tiny.toml --out run --train.steps 100000");
    wait_until(*process, [&] { return lines_of(box, "run") >= 6; });
    process->send(SIGHUP);
    process->send(SIGINT);
    const std::size_t lines = lines_of(box, "run");
    wait_until(*process, [&] { return lines_of(box, "run") >= lines + 20; });
    CHECK(process->running());
    process->send(SIGTERM);
    CHECK(process->wait().exit_code == 0);
  }
}

TEST_CASE("signals: a reader of the messages that goes away ends a training, which is saved") {
  const Sandbox box("gpt");
  SUBCASE("a pipe") {
    start_in_shell(box,
                   "{ timeout 60 \"$0\" train tiny.toml --out run --train.steps 1000000 2>&1; echo $? > code; } | grep "
                   "-m 1 '^step '")
        ->wait();
    CHECK(box.read("code") == "0\n");
    check_saved_at_last_step(box, "run");
  }
  SUBCASE("a pipe, and SIGPIPE is ignored") {
    start_in_shell(box,
                   "trap '' PIPE; { timeout 60 \"$0\" train tiny.toml --out run --train.steps 40 2>&1 >out; echo $? > "
                   "code; } | head -n 1")
        ->wait();
    CHECK(box.read("code") == "0\n");
    CHECK(box.read("run/checkpoints/latest") == "step-000040\n");
  }
  SUBCASE("a terminal that the training does not belong to, so that it gets no SIGHUP") {
    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(terminal >= 0);
    REQUIRE((::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0));
    const std::string name = ::ptsname(terminal);
    const auto process =
        start_in_shell(box, "exec timeout 60 \"$0\" train tiny.toml --out run --train.steps 1000000 2> " + name);
    wait_until(*process, [&] { return lines_of(box, "run") >= 6; });
    CHECK(process->running());
    ::close(terminal);
    CHECK(process->wait().exit_code == 0);
    check_saved_at_last_step(box, "run");
  }
}

TEST_CASE("signals: a training that is asked to stop while it prepares its data ends in order, and makes no run" *
          long_test()) {
  const Sandbox box("gpt");
  const auto check_stopped = [&](Process& process, const std::string& part, int signal) {
    CAPTURE(signal);
    wait_until(process, [&] { return is_caching(box, part); });
    process.send(signal);
    const Outcome outcome = process.wait();
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err == "info: stopped before the training began: no run was made\n");
    CHECK(outcome.out == "");
    CHECK_FALSE(box.has("run"));
    CHECK_FALSE(is_caching(box, part));
  };
  SUBCASE("waiting for its input") {
    REQUIRE(::mkfifo((box / "pipe").c_str(), 0600) == 0);
    for (const int signal : {SIGTERM, SIGHUP, SIGUSR1, SIGINT}) {
      // The shell opens the pipe to write as well: it has no end.
      const auto process = start_in_shell(box, "exec \"$0\" train tiny.toml --out run --data.text - <> pipe");
      check_stopped(*process, "standard-input", signal);
    }
  }
  SUBCASE("encoding the text") {
    box.write("text.txt", box.run("corpus stories --lines 60000").out);
    const auto process = box.start("train tiny.toml --out run");
    check_stopped(*process, "train-", SIGTERM);
  }
}

TEST_CASE("descriptors: closed outputs let no message into a run's files") {
  const Sandbox box("gpt");
  box.train("straight", "--train.steps 12");
  const auto process = start_in_shell(box, "exec \"$0\" train tiny.toml --out run --train.steps 12 <&- >&- 2>&-");
  CHECK(process->wait().exit_code == kFailure);  // its last lines have nowhere to go
  check_same_run(box, "straight", "run");
  const auto other = start_in_shell(box, "exec \"$0\" train tiny.toml --out other --train.steps 12 <&- 2>&-");
  CHECK(other->wait().exit_code == 0);
  check_same_run(box, "straight", "other");
}

TEST_CASE("folders: a run that is renamed or removed while it trains ends with an error, and is not made again") {
  const Sandbox box("gpt");
  for (const bool renamed : {true, false}) {
    const auto process = box.start("train tiny.toml --out run --train.steps 100000");
    wait_until(*process, [&] { return lines_of(box, "run") >= 6; });
    std::error_code error;
    if (renamed) fs::rename(box / "run", box / "moved");
    while (box.has("run")) fs::remove_all(box / "run", error);  // again when the training has added a file meanwhile
    const Outcome outcome = process->wait();
    INFO(outcome.err);
    CHECK(outcome.exit_code == kFailure);
    CHECK_FALSE(box.has("run"));
    CHECK_FALSE(outcome.tells("go on with"));
    if (renamed) {
      CHECK(outcome.tells("tapeformer: run: the run's folder has been removed or renamed during the training\n"));
      CHECK(box.run("train --resume moved --train.max_minutes 1e-9").exit_code == 0);
    }
  }
}

#if !defined(TAPEFORMER_ADDRESS_SANITIZER)  // its heap keeps what is freed for a while
TEST_CASE("memory: a resumed run takes no more than one from the start, and a reader holds the weights once") {
  const Sandbox box("gpt");
  // 13 million parameters, next to no activations.
  const std::string shape =
      "--model.dim 512 --model.layers 4 --train.batch 1 --train.accumulate 1 --eval.every 0 --checkpoint.every 0 "
      "--optimizer.lr 1e-4";
  const Outcome begun = box.run("train tiny.toml --out run --train.steps 2 " + shape);
  REQUIRE(begun.exit_code == 0);
  const Outcome resumed = box.run("train --resume run --train.steps 4");
  REQUIRE(resumed.exit_code == 0);
  CHECK(static_cast<double>(resumed.peak_bytes) <= 1.03 * static_cast<double>(begun.peak_bytes));

  box.write("short.txt", box.read("text.txt").substr(0, 300));
  const auto weights = static_cast<double>(fs::file_size(box / "run/checkpoints/step-000004/model.safetensors"));
  const auto nothing = static_cast<double>(box.run("--version").peak_bytes);
  CHECK(weights > 40e6);
  for (const std::string command : {"generate run --tokens 2", "eval run --text short.txt --batch 1"}) {
    CAPTURE(command);
    const Outcome outcome = box.run(command);
    REQUIRE(outcome.exit_code == 0);
    CHECK(static_cast<double>(outcome.peak_bytes) < nothing + 1.4 * weights);
  }
}

TEST_CASE("memory: surprisal --json keeps no JSON of the tokens that it has written") {
  const Sandbox box("gpt");
  const std::string text = box.run("corpus stories --lines 400").out;
  box.write("long.txt", text);
  box.write("short.txt", text.substr(0, text.size() / 10));
  box.train("run", "--data.text long.txt --train.steps 2 --eval.every 0 --model.layers 1");
  const Outcome few = box.run("surprisal run --json --text short.txt"),
                many = box.run("surprisal run --json --text long.txt");
  REQUIRE(many.exit_code == 0);
  const auto tokens = static_cast<std::int64_t>(many.json()["tokens"].size() - few.json()["tokens"].size());
  CHECK(tokens > 80000);
  CHECK(many.peak_bytes - few.peak_bytes < 100 * tokens);
}
#endif

TEST_CASE("output: a run ends in bits per byte, as eval counts them") {
  const Sandbox box("gpt");
  const std::string text = box.read("text.txt");
  box.write("valid.txt", text.substr(0, 1500));
  const Outcome outcome = box.run("train tiny.toml --out run --train.steps 10 --eval.batches 0 --data.valid valid.txt");
  const double bits = box.run("eval run --text valid.txt --json").json()["bits_per_byte"];
  const std::size_t begin = outcome.out.find("nats per token, ");
  REQUIRE(begin != std::string::npos);
  CHECK(outcome.out.find(" bits per byte, at step 10\n") != std::string::npos);
  CHECK(std::stod(outcome.out.substr(begin + 16)) == doctest::Approx(bits).epsilon(1e-4));
  CHECK(box.metrics("run").back()["eval_bits_per_byte"] == doctest::Approx(bits).epsilon(1e-6));
  // The bytes of a part of the text are not known.
  const Outcome part = box.run("train tiny.toml --out part --train.steps 10 --eval.batches 1 --data.valid valid.txt");
  CHECK(part.out.find("per byte") == std::string::npos);
  CHECK(part.out.find("nats per token, at step ") != std::string::npos);
}

TEST_CASE("output: label smoothing is named where its loss is shown, and metrics have the plain loss beside it") {
  const Sandbox box("gpt");
  box.train("plain", "--train.steps 3 --optimizer.lr 0");
  const Outcome outcome =
      box.run("train tiny.toml --out run --train.steps 3 --optimizer.lr 0 --train.label_smoothing 0.2");
  CHECK(outcome.tells("  label-smoothed loss "));
  const auto plain = box.metrics("plain"), smoothed = box.metrics("run");
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK_FALSE(plain[i].contains("unsmoothed_loss"));
    CHECK(smoothed[i]["unsmoothed_loss"].get<double>() ==
          doctest::Approx(plain[i]["loss"].get<double>()).epsilon(1e-6));
    CHECK_FALSE(smoothed[i]["loss"] == smoothed[i]["unsmoothed_loss"]);
  }
}
