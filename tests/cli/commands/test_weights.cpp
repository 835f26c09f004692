// Which weights the commands read that are given the folder of a run.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

using Json = nlohmann::ordered_json;

namespace {

// A run that learns a short text by heart: its validation loss is smallest long before the end.
const Sandbox& overfitted() {
  static const Sandbox box;
  if (box.has("run")) return box;
  box.prepare_toy("gpt");
  box.write("text.txt", box.run("corpus markov --lines 200").out.substr(0, 700));
  const Outcome outcome = box.succeed(
      "train tiny.toml --out run --train.steps 300 --eval.every 30 --eval.batches 0 --model.dim 48 "
      "--model.dropout 0 --schedule.kind constant --checkpoint.every 30 --checkpoint.keep 0 "
      "--checkpoint.average 3 --train.matmul highest");
  INFO(outcome.err);
  box.write("summary.txt", outcome.out);
  box.write_valid();
  return box;
}

struct Best {
  double loss = INFINITY;
  std::string step;
};

Best best_of(const Sandbox& box, const std::string& run) {
  Best best;
  for (const Json& line : box.metrics(run)) {
    if (line.contains("eval_loss") && line["eval_loss"].get<double>() < best.loss)
      best = {line["eval_loss"], std::to_string(line["step"].get<int>())};
  }
  return best;
}

}  // namespace

TEST_CASE("weights: a run's folder means the best ones, and every command says which it reads" * long_test()) {
  const Sandbox& box = overfitted();
  const Best best = best_of(box, "run");
  REQUIRE(best.step == "60");
  const std::string text = " --text valid.txt --json";
  const Json result = json_of(box, "eval run" + text);
  CHECK(result["loss"].get<double>() == doctest::Approx(best.loss).epsilon(1e-6));
  const Json last = box.metrics("run").back();
  REQUIRE(last["averaged"] == Json({240, 270, 300}));
  REQUIRE(last["average_loss"].get<double>() > best.loss);
  CHECK(result["checkpoint"] == "step-000060");
  CHECK(json_of(box, "eval run --checkpoint best" + text) == result);
  const Json average = json_of(box, "eval run --checkpoint average" + text);
  CHECK(average["loss"].get<double>() == doctest::Approx(last["average_loss"].get<double>()).epsilon(1e-6));
  CHECK(average["checkpoint"] == "average");
  CHECK(json_of(box, "eval run --checkpoint latest" + text)["checkpoint"] == "step-000300");
  CHECK(json_of(box, "eval run --checkpoint 90" + text)["checkpoint"] == "step-000090");

  const std::string said = "weights: step 60 (best)\n";
  for (const std::string command : {"generate run --prompt abc --tokens 1", "surprisal run --prompt abc",
                                    "attention run --text abc --json", "embed run --text abc", "neighbours run a"}) {
    CAPTURE(command);
    const Outcome outcome = box.run(command);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.tells(said));
    CHECK(box.run(command + " --checkpoint 90").tells("weights: step 90\n"));
    CHECK(box.run(command + " -q").err == "");
    check_error(box, kFailure, "--checkpoint 75: run has no such checkpoint; it has step 30, …",
                command + " --checkpoint 75");
  }
  check_error(box, kUsage, "--checkpoint: expected latest, best, average or a step, got newest",
              "eval run --checkpoint newest" + text);
  // Another run begins with the same weights.
  REQUIRE(box.run("train tiny.toml --out from-run --model.dim 48 --train.steps 1 --train.init_from run").exit_code ==
          0);
  const std::string weights = "/model.safetensors";
  CHECK(box.read("from-run/checkpoints/step-000000" + weights) == box.read("run/checkpoints/step-000060" + weights));
}

TEST_CASE("weights: the summary of a training says which are meant, and in plain words that it overfitted" *
          long_test()) {
  const Sandbox& box = overfitted();
  const std::string summary = box.read("summary.txt");
  const std::string step = best_of(box, "run").step;
  INFO(summary);
  CHECK(summary.find("weights that commands read: step " + step +
                     " (best); the average of the last ones has validation loss ") != summary.npos);
  CHECK(summary.find("overfitting: after step " + step + " the training loss fell from ") != summary.npos);
  CHECK(summary.find(" the model learns its training data by heart; ") != summary.npos);
  // The sample is of these weights too.
  const std::string sample = json_of(box, "generate run --json --tokens 100", {"--prompt", "\n"})["text"];
  CHECK(summary.find("\na sample:\n" + sample) != summary.npos);
  const Outcome short_run = box.run("train tiny.toml --out short --train.steps 10 --eval.batches 0");
  CHECK(short_run.exit_code == 0);
  CHECK(short_run.out.find("overfitting") == short_run.out.npos);
  CHECK(short_run.out.find("weights that commands read: step 10 (best, latest)\n") != short_run.out.npos);
}

TEST_CASE("weights: without validation data a run's folder means the newest") {
  const Sandbox box("gpt");
  const Outcome outcome =
      box.run("train tiny.toml --out run --train.steps 8 --data.valid_fraction 0 --checkpoint.average 2");
  CHECK(outcome.out.find("weights that commands read: step 8 (latest); the average of the last ones was not evaluated: "
                         "--checkpoint average reads it\n") != outcome.out.npos);
  CHECK(json_of(box, "eval run --text text.txt --json")["checkpoint"] == "step-000008");
  CHECK(json_of(box, "eval run --checkpoint average --text text.txt --json")["checkpoint"] == "average");
  check_error(box, kFailure,
              "--checkpoint best: run has no such checkpoint; it has step 4, step 8 (latest) and the average",
              "eval run --text text.txt --checkpoint best");
}

TEST_CASE("weights: a validation that no longer compares leaves no best, until there is another one") {
  const Sandbox box("gpt");
  const std::string text = box.read("text.txt");
  box.write("valid.txt", text.substr(0, text.size() / 4));
  box.train("run", "--train.steps 8 --data.valid valid.txt --eval.every 2");
  REQUIRE(box.has("run/checkpoints/best"));
  box.write("valid.txt", text.substr(0, text.size() / 3));
  REQUIRE(box.run("train --resume run --train.steps 100 --train.max_minutes 1e-9 --eval.every 50").exit_code == 0);
  CHECK(json_of(box, "eval run --text valid.txt --json")["checkpoint"] == "step-000009");
  CHECK(json_of(box, "runs run --json")[0]["best_loss"].is_null());
}
