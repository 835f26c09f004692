// What a training takes: its memory, and what the machine can do, said before.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <filesystem>

#include "core/sanitizers.h"
#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

using Json = nlohmann::ordered_json;

namespace {

// What happens in training is what info has said before: the peak of the process within a tenth, and all else that is
// not a matter of time. Rows of one length need no more than a few steps.
void check_prediction(const Sandbox& box, const std::string& arguments, const std::string& seconds = "0.2") {
  CAPTURE(arguments);
  const Json told = json_of(box, "info " + arguments + " --json --seconds " + seconds);
  REQUIRE(box.run("train " + arguments + " --out run").exit_code == 0);
  const Json run = json_of(box, "info run --json --seconds 0");
  std::filesystem::remove_all(box / "run");
  CHECK(told["method"] == "measured");
  CHECK(told["data"] == "read");
  CHECK(told["fits"] == true);
  for (const char* same : {"parameters", "learning", "vocab", "flops_per_token", "tokens_per_step", "evaluations"}) {
    CHECK(told[same] == run[same]);
  }
  const Json& memory = told["memory"];
  const double parts = memory["weights"].get<double>() + memory["gradients"].get<double>() +
                       memory["optimizer"].get<double>() + memory["activations"].get<double>() +
                       memory["other"].get<double>();
  CHECK(memory["peak"].get<double>() == parts);
  CHECK(memory["activations"].get<double>() > 4e6);
#if !defined(TAPEFORMER_ADDRESS_SANITIZER)  // which keeps freed memory
  CHECK(memory["peak"].get<double>() == doctest::Approx(run["measured"]["peak"].get<double>()).epsilon(0.1));
#endif
  const double step = told["step_seconds"], evaluation = told["evaluation_seconds"];
  CHECK(step > 0);
  CHECK(evaluation > 0);
  CHECK(told["training_seconds"].get<double>() == doctest::Approx(3 * step + 2 * evaluation));
  CHECK(run["measured"]["steps"] == 3);
  CHECK(run["measured"]["step_seconds"].get<double>() > 0);
  CHECK(run["measured"]["training_seconds"].get<double>() > run["measured"]["step_seconds"].get<double>());
}

const std::string kShort = " --train.steps 3 --train.log_every 1 --eval.every 2 --train.threads 1 --checkpoint.every 0";

}  // namespace

TEST_CASE("info: a model of any size takes no memory, and options change it as they change training") {
  const Sandbox box("gpt");
  // 96 layers, 12288 wide: the matrices of the blocks are 12·96·12288² = 173,946,175,488 weights, 650 GiB.
  const std::string config =
      "tiny.toml --model.layers 96 --model.heads 96 --model.dim 12288 --model.bias false --tokenizer.kind bpe "
      "--tokenizer.vocab 300";
  const Json huge = json_of(box, "info --json " + config);
  CHECK(huge["parameters"]["blocks"] == 12LL * 96 * 12288 * 12288 + 2LL * 96 * 12288);
  CHECK(huge["fits"] == false);
  CHECK(huge["method"] == "computed");
  CHECK(huge["step_seconds"].get<double>() > 0);
  check_error(box, kFailure, "the training needs …", "train --out new " + config);
}

#if !defined(TAPEFORMER_ADDRESS_SANITIZER)  // which keeps freed memory
TEST_CASE("info: the memory of a training is what it says before, for every family") {
  const Sandbox box;
  const std::string configs = PROJECT_ROOT "/configs/", text = " --data.lines 300" + kShort;
  check_prediction(box, configs + "stories.toml --model.dim 64" + text);
  check_prediction(box, configs + "stories.toml --model.dim 64 --train.batch 32 --train.recompute true" + text);
  check_prediction(box, configs + "lstm-char.toml --data.corpus stories" + text);
  check_prediction(box, configs + "bilm-stories.toml --model.dim 64" + text);
  check_prediction(box, configs + "bert-stories.toml --model.dim 64" + text);
  check_prediction(box, configs + "word2vec-stories.toml" + text);
  check_prediction(box, configs + "nplm-markov.toml --train.accumulate 2" + text);
  const std::string large = configs + "stories.toml --model.dim 256 --model.layers 8 --train.batch 4" + text;
  check_prediction(box, large + " --optimizer.state bf16", "0.5");
  check_prediction(box, large + " --optimizer.name muon --optimizer.state int8", "0.5");
  // Long enough that steps of all lengths of sentences are tried on a busy machine as well.
  const std::string dates = "dates.toml --train.batch_tokens 1024 --data.valid_fraction 0.1" + text;
  check_prediction(box, configs + dates, "1");
  check_prediction(box, configs + "rnn-" + dates, "1");
}
#endif

TEST_CASE("info: fine-tuning counts its classifier, and what is frozen has no gradient" * long_test()) {
  const Sandbox box;
  box.write("labels.tsv", result_of(box, "corpus stories --labels --lines 100"));
  const std::string tag = PROJECT_ROOT "/configs/tag-stories.toml --data.labels labels.tsv --train.batch 64" + kShort;
  check_prediction(box, tag, "1");
  const Json all = json_of(box, "info " + tag + " --seconds 0 --json");
  const std::int64_t classifier = all["parameters"]["task"];
  CHECK(classifier > 0);
  CHECK(classifier % 129 == 0);  // 128 weights and a bias for each label
  CHECK(all["learning"] == all["parameters"]["without_heads"]);
  const Json frozen = json_of(box, "info " + tag + " --task.freeze true --seconds 0 --json");
  CHECK(frozen["parameters"] == all["parameters"]);
  CHECK(frozen["learning"] == classifier);
  CHECK(frozen["memory"]["gradients"] == 4 * classifier);
  CHECK(frozen["memory"]["optimizer"] == 8 * classifier);
  CHECK(frozen["memory"]["weights"] == all["memory"]["weights"]);
  const auto optimizer_bytes = [&](const std::string& state) {
    const std::string info = "info " + tag + " --task.freeze true --seconds 0 --json --optimizer.state " + state;
    return json_of(box, info)["memory"]["optimizer"].get<std::int64_t>();
  };
  CHECK(optimizer_bytes("bf16") == 4 * classifier);
  // The classifier has a weight matrix and a bias: a scale for each block of 256.
  const std::int64_t labels = classifier / 129, blocks = (128 * labels + 255) / 256 + (labels + 255) / 256;
  CHECK(optimizer_bytes("int8") == 2 * (classifier + 4 * blocks));
}

TEST_CASE("info: rare communication keeps a copy of the weights and a momentum") {
  const Sandbox box;
  const std::string config = PROJECT_ROOT "/configs/stories.toml --model.dim 192 --data.lines 300" + kShort;
  const std::string rare = " --train.sync_every 3 --eval.every 3";
  const std::int64_t weights = json_of(box, "info --json --seconds 0 " + config)["memory"]["weights"];
  const Json told = json_of(box, "info --json --seconds 0 " + config + rare);
  CHECK(told["memory"]["optimizer"] == 4 * weights);
  const Json plain = json_of(box, "info --json --seconds 0 " + config + rare + " --train.outer_momentum 0");
  CHECK(plain["memory"]["optimizer"] == 3 * weights);
#if !defined(TAPEFORMER_ADDRESS_SANITIZER)  // which keeps freed memory
  const Json measured = json_of(box, "info --json --seconds 0.2 " + config + rare);
  REQUIRE(box.run("train " + config + rare + " --out run").exit_code == 0);
  const Json run = json_of(box, "info run --json --seconds 0");
  CHECK(measured["memory"]["peak"].get<double>() ==
        doctest::Approx(run["measured"]["peak"].get<double>()).epsilon(0.1));
#endif
}

TEST_CASE("info: what does not fit in memory is said before, with settings that do") {
#if !defined(TAPEFORMER_ADDRESS_SANITIZER)  // whose address space has no limit
  const Sandbox box;
  const std::string wide =
      PROJECT_ROOT "/configs/stories.toml --data.lines 300 --model.dim 64 --train.threads 1 --train.batch 256";
  const Json whole = json_of(box, "info --json --seconds 2 " + wide);
  CHECK(whole["method"] == "measured");
  CHECK(whole["fits"] == true);
  CHECK(whole["advice"].empty());
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlimit bound = before;
  bound.rlim_cur = whole["memory"]["peak"].get<rlim_t>() * 3 / 4;
  setrlimit(RLIMIT_AS, &bound);  // of the commands
  const Json told = json_of(box, "info --json --seconds 0.3 " + wide);
  const std::string text = result_of(box, "info --seconds 0.3 " + wide);
  setrlimit(RLIMIT_AS, &before);
  CHECK(told["fits"] == false);
  CHECK(told["memory"]["machine"] == bound.rlim_cur);
  CHECK(told["method"] == "scaled");
  CHECK(told["memory"]["peak"].get<double>() == doctest::Approx(whole["memory"]["peak"].get<double>()).epsilon(0.1));
  REQUIRE(told["advice"].size() == 2);
  CHECK(told["advice"][0]["set"] == Json{{"train.accumulate", "2"}, {"train.batch", "128"}});
  CHECK(told["advice"][1]["set"] == Json{{"train.recompute", "true"}});
  for (const Json& advice : told["advice"]) {
    CHECK(advice["fits"] == true);
    CHECK(advice["peak_bytes"].get<double>() < static_cast<double>(bound.rlim_cur));
    std::string arguments = "info --json --seconds 0.3 " + wide.substr(0, wide.find("--train.batch"));
    if (!advice["set"].contains("train.batch")) arguments += " --train.batch 256";
    for (const auto& [key, value] : advice["set"].items()) arguments += " --" + key + " " + value.get<std::string>();
    CHECK(json_of(box, arguments)["memory"]["peak"].get<double>() ==
          doctest::Approx(advice["peak_bytes"].get<double>()).epsilon(0.1));
  }
  CHECK(text.find("IT DOES NOT FIT\n  what helps: --train.accumulate 2 --train.batch 128\n") != text.npos);
#endif
}

TEST_CASE("info: a peak that was measured too low is measured again") {
  const Sandbox box("gpt");
  const std::string info = "info tiny.toml --train.threads 1 --train.matmul highest --seconds 0.2";
  const double peak = json_of(box, info + " --json")["machine_flops"];
  Json machine;
  std::string path;
  for (const auto& file : std::filesystem::recursive_directory_iterator(box / "")) {
    if (file.path().filename() == "machine.json") path = std::filesystem::relative(file.path(), box / "").string();
  }
  machine = Json::parse(box.read(path));
  for (auto& [cpu, settings] : machine.items()) settings["highest, threads: 1"] = 1e6;
  box.write(path, machine.dump());
  const Json again = json_of(box, info + " --json");
  CHECK(again["machine_flops"].get<double>() > peak / 100);
  CHECK(Json::parse(box.read(path)).front()["highest, threads: 1"] == again["machine_flops"]);
  // Whatever is kept, no share is above the whole.
  box.write(path, machine.dump());
  const std::string text = result_of(box, info);
  const std::size_t share = text.find(" % of that");
  REQUIRE(share != text.npos);
  CHECK(std::stoi(text.substr(text.rfind(' ', share - 1) + 1)) <= 100);
}
