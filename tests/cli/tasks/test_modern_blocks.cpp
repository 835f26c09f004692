// A Llama-like language model, and an encoder-decoder of the same blocks, from the command line.
#include <doctest/doctest.h>

#include <random>

#include "tests/cli/training/resume_support.h"
#include "tests/long_test.h"

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kModern =
    " --model.norm_kind rms --model.position rotary --model.activation swiglu --model.kv_heads 1 --model.qk_norm true"
    " --model.bias false --train.z_loss 1e-2";

}  // namespace

TEST_CASE("resume: a Llama-like model killed at random steps ends with the same bytes" * long_test()) {
  const Sandbox box("gpt");
  box.train("straight", kModern);
  std::mt19937 random(7);
  check_kills(box, "straight", 3, kModern, [&](Process& process, const std::string& run, int) {
    const std::size_t lines = lines_of(box, run) + 3 + random() % 12;
    wait_until(process, [&] { return lines_of(box, run) >= lines; });
  });
}

TEST_CASE("modern blocks: every command that reads a language model works, and a longer context than in training" *
          long_test()) {
  const Sandbox box("gpt");
  box.train("run", std::string(kModern) + " --train.steps 300 --eval.every 0 --checkpoint.every 0");
  const Json info = Json::parse(box.run("info run --seconds 0 --json").out);
  // qkv of 2 + 2·1 heads of 16, out, three matrices of the gated layer 32·96, two norms of 32, two of 16; two layers.
  CHECK(info["parameters"]["blocks"] == 2 * (32 * 64 + 32 * 32 + 3 * 32 * 96 + 2 * 32 + 2 * 16));
  CHECK(info["parameters"]["positions"] == 0);
  const Outcome text = box.run("generate run --prompt The --tokens 40 --temperature 0");
  CHECK(text.exit_code == 0);
  CHECK(box.run("generate run --prompt The --tokens 40 --temperature 0").out == text.out);
  CHECK(box.run("surprisal run --text text.txt --json").exit_code == 0);

  // The plain cross-entropy stands beside the loss that is minimised, and evaluation is plain.
  for (const Json& line : box.metrics("run")) {
    if (line.contains("loss")) CHECK(line["loss"].get<double>() > line["unsmoothed_loss"].get<double>());
  }
  const Json trained = Json::parse(box.run("eval run --text text.txt --json").out);
  const Json longer = Json::parse(box.run("eval run --text text.txt --context 32 --json").out);
  CHECK(trained["context"] == 16);
  CHECK(longer["context"] == 32);
  CHECK(longer["tokens"] == trained["tokens"]);
  CHECK(trained["loss"].get<double>() < 2.5);
  CHECK(longer["loss"].get<double>() < trained["loss"].get<double>() + 0.1);

  box.train("learned", "--train.steps 2");
  check_error(box, 2, "--context: expected 1 to 16 (the model's), got 32", "eval learned --text text.txt --context 32");
  check_error(box, 2, "--context: expected 1 to 16 (the model's), got 32",
              "generate learned --prompt The --context 32");
  const std::string longest = "generate run --prompt The --tokens 40 --temperature 0 --context ";
  CHECK(box.run(longest + "16").out == text.out);
  CHECK(box.run(longest + "64").exit_code == 0);

  box.train("linear", "--train.steps 2 --model.attention_kind linear");
  const std::string greedy = "generate linear --prompt The --tokens 40 --temperature 0";
  CHECK(box.run(greedy).out == box.run(greedy + " --no-cache").out);
  const nlohmann::ordered_json map = json_of(box, "attention linear --text The --json --lens --heads")[0];
  CHECK(map["layers"][0]["heads"][1]["weights"].size() == 3);
  CHECK(map["lens"].size() == 1 + map["layers"].size());
  CHECK(map["heads"].size() == 2 * map["layers"].size());
}

TEST_CASE("modern blocks: wrong keys are refused in one line that says what is expected") {
  const Sandbox box("gpt");
  check_error(box, 2, "model.kv_heads: expected a divisor of model.heads, which is 4, got 3",
              "train tiny.toml --out run --model.heads 4 --model.kv_heads 3");
  check_error(box, 2,
              "model.dim: expected heads of even width for rotary positions, got 6 for 2 heads, which is 3 each",
              "train tiny.toml --out run --model.position rotary --model.dim 6");
  check_error(box, 2, "train.z_loss: expected value >= 0, got -1.0", "train tiny.toml --out run --train.z_loss -1");
}

TEST_CASE("resume: an encoder-decoder of modern blocks killed at random steps ends with the same bytes") {
  const Sandbox box("transformer");
  box.train("straight", kModern);
  std::mt19937 random(8);
  check_kills(box, "straight", 2, kModern, [&](Process& process, const std::string& run, int) {
    const std::size_t lines = lines_of(box, run) + 3 + random() % 6;
    wait_until(process, [&] { return lines_of(box, run) >= lines; });
  });
}
