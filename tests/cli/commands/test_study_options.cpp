// With which options a study trains its runs.
#include <doctest/doctest.h>

#include "cli/study/measurer.h"
#include "cli/study/study_file.h"
#include "cli/study/study_result.h"
#include "cli/study/study_runs.h"
#include "core/error.h"
#include "report/study_page.h"
#include "tests/cli/sandbox.h"
#include "tests/report/browser.h"

using namespace tapeformer::cli;

TEST_CASE("study: what a variant or the command line gives takes the place of the study's option, a list too") {
  const Sandbox box;
  box.write("lists.toml",
            "title = \"t\"\nclaim = \"c\"\n[options]\ndata.text = [\"a.txt\", \"b.txt\"]\ntrain.steps = 2\n"
            "[[variants]]\nname = \"v\"\ndata.text = \"c.txt\"\ntrain.lora.targets = [\"q\", \"v\"]\n");
  const Study study = load_study(box / "lists.toml");
  const StudyRun run{.variant = 0, .seed = 5, .folder = {}};
  CHECK(run_options(study, run, {}) == TrainOptions{"--train.steps", "2", "--data.text", "c.txt",
                                                    "--train.lora.targets", "q", "v", "--train.seed", "5"});
  CHECK(run_options(study, run, {"--data.text", "d.txt", "e.txt"}) ==
        TrainOptions{"--train.steps", "2", "--train.lora.targets", "q", "v", "--train.seed", "5", "--data.text",
                     "d.txt", "e.txt"});
}

TEST_CASE("study: seeds are different, and a command has words") {
  const Sandbox box;
  const std::string file = (box / "bad.toml").string(), variant = "[[variants]]\nname = \"a\"\n";
  const auto check_refused = [&](const std::string& lines, const std::string& message) {
    box.write("bad.toml", "title = \"t\"\nclaim = \"c\"\n" + lines);
    CHECK_THROWS_WITH_AS(load_study(file), (file + message).c_str(), tapeformer::UsageError);
  };
  check_refused("seeds = [2, 3, 2]\n" + variant, ": seeds: expected a list of different whole numbers of at least 0");
  check_refused(variant + "[[measures]]\nname = \"m\"\nvalue = \"step\"\ncommand = []\n",
                ": measures 1: command: expected a list of words");
}

TEST_CASE("study: two variants at one place of a line, of which the picture would show one, are refused") {
  const Sandbox box;
  const auto variant = [](const std::string& name, const std::string& place) {
    return "[[variants]]\nname = \"" + name + "\"\n" + place + "\n";
  };
  const std::string head = "title = \"t\"\nclaim = \"c\"\n";
  const std::string file = (box / "same.toml").string();
  box.write("same.toml", head + variant("a", "x = 1.5") + variant("b", "x = 2") + variant("c", "x = 1.5"));
  CHECK_THROWS_WITH_AS(load_study(file),
                       (file + ": the variants a and c have the same x, 1.5: give each a line of its own").c_str(),
                       tapeformer::UsageError);
  const auto measure = [](const std::string& name, const std::string& place) {
    return "[[measures]]\nname = \"" + name + "\"\nmetrics = \"lr\"\n" + place + "\n";
  };
  box.write("same.toml",
            head + variant("a", "") + measure("m", "x = 3\nline = \"l\"") + measure("n", "x = 3\nline = \"l\""));
  CHECK_THROWS_WITH_AS(load_study(file),
                       (file + ": the measures m and n have the same x, 3: give each a line of its own").c_str(),
                       tapeformer::UsageError);
  box.write("lines.toml", head + variant("a", "x = 1.5") + variant("b", "") + variant("c", "x = 1.5\nline = \"l\"") +
                              variant("d", ""));
  CHECK(load_study(box / "lines.toml").variants.size() == 4);
}

TEST_CASE("study: the name of the x axis is never read as HTML") {
  if (!has_browser()) return;
  const Sandbox box;
  std::vector<StudyRun> runs;
  for (const char* const folder : {"a-1", "b-1"}) {
    box.write(std::string(folder) + "/config.toml", "[model]\n");
    box.write(std::string(folder) + "/metrics.jsonl", "{\"step\":1,\"eval_loss\":0.5}\n");
    runs.push_back({.variant = runs.size(), .seed = 1, .folder = box / folder, .values = {{"loss", 0.5}}});
  }
  box.write("odd.toml",
            "title = \"t\"\nclaim = \"c\"\nx_label = \"P(a<b) <img src=x>\"\n"
            "[[variants]]\nname = \"a\"\nx = 1\n[[variants]]\nname = \"b\"\nx = 2\n");
  const std::string dom =
      opened(tapeformer::study_page(with_curves(study_json(load_study(box / "odd.toml"), runs, {}), runs)));
  CHECK(dom.find(">P(a&lt;b) &lt;img src=x&gt;</div>") != std::string::npos);
}

TEST_CASE("study: a measure takes an option of one value, not a part of a list") {
  const Sandbox box;
  const std::string file = (box / "list.toml").string();
  box.write(
      "list.toml",
      "title = \"t\"\nclaim = \"c\"\n[options]\ndata.valid = [\"a.txt\", \"b.txt\"]\n[[variants]]\nname = \"v\"\n"
      "[[measures]]\nname = \"m\"\nvalue = \"loss\"\ncommand = [\"eval\", \"{run}\", \"--text\", \"{data.valid}\"]\n");
  const Study study = load_study(file);
  const StudyRun run{.variant = 0, .seed = 1, .folder = box / "v-1"};
  const StudyMeasure& measure = study.measures.back();
  CHECK_THROWS_WITH_AS(measuring_command(study, measure, run, {}),
                       (file + ": m: expected one value of --data.valid, got 2").c_str(), tapeformer::UsageError);
  CHECK(measuring_command(study, measure, run, {"--data.valid", "c.txt", "--train.steps", "2"}) ==
        std::vector<std::string>{"eval", run.folder.string(), "--text", "c.txt"});
}

TEST_CASE("study: runs of a training text that has changed since are not compared with those of the new one") {
  const Sandbox box("gpt");
  box.write("s.toml",
            "title = \"t\"\nclaim = \"c\"\nconfig = \"tiny.toml\"\n[options]\ntrain.steps = 2\n"
            "data.valid = \"valid.txt\"\n[[variants]]\nname = \"a\"\n[[variants]]\nname = \"b\"\n");
  const std::string text = box.read("text.txt");
  box.write("valid.txt", text);
  box.succeed("study s.toml");
  box.succeed("study s.toml");
  std::filesystem::remove_all(box / "studies/s/b-1");
  box.write("text.txt", text + text);
  const std::string message =
      "studies/s/a-1: the training data is another than the run began with: remove studies/s, or name another folder "
      "by --out";
  check_error(box, kFailure, message, "study s.toml");
  CHECK_FALSE(std::filesystem::exists(box / "studies/s/b-1"));
  check_error(box, kFailure, message, "study s.toml");
}

TEST_CASE("study: a training that fails is told by one whose caller ignores the ends of children too") {
  const Sandbox box("gpt");
  box.write("heads.toml",
            "title = \"t\"\nclaim = \"c\"\nconfig = \"tiny.toml\"\n[[variants]]\nname = \"a\"\nmodel.heads = 3\n");
  const std::string ignoring = "$SIG{CHLD} = 'IGNORE'; exec @ARGV";
  const Outcome outcome =
      Process(box / ".", {"/usr/bin/perl", "-e", ignoring, TAPEFORMER_BINARY, "study", "heads.toml"}, "").wait();
  CHECK(outcome.exit_code == kFailure);
  CHECK(outcome.tells("tapeformer: a: model.heads: expected a divisor of model.dim"));
}

TEST_CASE("study: --list stands alone") {
  const Sandbox box;
  check_errors(box, kUsage,
               {{"study warmup --list", "study excludes --list (see --help)"},
                {"study --list --out new", "--out excludes --list (see --help)"}});
}

TEST_CASE("study: the page has the unit of the validation losses") {
  using Json = nlohmann::ordered_json;
  const Sandbox box;
  box.write("vectors-1/config.toml", "[model]\ntype = \"glove\"\n");
  box.write("vectors-1/metrics.jsonl", "{\"step\":1,\"eval_loss\":0.5}\n{\"step\":2,\"eval_loss\":0.25}\n");
  box.write("vectors.toml", "title = \"t\"\nclaim = \"c\"\n[[variants]]\nname = \"vectors\"\n");
  const Study study = load_study(box / "vectors.toml");
  const StudyRun run{.variant = 0, .seed = 1, .folder = box / "vectors-1", .values = {{"loss", 0.25}}};
  const Json result = with_curves(study_json(study, {&run, 1}, {}), {&run, 1});
  CHECK(result["units"] == Json::array({"weighted squared error per pair"}));
  CHECK(result["variants"][0]["curve"]["mean"] == Json::array({0.5, 0.25}));
  if (!has_browser()) return;
  CHECK(opened(tapeformer::study_page(result)).find("<h2>Validation loss, weighted squared error per pair</h2>") !=
        std::string::npos);
}
