// The table of runs in a folder.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <thread>

#include "tests/cli/sandbox.h"

using Json = nlohmann::ordered_json;

TEST_CASE("runs: a row for each run at any depth, the best first, with the numbers of its files") {
  const Sandbox box;
  box.prepare_tiny_run();
  box.train("all/short", "--train.steps 3 --checkpoint.every 2 --eval.every 1");
  box.train("all/deeper/long", "--eval.every 5 --eval.batches 0");
  box.train("all/none", "--data.valid_fraction 0");
  const Json runs = box.run("runs all --json").json();
  REQUIRE(runs.size() == 3);
  CHECK(runs[0]["run"] == "deeper/long");
  CHECK(runs[1]["run"] == "short");
  CHECK(runs[2]["run"] == "none");  // without a validation loss
  CHECK(runs[2]["best_loss"].is_null());
  double best = INFINITY, bits = 0;
  for (const Json& line : box.metrics("all/deeper/long")) {
    if (!line.contains("eval_loss") || line["eval_loss"].get<double>() >= best) continue;
    best = line["eval_loss"].get<double>(), bits = line["eval_bits_per_byte"].get<double>();
  }
  CHECK(runs[0]["best_loss"] == best);
  CHECK(runs[0]["bits_per_byte"] == bits);
  CHECK(runs[0]["type"] == "gpt");
  CHECK(runs[0]["data"] == "text.txt");
  CHECK(runs[0]["parameters"] == box.run("info all/short --seconds 0 --json").json()["parameters"]["total"]);
  CHECK(runs[1]["step"] == 3);
  CHECK(runs[1]["steps"] == 3);
  CHECK(runs[1]["state"] == "finished");

  CHECK(box.run("runs all/short --json").json()[0]["run"] == "all/short");
  std::filesystem::rename(box / "all/none", box / "all/nöné");  // letters of two bytes take one column

  const std::string table = box.run("runs all --sort name").out;
  CHECK(table.starts_with("run          type  parameters"));
  CHECK(std::ranges::count(table, '\n') == 4);
  CHECK(table.find("deeper/long") < table.find("nöné"));
  CHECK(table.find("nöné         gpt") < table.find("short"));
}

TEST_CASE("runs: a run in training is running, one that was stopped is stopped") {
  const Sandbox box;
  box.prepare_tiny_run();
  const auto training = box.start("train tiny.toml --out all/run --train.steps 1000000 --checkpoint.every 5");
  while (!box.has("all/run/checkpoints/latest")) {
    REQUIRE(training->running());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(box.run("runs all --json").json()[0]["state"] == "running");
  training->send(SIGTERM);
  CHECK(training->wait().exit_code == 0);
  const Json stopped = box.run("runs all --json").json()[0];
  CHECK(stopped["state"] == "stopped");
  CHECK(stopped["step"].get<int>() < 1000000);
}

TEST_CASE("runs: what is no folder is one line; a folder without runs has an empty table") {
  const Sandbox box;
  check_error(box, kFailure, "none: expected a folder", "runs none");
  box.write("empty/file.txt", "");
  CHECK(box.run("runs empty --json").out == "[]\n");
}

TEST_CASE("runs: a broken run is a warning beside the table of the others; what other programs keep is no run") {
  const Sandbox box;
  box.prepare_tiny_run();
  box.train("all/run", "--train.steps 2");
  box.write("all/broken/config.toml", "no table");
  box.write("all/broken/metrics.jsonl", "");
  box.write("all/.cargo/config.toml", "[build]\n");
  const Outcome outcome = box.run("runs all --json");
  CHECK(outcome.exit_code == 0);
  REQUIRE(outcome.json().size() == 1);
  CHECK(outcome.json()[0]["run"] == "run");
  CHECK(outcome.tells("all/broken: "));
  CHECK_FALSE(outcome.tells(".cargo"));
}
