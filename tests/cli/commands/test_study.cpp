// Studies: variants of a model, trained from several seeds.
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "cli/options/config_options.h"
#include "cli/study/study_file.h"
#include "cli/study/study_result.h"
#include "core/error.h"
#include "tests/cli/sandbox.h"
#include "tests/long_test.h"
#include "train/config/config.h"

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kStudy = R"(
title = "High and low rates"
claim = "A rate of nearly zero learns nothing."
seeds = [1, 2]
config = "tiny.toml"
x_label = "learning rate"

[options]
train.steps = 6
eval.every = 3

[[variants]]
name = "low rate"
line = "rates"
x = 1e-9
optimizer.lr = 1e-9

[[variants]]
name = "high rate"
line = "rates"
x = 1e-2
optimizer.lr = 1e-2

[[measures]]
name = "bits per byte"
command = ["eval", "{run}", "--text", "{folder}/text.txt"]
value = "bits_per_byte"

[[measures]]
name = "tokens"
line = "of the text"
x = 3
command = ["eval", "{run}", "--text", "{folder}/text.txt"]
value = "tokens"

[[measures]]
name = "steps"
metrics = "step"
take = "most"

[[shown]]
of = "high rate"
below = "low rate"

[[shown]]
measure = "steps"
of = "high rate"
above = 6

[[shown]]
measure = "steps"
of = "low rate"
above = "high rate"
than_measure = "loss"
)";

}  // namespace

TEST_CASE("study: trains each variant from each seed, measures them, and says whether the claim is shown" *
          long_test()) {
  const Sandbox box("gpt");
  box.write("rates.toml", kStudy);
  const Outcome outcome = box.succeed("study rates.toml --json --model.dim 8 --model.heads 1");
  const Json result = outcome.json();
  CHECK(result["study"] == "rates");
  REQUIRE(result["variants"].size() == 2);
  for (const Json& variant : result["variants"]) {
    const std::string name = variant["name"] == "low rate" ? "low-rate-" : "high-rate-";
    double sum = 0;
    for (const int seed : {1, 2}) {
      const std::string run = "studies/rates/" + name + std::to_string(seed);
      const std::string config = box.read(run + "/config.toml");
      CHECK(config.find("\nseed = " + std::to_string(seed) + " ") != config.npos);
      CHECK(config.find("\ndim = 8 ") != config.npos);
      double last = 0;
      for (const Json& line : box.metrics(run)) last = line.value("eval_loss", last);
      CHECK(variant["values"]["loss"]["seeds"][static_cast<std::size_t>(seed - 1)] == last);
      sum += last;
      const Json eval = box.succeed("eval " + run + " --text text.txt --json").json();
      CHECK(variant["values"]["bits per byte"]["seeds"][static_cast<std::size_t>(seed - 1)] == eval["bits_per_byte"]);
    }
    CHECK(variant["values"]["loss"]["mean"].get<double>() == doctest::Approx(sum / 2));
    CHECK(variant["values"]["tokens"]["least"] == variant["values"]["tokens"]["most"]);
    CHECK(variant["values"]["steps"]["least"] == 6);
    CHECK(variant["failures"].empty());
  }
  CHECK(result["measures"][2] == Json{{"name", "tokens"}, {"digits", 4}, {"line", "of the text"}, {"x", 3.0}});
  CHECK(keys_of(result["measures"][3]) == std::vector<std::string>{"name", "digits"});
  CHECK(result["checks"][0]["holds"] == true);
  CHECK(result["checks"][1]["holds"] == false);  // 6 is not above 6
  CHECK(result["checks"][2]["holds"] == true);
  CHECK(result["checks"][2]["text"].get<std::string>().starts_with(
      "steps of “low rate” is above loss of “high rate”: 6 and "));
  CHECK(result["shown"] == false);
  CHECK(Json::parse(box.read("studies/rates/study.json")) == result);
  const std::string page = box.read("studies/rates/study.html");
  CHECK(page.find("A rate of nearly zero learns nothing.") != page.npos);

  // The same again trains nothing, and another study does not mix with it.
  const std::string weights = box.read("studies/rates/high-rate-2/metrics.jsonl");
  const std::string text = box.succeed("study rates.toml --model.dim 8 --model.heads 1").out;
  CHECK(box.read("studies/rates/high-rate-2/metrics.jsonl") == weights);
  CHECK(text.starts_with("High and low rates\n\nvariant"));
  CHECK(text.find("\n  no: steps of “high rate” is above 6: 6\n  yes: ") != text.npos);
  CHECK(text.ends_with("\nnot shown\n"));
  check_error(box, kFailure,
              "studies/rates has runs of the study as it was before: remove the folder, or name another one by --out",
              "study rates.toml");
}

TEST_CASE("study: a training whose loss is no number is infinitely high, and is told") {
  const Sandbox box("gpt");
  box.write("wild.toml",
            "title = \"t\"\nclaim = \"c\"\nconfig = \"tiny.toml\"\n[options]\ntrain.steps = 20\n"
            "[[variants]]\nname = \"wild\"\noptimizer.lr = 1e30\noptimizer.clip = 0\n[[variants]]\nname = \"mild\"\n"
            "[[shown]]\nof = \"mild\"\nbelow = \"wild\"\nby = 1\n");
  const Json result = box.succeed("study wild.toml --json").json();
  CHECK(result["variants"][0]["values"]["loss"]["mean"].is_null());
  REQUIRE(result["variants"][0]["failures"].size() == 1);
  CHECK(result["variants"][0]["failures"][0].get<std::string>().find("loss") != std::string::npos);
  CHECK(result["shown"] == true);
}

TEST_CASE("study: a check does not hold if a seed that failed has no such measure") {
  using namespace tapeformer::cli;
  const Study study{
      .file = "s.toml",
      .name = "s",
      .title = "t",
      .claim = "c",
      .variants = {{.name = "v"}},
      .measures = {{.name = "loss", .value = ""}, {.name = "BLEU", .value = ""}},
      .checks = {
          {.variant = "v", .measure = "BLEU", .lower = false, .other_variant = "", .other_measure = "", .bound = 25}}};
  std::vector<StudyRun> runs{{.variant = 0, .seed = 1, .folder = "1", .values = {{"loss", 2.0}, {"BLEU", 30.0}}},
                             {.variant = 0, .seed = 2, .folder = "2", .values = {{"loss", 2.0}, {"BLEU", 31.0}}}};
  CHECK(study_json(study, runs, {})["shown"] == true);
  runs[1].values = {{"loss", std::nullopt}, {"BLEU", std::nullopt}};
  runs[1].failure = "the loss is no number";
  const Json result = study_json(study, runs, {});
  CHECK(result["shown"] == false);
  CHECK(result["checks"][0]["text"].get<std::string>().ends_with(": not measured"));
}

TEST_CASE("study: a measure that some variants refuse has no value there; one that all refuse is found at the first") {
  const Sandbox box("gpt");
  const std::string head = "title = \"t\"\nclaim = \"c\"\nconfig = \"tiny.toml\"\n[options]\ntrain.steps = 2\n";
  const std::string learned = "[[variants]]\nname = \"learned\"\nmodel.position = \"learned\"\n";
  const auto measure = [](const std::string& name, const std::string& value, const std::string& how) {
    return "[[measures]]\nname = \"" + name + "\"\n" + value + " = \"" + how + "\"\n";
  };
  const std::string eval = "command = [\"eval\", \"{run}\", \"--text\", \"text.txt\", \"--context\", \"32\"]\n";
  const std::string far = measure("far", "value", "loss") + eval;
  box.write("some.toml", head + learned + far + measure("norm", "metrics", "watch/blocks.2/grad") +
                             "[[variants]]\nname = \"rotary\"\nmodel.position = \"rotary\"\nmodel.layers = 3\n" +
                             "train.watch = 2\n");
  const Json variants = box.succeed("study some.toml --json --quiet").json()["variants"];
  for (const char* const name : {"far", "norm"}) {
    CHECK(variants[0]["values"][name]["mean"].is_null());
    CHECK(variants[1]["values"][name]["mean"].is_number());
  }

  // The second variant is not trained.
  const std::string more = learned + "[[variants]]\nname = \"none\"\nmodel.position = \"learned\"\n";
  box.write("all.toml", head + more + far);
  box.write("place.toml",
            head + more + measure("far", "value", "los") + eval.substr(0, eval.find(", \"--context")) + "]\n");
  box.write("key.toml", head + more + measure("norm", "metrics", "grad"));
  check_errors(box, kFailure,
               {{"study all.toml", "far: --context: expected 1 to 16 (the model's), got 32, as in every variant"},
                {"study place.toml", "far: eval prints no number at los, as in every variant"},
                {"study key.toml", "norm: metrics.jsonl has no number at grad, as in every variant"}});
  for (const char* const study : {"all", "place", "key"}) {
    CAPTURE(study);
    CHECK(box.has("studies/" + std::string(study) + "/learned-1"));
    for (const char* const run : {"none-1", "trial", "trial.log"})
      CHECK_FALSE(box.has("studies/" + std::string(study) + "/" + run));
  }
}

TEST_CASE("study: a failure on the way that is no diverging loss ends it, names the run, and is gone on from") {
  const Sandbox box("gpt");
  box.write("two.toml",
            "title = \"t\"\nclaim = \"c\"\nconfig = \"tiny.toml\"\n[options]\ntrain.steps = 4\n"
            "[[variants]]\nname = \"a\"\n[[variants]]\nname = \"b\"\n");
  check_error(box, kFailure,
              "studies/two/a-1: the training was stopped at step 1 of 4: the same command goes on with it",
              "study two.toml --train.max_minutes 1e-9");
  const std::string command = "study two.toml --out other --json";
  const Json whole = box.succeed(command).json();
  const std::string weights = "other/b-1/checkpoints/step-000004/model.safetensors", bytes = box.read(weights);
  box.write(weights, "damaged");
  check_error(box, kFailure, "other/b-1: …", command);
  box.write(weights, bytes);
  CHECK(box.succeed(command).json()["variants"][1]["values"] == whole["variants"][1]["values"]);
}

TEST_CASE("study: a measure may name an option of the run, such as data that only the command line gives") {
  const Sandbox box("gpt");
  box.write_valid();
  box.write("own.toml",
            "title = \"t\"\nclaim = \"c\"\nconfig = \"tiny.toml\"\n[options]\ntrain.steps = 2\ntrain.lora.rank = 0\n"
            "[[variants]]\nname = \"a\"\n[[measures]]\nname = \"tokens\"\nvalue = \"tokens\"\n"
            "command = [\"eval\", \"{run}\", \"--text\", \"{data.valid}\"]\n");
  check_error(box, kUsage, "own.toml: tokens: expected the option --data.valid", "study own.toml");
  CHECK_FALSE(box.has("studies"));
  const Json result = box.succeed("study own.toml --json --data.valid valid.txt").json();
  CHECK(result["options"] == Json{"--train.lora.rank", "0", "--train.steps", "2", "--data.valid", "valid.txt"});
  const Json eval = box.succeed("eval studies/own/a-1 --text valid.txt --json").json();
  CHECK(result["variants"][0]["values"]["tokens"]["mean"] == eval["tokens"]);
}

TEST_CASE("study: one that is stopped goes on where it was, and ends with the same numbers" * long_test()) {
  const Sandbox box("gpt");
  box.write("rates.toml", kStudy);
  const std::string command = "study rates.toml --json --train.steps 60 --eval.every 20";
  const Json straight = box.succeed(command + " --out straight").json();
  const auto process = box.start(command + " --out cut");
  while (!box.has("cut/low-rate-2/metrics.jsonl")) {
    REQUIRE(process->running());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  process->send(SIGINT);
  const Outcome stopped = process->wait();
  CHECK(stopped.exit_code == 0);
  CHECK(stopped.out.empty());
  CHECK(stopped.tells("stopped; go on by the same command"));
  const Json cut = box.succeed(command + " --out cut").json();
  for (std::size_t i = 0; i < 2; ++i) CHECK(cut["variants"][i]["values"] == straight["variants"][i]["values"]);
}

TEST_CASE("study: what is wrong with a file is said in one line") {
  const Sandbox box("gpt");
  const std::string head = "title = \"t\"\nclaim = \"c\"\nconfig = \"tiny.toml\"\n",
                    variant = "[[variants]]\nname = \"a\"\n";
  box.write("none.toml", head);
  box.write("title.toml", "claim = \"c\"\n" + variant);
  box.write("key.toml", head + "tittle = 1\n" + variant);
  box.write("twice.toml", head + variant + variant);
  const std::string measure = "[[measures]]\nname = \"a\"\nmetrics = \"loss\"\n";
  box.write("same.toml", head + variant + measure + measure);
  box.write("digits.toml", head + variant + measure + "digits = -1\n");
  box.write("folder.toml", head + variant + "[[variants]]\nname = \"a-\"\n[[variants]]\nname = \"a \"\n");
  box.write("line.toml", head + variant + "line = \"l\"\n");
  box.write("axis.toml", head + variant + "[[measures]]\nname = \"m\"\nmetrics = \"loss\"\nline = \"l\"\n");
  box.write("other.toml", head + variant + "[[shown]]\nof = \"a\"\nbelow = \"b\"\n");
  box.write("than.toml", head + variant + "[[shown]]\nof = \"a\"\nbelow = \"a\"\nthan_measure = \"m\"\n");
  box.write("bound.toml", head + variant + "[[measures]]\nname = \"m\"\nmetrics = \"step\"\n" +
                              "[[shown]]\nof = \"a\"\nbelow = 1\nthan_measure = \"m\"\n");
  box.write("measure.toml", head + variant + "[[measures]]\nname = \"m\"\n");
  box.write("option.toml", head + variant + "model.heads = 3\n");
  box.write("seed.toml", head + variant + "train.seed = 3\n");
  box.write("data.toml", head + variant + "data.valid = \"none.txt\"\n");
  check_errors(box, kUsage,
               {{"study", "study: expected the name or the file of a study, or --list"},
                {"study none.toml", "none.toml: expected variants, [[variants]]"},
                {"study title.toml", "title.toml: expected the key title"},
                {"study key.toml", "key.toml: unknown key tittle"},
                {"study twice.toml", "twice.toml: two variants have the name a"},
                {"study same.toml", "same.toml: two measures have the name a"},
                {"study digits.toml", "digits.toml: measures 1: digits: expected a whole number from 0 to 15, got -1"},
                {"study line.toml", "line.toml: variants 1: line needs x, its place on the line"},
                {"study axis.toml", "axis.toml: measures 1: line needs x, its place on the line"},
                {"study other.toml", "other.toml: shown 1: no variant has the name b"},
                {"study than.toml", "than.toml: shown 1: no measure has the name m"},
                {"study bound.toml", "bound.toml: shown 1: than_measure needs a variant beside it"},
                {"study measure.toml", "measure.toml: measures 1: expected either metrics or command"},
                {"study seed.toml", "seed.toml: train.seed: expected none, since the study's seeds decide it"},
                {"study option.toml --train.seed 3",
                 "option.toml: train.seed: expected none, since the study's seeds decide it"}});
  check_error(box, kFailure, "a: no such file or folder: " + (box / "none.txt").string(),
              "study data.toml");  // no loss, however high
  check_error(box, kFailure, "folder.toml: the names of two variants give the same folder a--1", "study folder.toml");
  check_error(box, kFailure, "cannot open new.toml: there is no such file", "study new.toml");
  check_error(box, kFailure, "a: model.heads: expected a divisor of model.dim, which is 32, got 3",
              "study option.toml");
  // Nothing stands in the way of the mended study; its title and claim may change later.
  box.write("option.toml", head + variant + "train.steps = 2\n");
  box.succeed("study option.toml");
  box.write("option.toml", "title = \"new\"\nclaim = \"c\"\nconfig = \"tiny.toml\"\n" + variant + "train.steps = 2\n");
  CHECK(box.succeed("study option.toml").out.starts_with("new\n"));
}

TEST_CASE("study: every study that comes with the program can be read and trained") {
  const Sandbox box;
  const std::string list = box.succeed("study --list").out;
  const Json listed = json_of(box, "study --list --json");
  for (const Json& study : listed) {
    CHECK(list.find(study["study"].get<std::string>() + " ") != list.npos);
    CHECK(list.find(study["title"].get<std::string>()) != list.npos);
  }
  std::size_t studies = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(PROJECT_ROOT) / "configs" / "studies")) {
    if (entry.path().extension() != ".toml") continue;
    CAPTURE(entry.path().string());
    const tapeformer::cli::Study study = tapeformer::cli::load_study(entry.path());
    CHECK(list.find(study.name) != list.npos);
    CHECK(!study.checks.empty());
    for (const auto& variant : study.variants) {
      CAPTURE(variant.name);
      tapeformer::ConfigOverrides overrides;
      for (const auto* options : {&study.options, &variant.options}) {
        std::string key;
        for (const std::string& word : *options) {
          if (word.starts_with("--")) {
            overrides[key = word.substr(2)].clear();
          } else {
            overrides[key].push_back(word);
          }
        }
      }
      if (overrides.contains("train.init_from")) continue;  // a run that the reader trains first
      const auto config = study.config.empty() ? tapeformer::Config() : tapeformer::load_config(study.config);
      CHECK_NOTHROW((void)tapeformer::cli::new_config(config, overrides));
    }
    ++studies;
  }
  CHECK(studies > 0);
  CHECK(listed.size() == studies);
}

TEST_CASE("study: the example of the docs is one") {
  const std::string docs = read_all(fs::path(PROJECT_ROOT) / "docs" / "studies.md");
  const std::size_t begin = docs.find("```toml\n") + 8;
  const TempFolder folder;
  folder.write("example.toml", docs.substr(begin, docs.find("```", begin) - begin));
  const tapeformer::cli::Study study = tapeformer::cli::load_study(folder.path / "example.toml");
  CHECK(study.measures.size() == 3);
  CHECK(study.checks.front().margin == 0.1);
}
