// Trainings that are planned for so many minutes.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>

#include "core/error.h"
#include "core/text/joined.h"

#include "tests/cli/training/resume_support.h"
#include "tests/long_test.h"
#include "train/config/run_config.h"

using tapeformer::joined;

namespace {

// The keys of the plan that a command has told on standard error, or `info` as JSON.
std::vector<std::string> planned_keys(const Outcome& outcome) {
  std::vector<std::string> keys;
  for (const std::string& line : lines_in(outcome.err)) {
    const std::string begin = "info:   ";
    if (line.starts_with(begin) && line[begin.size()] != ' ')
      keys.push_back(line.substr(begin.size(), line.find(' ', begin.size()) - begin.size()));
  }
  return keys;
}

const std::string kSecond = " --minutes 0.02 --data.text text.txt --data.valid_fraction 0.2 --eval.batches 0";

}  // namespace

TEST_CASE("planning: a text alone is enough; the run's config.toml has the plan, resumes and repeats" * long_test()) {
  const Sandbox box("gpt");
  const Outcome run = box.succeed("train --out run" + kSecond);
  INFO(run.err);
  CHECK(run.tells("info: the plan for 0.02 min:\n"));
  CHECK(run.tells(" of 0.02 min"));
  CHECK(run.out.starts_with("best validation loss "));
  CHECK(run.out.find("a Kneser-Ney 5-gram of the same tokens") != std::string::npos);
  const nlohmann::ordered_json info = json_of(box, "info --seconds 0 --json" + kSecond);
  std::vector<std::string> keys;
  for (const auto& key : info["plan"]) keys.push_back(key["key"]);
  CHECK(joined(keys, " ") == joined(planned_keys(run), " "));
  CHECK(result_of(box, "info --seconds 0" + kSecond).find("\nplan\n  train.minutes ") != std::string::npos);

  const std::string config = box.read("run/config.toml");
  CHECK(config.find("\nminutes = 0.02 ") != std::string::npos);
  CHECK(config.find("\nname = \"muon\" ") != std::string::npos);
  box.succeed("train run/config.toml --out again");
  CHECK(box.read("again/config.toml") == config);
  const std::int64_t last = box.metrics("run").back()["step"];
  const Outcome more = box.succeed("train --resume run --minutes 30 --train.max_minutes 1e-9");
  CHECK(more.tells("info: train.minutes is now 30.0\n"));
  CHECK(more.tells(tapeformer::str_cat("info: out of time at step ", last + 1)));
}

TEST_CASE("planning: minutes take the place of the steps in a file; given keys stay") {
  const Sandbox box("gpt");
  const Outcome run = box.succeed("train tiny.toml --minutes 0.02 --model.layers 1 --out run");
  INFO(run.err);
  CHECK(run.tells("info: --minutes replaces train.steps = "));
  const std::vector<std::string> keys = planned_keys(run);
  for (const std::string key : {"model.layers", "model.dim", "train.batch"}) {
    CHECK(std::ranges::count(keys, key) == 0);
  }
  CHECK(std::ranges::count(keys, "train.minutes") == 1);
  CHECK(std::ranges::count(keys, "model.qk_norm") == 1);
}

TEST_CASE("planning: of a long validation text the beginning is evaluated, and compared in bits per byte with xz") {
  const Sandbox box("gpt");
  std::string valid;
  while (valid.size() < 3'000'000) valid += box.read("text.txt");
  box.write("valid.txt", valid);
  const Outcome run = box.succeed("train --minutes 0.02 --data.text text.txt --data.valid valid.txt --out run");
  INFO(run.err, run.out);
  CHECK(std::ranges::count(planned_keys(run), "data.valid_bytes") == 1);
  CHECK(run.out.find(" bits per byte, at step ") != std::string::npos);
  CHECK(run.out.find(", xz ") != std::string::npos);
  // Evaluating the text that the run has evaluated counts the same bits.
  const std::int64_t bytes = tapeformer::load_run_config(box / "run/config.toml").data.valid_bytes;
  REQUIRE(bytes < std::ssize(valid) / 2);
  box.write("part.txt", valid.substr(0, bytes));
  const double bits = json_of(box, "eval run --text part.txt --checkpoint latest --json")["bits_per_byte"];
  CHECK(box.metrics("run").back()["eval_bits_per_byte"] == doctest::Approx(bits).epsilon(1e-6));
}

TEST_CASE("planning: a few JSON lines are read by characters, and no token looks at another document") {
  const Sandbox box("gpt");
  std::string lines;
  for (int i = 0; i < 300; ++i) lines += "{\"text\": \"A short document, " + std::to_string(i) + ".\"}\n";
  box.write("documents.jsonl", lines);
  const Outcome run = box.succeed("train --data.text documents.jsonl --minutes 0.02 --out run");
  INFO(run.err);
  const tapeformer::Config config = tapeformer::load_run_config(box / "run/config.toml");
  CHECK((config.tokenizer.kind == tapeformer::TokenizerKind::character));
  CHECK(config.data.within_document);
}

TEST_CASE("planning: on resume, minutes take the place of the steps that a run has done") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 2 --schedule.kind wsd --schedule.total 0");
  const Outcome more = box.succeed("train --resume run --minutes 0.01");
  INFO(more.err);
  CHECK(more.tells("info: train.minutes is now 0.01\n"));
  CHECK_FALSE(more.tells("nothing left to train"));
  CHECK(box.metrics("run").back()["step"] > 2);
}

TEST_CASE("planning: wrong uses are refused in one line") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 2");
  box.write("short.txt", "too short");
  box.write("empty.txt", "");
  check_error(box, kFailure, (box / "empty.txt").string() + " is empty, expected text",
              "train --data.text empty.txt --out new --minutes 1");
  check_errors(
      box, kUsage,
      {{"train --data.text text.txt --out new --minutes 0", "--minutes: expected a number above 0, got 0"},
       {"train --data.text text.txt --out new --minutes 1e300",
        "--minutes: expected at most 5270400 (ten years), got 1e300"},
       {"train --data.text text.txt --out new --minutes soon", "--minutes: expected a number above 0, got soon"},
       {"train --data.text text.txt --out new --minutes 1 --train.steps 5",
        "--minutes: expected no --train.steps beside it: the minutes say when the training ends"},
       {"train --data.text text.txt --out new --minutes 1 --train.minutes 5",
        "--minutes: expected no --train.minutes beside it: the minutes say when the training ends"},
       {"train --data.text text.txt --out new --minutes 1 --schedule.kind cosine",
        "schedule.kind: expected wsd beside train.minutes, whose end is a cool-down, got cosine"},
       {"train --data.text short.txt --out new --minutes 1",
        "--minutes: expected at least 512 tokens of text, got about …"},
       {"train --out new --minutes 1", "data: expected one of data.text, …"},
       {"train --resume run --minutes 1", "schedule.kind: expected wsd beside train.minutes, …"},
       {"train --resume run --minutes 1 --train.steps 5", "--minutes: expected no --train.steps beside it: …"},
       {"info run --minutes 1", "--minutes: expected a configuration, got the run run, which has its keys already"},
       {"info", "info: expected CONFIG.toml or RUN, or --minutes, got none (see --help)"}});
}

TEST_CASE("planning: parallel text, labels, conversations and fine-tuning are planned too" * long_test()) {
  const Sandbox box("transformer");
  CHECK(box.succeed("train --data.pairs pairs.tsv --minutes 0.02 --out pairs").tells("  tokenizer.kind "));
  box.prepare_toy("tag");
  const Outcome scratch = box.succeed("train --task.kind tag --data.labels train.tsv --minutes 0.02 --out scratch");
  CHECK(std::ranges::count(planned_keys(scratch), "model.type") == 1);
  CHECK(scratch.out.starts_with("best validation span_f1 "));
  box.prepare_toy("bert");
  box.train("bert", "--train.steps 2");
  const Outcome tuned =
      box.succeed("train --task.kind tag --data.labels train.tsv --train.init_from bert --minutes 0.02 --out tuned");
  INFO(tuned.err);
  CHECK(tuned.tells("info: as in "));
  CHECK(tuned.tells("info: the weights and the tokenizer are those of "));
  const std::vector<std::string> keys = planned_keys(tuned);
  CHECK(std::ranges::count(keys, "model.layers") + std::ranges::count(keys, "tokenizer.kind") == 0);
  CHECK(std::ranges::count(keys, "optimizer.lr") == 1);
  box.prepare_toy("instructions");
  const Outcome chat = box.succeed("train --data.conversations chat.jsonl --minutes 0.02 --out chat");
  CHECK(std::ranges::count(planned_keys(chat), "model.context") == 1);
  CHECK(chat.out.starts_with("best validation loss "));
  CHECK(box.succeed("train --data.conversations chat.jsonl --train.init_from chat --minutes 0.02 --out on")
            .tells("  trained weights need small steps, not Muon's\n"));
}

TEST_CASE("planning: Ctrl-C while the speed is measured ends it, and makes no run") {
  const Sandbox box("gpt");
  const auto process = box.start("train --data.text text.txt --minutes 300 --out new");
  const auto is_measuring = [&] {
    for (const std::string& name : names_in(box / "")) {
      if (name.starts_with(".process-") && box.read(name).find("measuring how fast") != std::string::npos) return true;
    }
    return false;
  };
  wait_until(*process, is_measuring);
  process->send(SIGINT);
  const Outcome outcome = process->wait();
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.tells("info: stopped before the training began: no run was made\n"));
  CHECK_FALSE(box.has("new"));
}
