// The precision of matrix products, train.matmul and --matmul.
#include <doctest/doctest.h>

#include <random>
#include <set>

#include "tests/cli/training/resume_support.h"
#include "tests/long_test.h"
#include "train/config/matmul_config.h"

using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kPrecisions[] = {"highest", "high", "medium", "low"};

}  // namespace

TEST_CASE("train.matmul: a run says what auto stands for, keeps it, and trains in it") {
  const Sandbox box("gpt");
  const std::string automatic = word_of(tapeformer::fastest_matmul());
  const Outcome started = box.run("train tiny.toml --out auto --train.steps 12");
  CHECK(started.exit_code == 0);
  CHECK(started.tells("matrix products: " + automatic));
  CHECK(box.read("auto/config.toml").find("matmul = \"" + automatic + "\"") != std::string::npos);

  std::vector<std::string> weights;
  for (const std::string precision : kPrecisions) {
    CAPTURE(precision);
    const Outcome trained =
        box.run("train tiny.toml --train.steps 12 --out " + precision + " --train.matmul " + precision);
    CHECK(trained.exit_code == 0);
    CHECK(trained.tells("matrix products: " + precision));
    weights.push_back(box.read(precision + "/checkpoints/step-000012/model.safetensors"));
    if (precision == automatic) {
      CHECK(weights.back() == box.read("auto/checkpoints/step-000012/model.safetensors"));
    }
  }
  CHECK(std::set(weights.begin(), weights.end()).size() == std::size(kPrecisions));
}

TEST_CASE("train.matmul: a run that is killed and resumed ends with the same bytes under every precision" *
          long_test()) {
  const Sandbox box("gpt");
  std::mt19937 random(4);
  for (const std::string precision : kPrecisions) {
    CAPTURE(precision);
    const std::string options = "--train.steps 24 --train.matmul " + precision, straight = "straight-" + precision;
    box.train(straight, options);
    check_kills(box, straight, 2, options, [&](Process& process, const std::string& run, int) {
      const std::size_t lines = lines_of(box, run) + 3 + random() % 8;
      wait_until(process, [&] { return lines_of(box, run) >= lines; });
    });
  }
}

TEST_CASE("--matmul: commands take the run's precision unless told otherwise, and say which" * long_test()) {
  const Sandbox box("gpt");
  const std::string text = box.read("text.txt");
  box.write("valid.txt", text.substr(static_cast<std::size_t>(static_cast<double>(text.size()) * (1 - 0.1))));
  std::vector<double> losses;
  for (const std::string precision : kPrecisions) {
    CAPTURE(precision);
    box.train(precision, "--train.steps 12 --eval.batches 0 --train.matmul " + precision);
    const Json own = json_of(box, "eval " + precision + " --checkpoint latest --text valid.txt --json");
    // low makes training steps faster; all else is in bf16.
    const std::string used = precision == "low" ? "medium" : precision;
    CHECK(own["matmul"] == used);
    const double training = box.metrics(precision).back()["eval_loss"];
    CHECK(own["loss"].get<double>() == doctest::Approx(training).epsilon(1e-7));
    CHECK(json_of(box, "surprisal " + precision + " --text valid.txt --json")["matmul"] == used);
    const Json other = json_of(box, "eval highest --text valid.txt --json --matmul " + precision);
    CHECK(other["matmul"] == precision);
    losses.push_back(other["loss"].get<double>());
  }
  CHECK(losses[1] != losses[0]);
  CHECK(losses[2] != losses[0]);
  CHECK(losses[1] == doctest::Approx(losses[0]).epsilon(1e-5));
  CHECK(losses[2] == doctest::Approx(losses[0]).epsilon(1e-2));
  CHECK(losses[3] != losses[2]);
  CHECK(losses[3] == doctest::Approx(losses[0]).epsilon(2e-2));
  // Generation with rounded weights: the same seed gives the same text, whatever the run was trained in.
  const std::string own = result_of(box, "generate medium --tokens 30 --seed 3");
  CHECK(own == result_of(box, "generate medium --tokens 30 --seed 3 --matmul medium"));
  CHECK(result_of(box, "generate highest --tokens 30 --matmul medium").size() > 30);
  check_error(box, kUsage, "--matmul: least not in {auto,highest,high,medium,low} (see --help)",
              "eval medium --text valid.txt --matmul least");
}

TEST_CASE("--matmul: a translation in bf16 does not depend on its neighbours nor on --batch") {
  const Sandbox box("transformer");
  box.train("run", "--train.steps 30 --train.matmul medium");
  const std::string lines = "abc\nhello there\na\nsome more words here\nxyz\n";
  const std::string all = result_of(box, "translate run --n-best 3 --beam 4", {}, lines);
  CHECK(all == result_of(box, "translate run --n-best 3 --beam 4 --batch 1", {}, lines));
  CHECK(all == result_of(box, "translate run --n-best 3 --beam 4 --batch 2", {}, lines));
  CHECK(all.starts_with(result_of(box, "translate run --n-best 3 --beam 4", {}, "abc\n")));
}

TEST_CASE("--weights: a model is held in any format, its perplexity hardly changes, and what does not fit is refused" *
          long_test()) {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 12");
  const auto loss = [&](const std::string& options) {
    const Outcome outcome = box.run("eval run --text text.txt --json " + options);
    CHECK(outcome.exit_code == 0);
    return Json::parse(outcome.out).at("loss").get<double>();
  };
  const double exact = loss("--matmul highest");
  for (const std::string format : {"f32", "bf16", "q8_0"}) {
    CAPTURE(format);
    CHECK(std::abs(loss("--weights " + format) - exact) < 5e-3);
    CHECK(box.run("generate run --prompt Once --tokens 3 --weights " + format).exit_code == 0);
    CHECK(box.run("surprisal run --prompt Once --weights " + format).exit_code == 0);
  }
  const Outcome refused = box.run("generate run --prompt Once --weights bf16 --matmul highest");
  CHECK(refused.exit_code == 2);
  CHECK(refused.tells("--weights bf16: products of such weights are in bf16: expected --matmul medium, got highest"));
}
