// Scaling laws of files and runs, and sweeps that predict before they train.
#include <doctest/doctest.h>

#include <cmath>

#include "data/synthetic/corpora.h"
#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using doctest::Approx;

namespace {

// Points of L = 0.5 + (1e4 / N)^0.4 + (1e6 / D)^0.3 for these numbers of N and D.
std::string points(int parameters, int tokens) {
  std::string text;
  for (int n = 0; n < parameters; ++n) {
    for (int d = 0; d < tokens; ++d) {
      const double of_n = 1e5 * std::pow(2, n), of_d = 1e7 * std::pow(2, d);
      const double loss = 0.5 + std::pow(1e4 / of_n, 0.4) + std::pow(1e6 / of_d, 0.3);
      text += Json{{"N", of_n}, {"D", of_d}, {"loss", loss}}.dump() + "\n";
    }
  }
  return text;
}

const Json& law_of(const Json& result, const std::string& name) {
  for (const Json& law : result["laws"]) {
    if (law["law"] == name) return law;
  }
  FAIL("there is no law " << name);
  return result;
}

}  // namespace

TEST_CASE("scaling fit: laws of a file of points, and what they predict") {
  const Sandbox box;
  box.write("grid.jsonl", points(5, 5));
  const Json grid = json_of(box, "scaling fit grid.jsonl --parameters 1e8 --tokens 1e10 --json --out page.html");
  CHECK(grid["runs"].size() == 25);
  CHECK(grid["runs"][1] ==
        Json{{"name", "grid.jsonl:2"}, {"N", 1e5}, {"D", 2e7}, {"C", 6e5 * 2e7}, {"loss", grid["runs"][1]["loss"]}});
  const Json& joint = law_of(grid, "L(N, D)");
  CHECK(joint["irreducible"]["value"].get<double>() == Approx(0.5).epsilon(1e-3));
  CHECK(joint["terms"][0]["exponent"]["value"].get<double>() == Approx(0.4).epsilon(1e-3));
  CHECK(joint["terms"][1]["exponent"]["value"].get<double>() == Approx(0.3).epsilon(1e-3));
  CHECK(joint["terms"][1]["scale"]["value"].get<double>() == Approx(1e6).epsilon(1e-2));
  CHECK(joint["prediction"]["loss"].get<double>() ==
        Approx(0.5 + std::pow(1e-4, 0.4) + std::pow(1e-4, 0.3)).epsilon(1e-3));
  // L(N) and L(D) are of the best of each: of the most tokens, and of the largest models.
  CHECK(law_of(grid, "L(N)")["points"] == 5);
  CHECK(law_of(grid, "L(N)")["irreducible"]["value"].get<double>() ==
        Approx(0.5 + std::pow(1 / 160.0, 0.3)).epsilon(1e-3));
  CHECK(law_of(grid, "L(D)")["terms"][0]["exponent"]["value"].get<double>() == Approx(0.3).epsilon(1e-3));
  CHECK(law_of(grid, "L(D)")["prediction"]["x"][0] == 1e10);
  CHECK(law_of(grid, "L(C)")["prediction"]["x"][0] == 6e18);
  CHECK(box.read("page.html").find("grid.jsonl:2") != std::string::npos);

  // Where D is one, L(N) is the only law; its floor may be given.
  box.write("row.csv", "name,N,loss\na,1e5,1.5\nb,4e5,1.0\nc,16e5,0.75\n\n");
  const Json row = json_of(box, "scaling fit row.csv --entropy 0.5 --json");
  CHECK(law_of(row, "L(N)")["terms"][0]["exponent"]["value"].get<double>() == Approx(0.5).epsilon(1e-6));
  CHECK(law_of(row, "L(N)")["terms"][0]["scale"]["value"].get<double>() == Approx(1e5).epsilon(1e-6));
  CHECK(law_of(row, "L(N)")["fitted"] == false);
  CHECK(row["runs"][2]["name"] == "c");
  box.write("marked.csv", "\xEF\xBB\xBF N, loss \r\n1e5,1.5\r\n4e5,1.0\r\n16e5,0.75\r\n");
  CHECK(json_of(box, "scaling fit marked.csv --entropy 0.5 --json")["laws"] == row["laws"]);
  const std::string text = result_of(box, "scaling fit row.csv --entropy 0.5 --parameters 64e5");
  CHECK(text.find("L(N) = 0.5 + (1e+05 / N)^0.5   3 points") != text.npos);
  CHECK(text.find("predicted at N = 6.4e+06  0.625 [0.625, 0.625]") != text.npos);
  CHECK(text.find("L(D) is not fitted: it needs at least 3 different D, got 0") != text.npos);

  // Trainings of one N that cost more or less are no seeds, whose mean would count: the best one does.
  box.write("costs.csv", "N,C,loss\n1e5,2e12,1.5\n1e5,1e12,2\n4e5,1e12,2\n4e5,2e12,1\n16e5,1e12,2\n16e5,2e12,0.75\n");
  const Json costs = json_of(box, "scaling fit costs.csv --entropy 0.5 --json");
  CHECK(law_of(costs, "L(N)")["terms"][0]["exponent"]["value"].get<double>() == Approx(0.5).epsilon(1e-6));

  // A file may count C in PF-days: what 6ND is in those is not known.
  std::string days;
  for (std::size_t i = 0; i < grid["runs"].size(); ++i) {
    Json run = grid["runs"][i];
    run["C"] = run["C"].get<double>() / 8.64e19;
    days += run.dump() + "\n";
  }
  box.write("days.jsonl", days);
  const std::string wanted = "scaling fit days.jsonl --parameters 1e8 --tokens 1e10";
  const Json of_days = json_of(box, wanted + " --json");
  CHECK(law_of(of_days, "L(C)")["prediction"].is_null());
  CHECK(law_of(of_days, "L(C)")["unpredicted"] == "C is not 6ND in these trainings");
  CHECK(law_of(of_days, "L(N, D)")["prediction"] == joint["prediction"]);
  CHECK(result_of(box, wanted).find("predicted at C") == std::string::npos);
}

TEST_CASE("scaling fit: a run without a loss is left out by name, and too few others are refused") {
  const Sandbox box;
  const auto write_run = [&](const std::string& name, int layers, const std::string& measured) {
    box.write(name + "/config.toml", "[model]\ndim = 16\nheads = 2\nlayers = " + std::to_string(layers) + "\n");
    box.write(name + "/metrics.jsonl", "{\"step\":1,\"tokens\":100" + measured + "}\n");
  };
  write_run("all/a", 1, ",\"eval_loss\":2");
  write_run("all/b", 2, ",\"eval_loss\":1.5");
  write_run("all/c", 4, ",\"eval_loss\":1.25");
  write_run("all/d", 8, "");
  const Outcome fitted = box.succeed("scaling fit all --entropy 0.5 --json");
  CHECK(fitted.tells("warning: all/d has no validation loss: it is left out\n"));
  CHECK(fitted.json()["runs"].size() == 3);
  CHECK(law_of(fitted.json(), "L(N)")["points"] == 3);
  const Outcome few = box.run("scaling fit all/a all/b all/d --entropy 0.5");
  CHECK(few.exit_code == kFailure);
  CHECK(few.tells("all/d has no validation loss: it is left out\n"));
  CHECK(few.tells("no scaling law can be fitted: L(N): it needs at least 3 different N, got 2"));
}

TEST_CASE("scaling fit: a run that was validated on other data is named") {
  const Sandbox box("gpt");
  const std::string text = box.read("text.txt");
  box.write("twice.txt", text + text);
  for (const char* const run : {"a", "b"}) box.train(run, "--train.steps 2 --data.valid text.txt");
  box.train("c", "--train.steps 2 --data.valid twice.txt");
  const std::string warning = "was validated on other data than a: their losses compare as far as these data are alike";
  CHECK(box.run("scaling fit a b c").tells("warning: c " + warning + "\n"));
  CHECK_FALSE(box.run("scaling fit a b").tells(warning));
}

TEST_CASE("scaling fit: the best loss of a run belongs to the tokens that had been read then") {
  const Sandbox box;
  const auto write_run = [&](const std::string& name, int layers, const std::string& lines) {
    box.write(name + "/config.toml", "[model]\ndim = 16\nheads = 2\nlayers = " + std::to_string(layers) + "\n");
    box.write(name + "/metrics.jsonl", lines);
  };
  const auto line = [](int step, const std::string& rest) {
    return "{\"step\":" + std::to_string(step) + ",\"tokens\":" + std::to_string(100 * step) + rest + "}\n";
  };
  const std::string overfitted = line(1, ",\"eval_loss\":3") + line(2, ",\"eval_loss\":1.5") + line(3, ",\"loss\":1") +
                                 line(4, ",\"eval_loss\":2");
  write_run("all/a", 1, overfitted);
  write_run("all/b", 2, overfitted + "{\"step\":4,\"averaged\":[2,4],\"average_loss\":1.25}\n");
  write_run("all/c", 4, line(1, ",\"eval_loss\":1.125"));
  const Json runs = json_of(box, "scaling fit all --entropy 0.5 --json")["runs"];
  const double tokens[] = {200, 400, 100};
  for (int run = 0; run < 3; ++run) {
    CHECK(runs[run]["D"] == tokens[run]);
    CHECK(runs[run]["C"] == 6 * tokens[run] * runs[run]["N"].get<double>());
  }
}

TEST_CASE("scaling fit: what cannot be fitted is said in one line") {
  const Sandbox box("gpt");
  box.write("few.jsonl", points(3, 1));
  box.write("bad.jsonl", "{\"N\": 1, \"loss\": 2}\n{\"N\": \"x\", \"loss\": 2}\n");
  box.write("none.jsonl", "{\"N\": 1}\n");
  box.write("bad.csv", "N,loss\n1e5,1\n1e6,-1\n");
  box.write("head.csv", "1e5,1\n");
  box.train("a", "--train.steps 2 --eval.every 2");
  box.train("b", "--train.steps 2 --eval.every 2 --tokenizer.kind word");
  check_errors(
      box, kFailure,
      {{"scaling fit few.jsonl",
        "no scaling law can be fitted: L(N): it needs at least 4 different N, got 3; L(D): it needs at least 4 "
        "different D, got 1"},
       {"scaling fit bad.jsonl", "bad.jsonl:2: N: expected a number above 0, got \"x\""},
       {"scaling fit none.jsonl", "none.jsonl:1: expected a loss"},
       {"scaling fit bad.csv", "bad.csv:3: loss: expected a number above 0, got -1"},
       {"scaling fit head.csv", "head.csv: expected N, D, C and loss, or some of them, in the first line"},
       {"scaling fit a b", "b has another tokenizer than a: their losses per token cannot be compared"},
       {"scaling fit nothing", "nothing: expected a folder"}});
  check_errors(box, kUsage,
               {{"scaling fit few.jsonl --entropy much",
                 "--entropy: expected free, corpus or a number of at least 0, "
                 "got much"},
                {"scaling fit few.jsonl --entropy corpus",
                 "--entropy: expected runs of one generated corpus of known entropy, or a number"},
                {"scaling fit few.jsonl --tokens -1", "--tokens: expected a number above 0, got -1"},
                {"scaling fit few.jsonl --tokens inf", "--tokens: expected a number above 0, got inf"}});
}

TEST_CASE("scaling sweep: predicts the largest model before it trains it, and trains nothing twice" * long_test()) {
  const Sandbox box("gpt");
  std::string config = box.read("tiny.toml");
  const std::string text = "text = \"text.txt\"\n";
  box.write("stories.toml", config.replace(config.find(text), text.size(), "corpus = \"stories\"\nlines = 60\n"));
  const std::string command =
      "scaling sweep stories.toml --sizes 8 16 2x24 24 64 --tokens 800 --json --out sweep --model.layers 1 "
      "--eval.batches 0 --seeds 1 2";
  const Json result = json_of(box, command);
  CHECK(result["runs"].size() == 8);
  CHECK(law_of(result, "L(N)")["points"] == 4);
  CHECK(result["skipped"].size() == 3);
  const Json& sweep = result["sweep"];
  const Json prediction = Json::parse(box.read("sweep/prediction.json"));
  CHECK(sweep["predicted"]["value"] == prediction["loss"]);
  CHECK(law_of(result, "L(N)")["prediction"]["loss"] == prediction["loss"]);
  CHECK(fs::last_write_time(box / "sweep/prediction.json") <
        fs::last_write_time(box / "sweep/largest/1x64-1/config.toml"));
  CHECK(fs::last_write_time(box / "sweep/prediction.json") >
        fs::last_write_time(box / "sweep/sizes/2x24-2/metrics.jsonl"));
  double measured = 0;
  for (const int seed : {1, 2}) {
    const std::string run = "sweep/largest/1x64-" + std::to_string(seed);
    const Json last = box.metrics(run).back();
    measured += last["eval_loss"].get<double>() / 2;
    CHECK(last["tokens"] == sweep["tokens"]);
    CHECK(json_of(box, "info " + run + " --seconds 0 --json")["non_embedding"] == sweep["largest"]);
  }
  CHECK(sweep["measured"].get<double>() == Approx(measured));
  CHECK(sweep["error"].get<double>() == Approx(measured / prediction["loss"].get<double>() - 1));
  // The rate falls with the root of the width; the configuration's is that of its own.
  const auto rate = [&](const std::string& run) {
    const std::string config = box.read(run + "/config.toml");
    return std::stod(config.substr(config.find("\nlr = ") + 6));
  };
  CHECK(rate("sweep/sizes/1x8-1") == Approx(rate("sweep/sizes/1x16-1") * std::sqrt(2.0)).epsilon(0.01));
  CHECK(Json::parse(box.read("sweep/scaling.json")) == result);
  CHECK(box.read("sweep/scaling.html").find("before it was trained") != std::string::npos);

  // The same again trains nothing.
  const auto trained = fs::last_write_time(box / "sweep/largest/1x64-2/metrics.jsonl");
  CHECK(json_of(box, command) == result);
  CHECK(fs::last_write_time(box / "sweep/largest/1x64-2/metrics.jsonl") == trained);
  // The runs of the smaller sizes give the same law by `fit`, whose floor can be the corpus's entropy.
  const Json fitted = json_of(box, "scaling fit sweep/sizes --json");
  CHECK(law_of(fitted, "L(N)")["terms"] == law_of(result, "L(N)")["terms"]);
  CHECK(fitted["runs"][0]["D"] == sweep["tokens"]);
  const Json known = json_of(box, "scaling fit sweep/sizes --entropy corpus --json");
  const Json last = box.metrics("sweep/sizes/1x8-1").back();
  const double bytes_per_token =
      last["eval_loss"].get<double>() / (last["eval_bits_per_byte"].get<double>() * std::log(2.0));
  CHECK(law_of(known, "L(N)")["irreducible"]["value"].get<double>() ==
        Approx(*tapeformer::corpus_entropy("stories") * bytes_per_token));
  // Documents of a line each have another entropy per byte than the lines of one text.
  fs::copy(box / "sweep/sizes", box / "mixed", fs::copy_options::recursive);
  std::string other = box.read("mixed/1x8-1/config.toml");
  other.replace(other.find("document = \"none\""), 17, "document = \"line\"");
  box.write("mixed/1x8-1/config.toml", other);
  check_error(box, kUsage, "--entropy: expected runs of one generated corpus of known entropy, or a number",
              "scaling fit mixed --entropy corpus");

  // A prediction is never made after the fact.
  check_error(
      box, kFailure,
      "sweep/prediction.json is another prediction, and the largest model is trained already: try other laws by "
      "`scaling fit`",
      command + " --entropy 0.1");
  fs::remove(box / "sweep/prediction.json");
  check_error(box, kFailure, "sweep/largest was trained before there was a prediction", command);
}

TEST_CASE("scaling: the sweep of the docs predicted its largest model within 2 %, and its law is that of its points") {
  const Json sweep = Json::parse(read_all(fs::path(PROJECT_ROOT) / "docs/scaling.json"));
  CHECK(std::abs(sweep["sweep"]["error"].get<double>()) < 0.02);
  const Sandbox box;
  std::string lines;
  for (const Json& run : sweep["runs"]) lines += run.dump() + "\n";
  box.write("points.jsonl", lines);
  const Json& law = law_of(sweep, "L(N)");
  const Json again =
      json_of(box, "scaling fit points.jsonl --json",
              {"--entropy", law["irreducible"]["value"].dump(), "--parameters", sweep["sweep"]["largest"].dump()});
  const Json& fitted = law_of(again, "L(N)");
  CHECK(fitted["terms"][0]["exponent"]["value"].get<double>() ==
        Approx(law["terms"][0]["exponent"]["value"].get<double>()).epsilon(1e-6));
  CHECK(fitted["prediction"]["loss"].get<double>() ==
        Approx(sweep["sweep"]["predicted"]["value"].get<double>()).epsilon(1e-9));
  const std::string docs = read_all(fs::path(PROJECT_ROOT) / "docs/scaling.md");
  for (const double loss :
       {sweep["sweep"]["predicted"]["value"].get<double>(), sweep["sweep"]["measured"].get<double>()}) {
    char number[16];
    std::snprintf(number, sizeof number, "%.4f", loss);
    CHECK_MESSAGE(docs.find(number) != docs.npos, number);
  }
}

TEST_CASE("scaling sweep: plans widths, and measures what fits into the minutes" * long_test()) {
  const Sandbox box("gpt");
  const std::string sweep =
      "scaling sweep tiny.toml --json --out sweep --model.layers 1 --model.heads 1 --eval.batches 1 "
      "--optimizer.lr 0.0012345 --minutes ";
  const std::string command = sweep + "0.02";
  const Json result = json_of(box, command);
  const Json plan = Json::parse(box.read("sweep/plan.json"));
  std::vector<std::string> sizes;
  for (const Json& size : plan["sizes"]) sizes.push_back(size["size"]);
  CHECK(sizes == std::vector<std::string>{"1x6", "1x8", "1x10", "1x12", "1x14", "1x16", "1x32"});
  CHECK(box.metrics("sweep/sizes/1x6-1").back()["step"] == plan["steps"]);
  // The model of the configuration's own width has the configuration's rate, to the last digit.
  CHECK(box.read("sweep/largest/1x32-1/config.toml").find("\nlr = 0.0012345 ") != std::string::npos);
  CHECK(json_of(box, command) == result);  // it measures no second time
  // Another plan is refused, and does not take the place of the one of these runs.
  for (const char* other : {"0.03", "0.02 --sizes 6 8 10 12 16"}) {
    check_error(box, kFailure,
                "sweep/sizes has runs of another plan, that of sweep/plan.json: remove the folder, or name another one "
                "by --out",
                sweep + other);
  }
  CHECK(Json::parse(box.read("sweep/plan.json")) == plan);
  CHECK(json_of(box, command) == result);
}

TEST_CASE("scaling sweep: goes on with a prediction that has an infinite bound, which is null in its file") {
  const Sandbox box("gpt");
  // After one step the losses hardly depend on the size, so that hardly anything bounds the exponent and N_c.
  const std::string command =
      "scaling sweep tiny.toml --sizes 8 16 24 32 64 --tokens 256 --json --out sweep --model.layers 1 --eval.batches 1";
  const Json result = json_of(box, command);
  REQUIRE(Json::parse(box.read("sweep/prediction.json"))["terms"][0]["scale"]["high"].is_null());
  CHECK(json_of(box, command) == result);
}

TEST_CASE("scaling sweep: what does not go together is refused in one line") {
  const Sandbox box("gpt");
  box.write("pairs.toml", "[model]\ntype = \"transformer\"\n[data]\npairs = \"pairs.tsv\"\n");
  box.write("bert.toml", "[model]\ntype = \"bert\"\ndim = 64\nheads = 2\n[data]\ncorpus = \"stories\"\n");
  check_errors(
      box, kUsage,
      {{"scaling sweep tiny.toml --out new", "scaling sweep: expected either --tokens or --minutes"},
       {"scaling sweep tiny.toml --tokens 1e3 --minutes 1 --out new",
        "scaling sweep: expected either --tokens or --minutes"},
       {"scaling sweep tiny.toml --tokens 1e3 --train.steps 3 --out new",
        "scaling sweep: expected no train.steps: the sizes, the tokens or minutes and the seeds decide it"},
       {"scaling sweep tiny.toml --tokens 1e3 --model.ff_dim 64 --out new",
        "scaling sweep: expected no model.ff_dim: the sizes, the tokens or minutes and the seeds decide it"},
       {"scaling sweep tiny.toml --tokens 1e3 --sizes 8 16 24 32 --out new", "--sizes: expected at least 5, got 4"},
       {"scaling sweep tiny.toml --tokens 1e3 --sizes 8 16 24 2y3 --out new",
        "--sizes: expected WIDTH or LAYERSxWIDTH, such as 64 or 2x64, got 2y3"},
       {"scaling sweep tiny.toml --tokens 1e3 --sizes 8 8 --out new",
        "--sizes: 2x8 and 2x8 have equally many parameters"},
       {"scaling sweep tiny.toml --tokens 1e3 --seeds 1 1 --out new",
        "--seeds: expected different whole numbers, got 1"},
       {"scaling sweep tiny.toml --tokens 1e3 --sizes 8 16 24 32 64 --entropy much --out new",
        "--entropy: expected free, corpus or a number of at least 0, got much"},
       {"scaling sweep tiny.toml --tokens 1e3 --sizes 8 16 24 32 64 --eval.batches 0 --entropy corpus --out new",
        "--entropy: expected runs of one generated corpus of known entropy, or a number"},
       {"scaling sweep bert.toml --tokens 1e3 --sizes 8 16 24 32 64 --entropy corpus --out new",
        "--entropy: expected runs of one generated corpus of known entropy, or a number"},
       {"scaling sweep tiny.toml --tokens 1e3 --model.dim 8 --model.heads 4 --out new",
        "scaling sweep: model.dim 8 is too small to plan sizes: give them by --sizes, as multiples of 8"},
       {"scaling sweep pairs.toml --tokens 1e3 --out new",
        "scaling sweep: expected a model of text with layers and dim, such as gpt, got transformer"}});
  check_error(box, kFailure, "scaling sweep: expected more tokens or minutes: a step reads 256 tokens",
              "scaling sweep tiny.toml --tokens 10 --sizes 8 16 24 32 64 --out new");
}
