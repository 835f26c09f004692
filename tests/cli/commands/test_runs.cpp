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
  const Sandbox box("gpt");
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

TEST_CASE("runs: the step is the one from which the run goes on, whatever was logged") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 3");
  const std::string first = lines_in(box.read("run/metrics.jsonl"))[0] + "\n";
  // A run may log fewer steps than it saves, and a killed process has logged more.
  for (const std::string& logged : {first, first + "{\"step\":5,\"loss\":1}\n"}) {
    CAPTURE(logged);
    box.write("run/metrics.jsonl", logged);
    const Json run = json_of(box, "runs run --json")[0];
    CHECK(run["step"] == 3);
    CHECK(run["elapsed_s"] == Json::parse(box.read("run/checkpoints/step-000003/state.json"))["elapsed_s"]);
  }
  // The weights of an evaluation after the newest checkpoint are lost.
  box.write("run/metrics.jsonl",
            "{\"step\":2,\"eval_loss\":2,\"elapsed_s\":1}\n"
            "{\"step\":5,\"eval_loss\":1,\"elapsed_s\":9}\n");
  const Json row = json_of(box, "runs run --json")[0];
  CHECK(row["best_loss"] == 2);
  CHECK(row["elapsed_s"] == 1);
}

TEST_CASE("runs: BLEU is that of the best evaluation, or says of which step it is") {
  const Sandbox box("transformer");
  box.train("run", "--train.steps 3");
  const std::string best = R"({"step": 2, "eval_loss": 1.0)";
  const std::string others = R"({"step": 1, "eval_loss": 2.0, "eval_bleu": 5.0})"
                             "\n" +
                             best + "%\n" + R"({"step": 3, "eval_loss": 1.5, "eval_bleu": 9.0})" + "\n";
  const auto row = [&](const std::string& more) {
    std::string metrics = others;
    box.write("run/metrics.jsonl", metrics.replace(metrics.find('%'), 1, more + "}"));
    return box.run("runs run --json").json()[0];
  };
  const Json with = row(R"(, "eval_bleu": 7.0)");
  CHECK(with["best_loss"] == 1.0);
  CHECK(with["measures"]["bleu"] == 7.0);
  CHECK(with["bleu_step"].is_null());
  CHECK(result_of(box, "runs run").find("bleu 7.00 ") != std::string::npos);
  const Json without = row("");
  CHECK(without["best_loss"] == 1.0);
  CHECK(without["measures"]["bleu"] == 9.0);
  CHECK(without["bleu_step"] == 3);
  CHECK(result_of(box, "runs run").find("bleu 9.00 at 3") != std::string::npos);
}

TEST_CASE("runs: a run in training is running, one that was stopped is stopped") {
  const Sandbox box("gpt");
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

TEST_CASE("runs: a training on other weights that was killed before its first step is stopped, not imported") {
  const Sandbox box("gpt");
  box.train("base", "--train.steps 1");
  box.train("all/run", "--train.init_from base --train.steps 3 --checkpoint.keep 0");
  REQUIRE(box.has("all/run/checkpoints/step-000000"));
  // What such a kill leaves: the weights with which the training began, and metrics without a line.
  for (const std::string step : {"step-000001", "step-000002", "step-000003"}) {
    std::filesystem::remove_all(box / ("all/run/checkpoints/" + step));
  }
  std::filesystem::remove(box / "all/run/checkpoints/best");
  box.write("all/run/checkpoints/latest", "step-000000\n");
  box.write("all/run/metrics.jsonl", "");
  const Json killed = box.run("runs all --json").json()[0];
  CHECK(killed["state"] == "stopped");
  CHECK(killed["step"] == 0);
  CHECK(killed["steps"] == 3);
  // An import writes no metrics.
  std::filesystem::remove(box / "all/run/metrics.jsonl");
  const Json imported = box.run("runs all --json").json()[0];
  CHECK(imported["state"] == "imported");
  CHECK(imported["steps"] == 0);
}

TEST_CASE("runs: what is no folder is one line; a folder without runs has an empty table") {
  const Sandbox box;
  check_error(box, kFailure, "none: expected a folder", "runs none");
  box.write("empty/file.txt", "");
  CHECK(box.run("runs empty --json").out == "[]\n");
}

TEST_CASE("runs: a broken run is a warning beside the table of the others; what other programs keep is no run") {
  const Sandbox box("gpt");
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

TEST_CASE("runs: losses of one unit stand together, with the measure of each, its data, and how it ended") {
  const Sandbox box("gpt");
  box.train("all/tokens", "--train.steps 10 --eval.every 5");
  box.write("texts/a.txt", box.read("text.txt"));
  REQUIRE(box.run("train --data.text texts/ --tokenizer.kind char --model.type word2vec --model.dim 8 --train.steps 10 "
                  "--optimizer.weight_decay 0 --train.threads 1 --out all/pairs")
              .exit_code == 0);
  // At such a rate nothing gets better.
  box.train("all/early", "--train.steps 60 --eval.every 2 --eval.patience 1 --optimizer.lr 3");
  box.write("labels.tsv", box.run("corpus tales --lines 30 --labels").out);
  REQUIRE(
      box.run(
             "train tiny.toml --out all/labels --data.labels labels.tsv --task.kind tag --train.steps 30 "
             "--data.valid_labels labels.tsv --eval.every 10 --eval.batches 0 --tokenizer.kind word --model.context 64")
          .exit_code == 0);
  const Json runs = box.run("runs all --json").json();
  REQUIRE(runs.size() == 4);
  CHECK(runs[0]["unit"] == "nats per label");
  CHECK(runs[1]["unit"] == "nats per pair");
  CHECK(runs[2]["unit"] == "nats per token");
  CHECK(runs[3]["unit"] == "nats per token");
  CHECK(runs[2]["best_loss"] < runs[3]["best_loss"]);
  CHECK(runs[0]["data"] == "labels.tsv");
  CHECK(runs[1]["data"] == "texts");
  const auto early = std::ranges::find(runs, "early", [](const Json& run) { return run["run"]; });
  CHECK((*early)["state"] == "stopped early");
  CHECK((*early)["step"].get<int>() < 60);

  // By the measure that chooses the best checkpoint, not by the loss.
  double best = -1, loss = 0;
  for (const Json& line : box.metrics("all/labels")) {
    if (!line.contains("eval_span_f1") || line["eval_span_f1"].get<double>() <= best) continue;
    best = line["eval_span_f1"], loss = line["eval_loss"];
  }
  CHECK(runs[0]["measures"]["span_f1"] == best);
  CHECK(runs[0]["best_loss"] == loss);
  const std::string table = box.run("runs all").out;
  CHECK(table.find(" span_f1 ") != table.npos);
  CHECK(table.find("stopped early\n") != table.npos);
}

TEST_CASE("runs: BLEU is shown, and the average's evaluation where the run's folder means the average") {
  const Sandbox box;
  box.write("all/run/config.toml", "[model]\ntype = \"transformer\"\n[data]\npairs = \"pairs.tsv\"\n");
  const std::string lines =
      "{\"step\":5,\"eval_loss\":3.0,\"eval_bleu\":10.5}\n{\"step\":10,\"eval_loss\":2.5}\n"
      "{\"step\":15,\"eval_loss\":2.75,\"eval_bleu\":12.25}\n";
  box.write("all/run/metrics.jsonl", lines);
  Json run = box.run("runs all --json").json()[0];
  CHECK(run["best_loss"] == 2.5);
  CHECK(run["measures"] == Json{{"bleu", 12.25}});
  box.write("all/run/metrics.jsonl",
            lines + "{\"step\":15,\"averaged\":[10,15],\"average_loss\":2.25,\"average_bleu\":14}\n");
  run = box.run("runs all --json").json()[0];
  CHECK(run["best_loss"] == 2.25);
  CHECK(run["measures"] == Json{{"bleu", 14}});
  CHECK(box.run("runs all").out.find("2.2500     nats per token  bleu 14.00") != std::string::npos);
  box.write("all/run/metrics.jsonl",
            lines + "{\"step\":15,\"averaged\":[10,15],\"average_loss\":2.6,\"average_bleu\":14}\n");
  CHECK(box.run("runs all --json").json()[0]["best_loss"] == 2.5);
}
