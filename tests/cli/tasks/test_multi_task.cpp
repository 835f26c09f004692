// Several tasks at once from the command line: training, eval of each task, and the commands for one of them.
#include <doctest/doctest.h>

#include "tests/cli/sandbox.h"

using Json = nlohmann::ordered_json;

TEST_CASE("multi_task: a run is trained, evaluated task by task, asked, and gives the weights of another") {
  const Sandbox box("multi_task");
  const Outcome outcome = box.succeed("train tiny.toml --out run --train.steps 20 --tasks.text.weight=0.25");
  CHECK(outcome.tells("tags: tag, 40 examples or rows of text, "));
  CHECK(outcome.tells(", its loss times 0.25"));
  CHECK(outcome.out.find("best validation loss ") != outcome.out.npos);
  CHECK(outcome.tells("next: tapeformer eval run\n"));
  bool names_task = false, evaluates = false;
  for (const Json& line : box.metrics("run")) {
    names_task = names_task || line.value("task", "") == "text";
    evaluates = evaluates || (line.contains("eval_tags_span_f1") && line.contains("eval_text_loss"));
  }
  CHECK(names_task);
  CHECK(evaluates);

  const Json all = json_of(box, "eval run --json");
  CHECK(keys_of(all) == std::vector<std::string>{"tasks", "loss", "checkpoint", "matmul"});
  CHECK(all["loss"].get<double>() ==
        doctest::Approx(
            (all["tasks"]["tags"]["loss"].get<double>() + 0.25 * all["tasks"]["text"]["loss"].get<double>()) / 1.25));
  const Json tags = json_of(box, "eval run --labels valid.tsv --task tags --json");
  CHECK(tags["loss"].get<double>() == doctest::Approx(all["tasks"]["tags"]["loss"].get<double>()).epsilon(1e-6));
  const Json headless = json_of(box, "eval run --json --without-head 0.0");
  CHECK(headless["without_heads"] == Json{"0.0"});
  CHECK(headless["tasks"]["tags"]["loss"] != all["tasks"]["tags"]["loss"]);
  CHECK(json_of(box, "eval run --json --weights q8_0")["weights"] == "q8_0");
  CHECK(json_of(box, "eval run --json --weights q8_0 --labels valid.tsv")["weights"] == "q8_0");
  check_error(box, kUsage, "eval: --task: expected --labels FILE beside it, which that task evaluates",
              "eval run --task tags");
  check_error(box, kUsage,
              "eval: --context and --stride: expected none without input, since the tasks are evaluated as in training",
              "eval run --stride 4");
  CHECK(result_of(box, "eval run").find("by the tasks' weights") != std::string::npos);
  CHECK(result_of(box, "predict run", {}, "Ella lost her red ball.\n").starts_with("Ella\t"));
  CHECK(!result_of(box, "fill run --text", {"Ella lost her [MASK] ball."}).empty());
  CHECK(!result_of(box, "embed run --text Ella").empty());
  CHECK(result_of(box, "runs .").find("tags + text") != std::string::npos);
  CHECK(json_of(box, "info run --json")["parameters"].contains("task.tags"));
  check_error(box, kUsage, "--task: expected one of the run's tasks with labels, tags, got text",
              "predict run --task text", {}, "Ella\n");
  check_error(box, kUsage, "unknown option --tasks.text.wieght: did you mean --tasks.text.weight? (see --help)",
              "train tiny.toml --out other --tasks.text.wieght 1");
  box.succeed(
      "train --out later --train.init_from run --model.type bert --task.kind tag --data.labels train.tsv "
      "--train.steps 2 --train.threads 1");
}
