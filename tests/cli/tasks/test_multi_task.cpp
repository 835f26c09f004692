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
  CHECK(result_of(box, "eval run").find("by the tasks' weights") != std::string::npos);
  CHECK(result_of(box, "predict run", {}, "Ella lost her red ball.\n").starts_with("Ella\t"));
  CHECK(!result_of(box, "fill run --text", {"Ella lost her [MASK] ball."}).empty());
  CHECK(!result_of(box, "embed run --text Ella").empty());
  CHECK(result_of(box, "runs .").find("tags + text") != std::string::npos);
  CHECK(json_of(box, "info run --json --seconds 0")["parameters"].contains("task.tags"));
  CHECK(box.succeed("export run --format hf --out several").tells("the classifiers of the other tasks are left out"));

  // The options of eval change what they say, or are refused.
  const Json without = json_of(box, "eval run --without-head 0.0,0.1 --json");
  CHECK(without["without_heads"] == Json({"0.0", "0.1"}));
  for (const char* task : {"tags", "text"}) CHECK(without["tasks"][task]["loss"] != all["tasks"][task]["loss"]);
  for (const std::string words : {"eval run", "eval run --labels valid.tsv --task tags"}) {
    CAPTURE(words);
    const Json rounded = json_of(box, words + " --weights q8_0 --json"), whole = json_of(box, words + " --json");
    CHECK(rounded["weights"] == "q8_0");
    CHECK(rounded["loss"] != whole["loss"]);
    CHECK(rounded["loss"].get<double>() == doctest::Approx(whole["loss"].get<double>()).epsilon(0.05));
  }
  check_errors(box, kUsage,
               {{"eval run --stride 2",
                 "eval: --context and --stride: expected none, since each task is evaluated as in training"},
                {"eval run --batch 4", "eval: --batch: expected none, since each task is evaluated as in training"},
                {"eval run --labels valid.tsv --task tags --context 9",
                 "eval: --context and --stride: expected none, since examples are read as in training"},
                {"eval run --no-pseudo",
                 "eval: --no-pseudo: expected none, since only a masked language model has a pseudo-perplexity"},
                {"eval run --task tags", "--task requires --labels (see --help)"}});
  check_error(box, kUsage, "--task: expected one of the run's tasks with labels, tags, got text",
              "predict run --task text", {}, "Ella\n");
  check_error(box, kUsage, "unknown option --tasks.text.wieght: did you mean --tasks.text.weight? (see --help)",
              "train tiny.toml --out other --tasks.text.wieght 1");
  // Without a task that trains the family's own head there are vectors, and nothing that reads the head.
  box.succeed("train tiny.toml --out labels --train.steps 2 --tasks.text.weight=0");
  CHECK(!result_of(box, "embed labels --text Ella").empty());
  CHECK(!result_of(box, "neighbours labels Ella").empty());
  box.write("words.tsv", "Ella\tname\n\nsat\tverb\n");
  CHECK(json_of(box, "probe labels --train words.tsv --valid words.tsv --steps 2 --json")["layers"].size() > 1);
  const std::string tuned = "labels: the model is fine-tuned to multi_task, expected ";
  const std::string commands =
      "; for models of several tasks there are eval, predict with --task, embed, neighbours and probe";
  check_error(box, kFailure, tuned + "a model of plain text" + commands, "attention labels --json --text Ella");
  check_error(box, kFailure, tuned + "a model of plain text" + commands, "export labels --format hf --out hf");
  check_error(box, kFailure, tuned + "a masked language model" + commands, "fill labels --text", {"Ella [MASK]"});

  box.succeed(
      "train --out later --train.init_from run --model.type bert --task.kind tag --data.labels train.tsv "
      "--train.steps 2 --train.threads 1");
}

TEST_CASE("multi_task: eval says if the data is another than in training") {
  const Sandbox box("multi_task");
  box.train("run", "--train.steps 2");
  CHECK_FALSE(box.succeed("eval run").tells("is another than"));
  box.write("valid.tsv", box.read("train.tsv"));
  const Outcome changed = box.succeed("eval run");
  CHECK(changed.tells("the validation data is another than in the training of run\n"));
  CHECK_FALSE(changed.tells("the training data is another"));
}
