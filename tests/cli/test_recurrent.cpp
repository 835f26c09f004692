// Recurrent language models from the command line.
#include <doctest/doctest.h>

#include <random>

#include "tests/cli/resume_support.h"

namespace {

constexpr const char* kTinyRnn = R"([model]
type = "rnn"
layers = 2
dim = 24
dropout = 0.1
[tokenizer]
kind = "char"
[data]
text = "text.txt"
[optimizer]
lr = 1e-2
[schedule]
warmup = 5
[train]
steps = 60
batch = 4
bptt = 16
accumulate = 2
log_every = 1
threads = 1
[eval]
every = 5
[checkpoint]
every = 4
)";

struct RnnBox : Sandbox {
  RnnBox() {
    prepare_tiny_run();
    write("tiny.toml", kTinyRnn);
  }
};

}  // namespace

TEST_CASE("resume: a recurrent model killed at random steps ends with the same bytes, its carried state too") {
  const RnnBox box;
  box.train("straight");
  CHECK(box.has("straight/checkpoints/step-000060/carried.safetensors"));
  std::mt19937 random(6);
  check_kills(box, "straight", 4, "", [&](Process& process, const std::string& run, int) {
    const std::size_t lines = lines_of(box, run) + 3 + random() % 12;
    wait_until(process, [&] { return lines_of(box, run) >= lines; });
  });
}

TEST_CASE("recurrent model: every command that reads a language model works, or refuses in one line") {
  const RnnBox box;
  box.train("run", "--train.steps 20");
  const Outcome text = box.run("generate run --prompt The --tokens 300 --temperature 0");
  CHECK(text.exit_code == 0);
  CHECK(text.out.size() > 300);  // there is no context that could be full
  const std::string search = "generate run --prompt The --tokens 30 --beam 3 --n-best 2";
  CHECK(result_of(box, search) == result_of(box, search + " --no-cache"));
  const Outcome eval = box.run("eval run --text text.txt --batch 1 --json");
  const auto json = nlohmann::ordered_json::parse(eval.out);
  CHECK(json["context"].is_null());
  CHECK(json["stride"].is_null());
  const auto surprisal = nlohmann::ordered_json::parse(box.run("surprisal run --text text.txt --json").out);
  CHECK(surprisal["mean_nats"].get<double>() == doctest::Approx(json["loss"].get<double>()).epsilon(1e-6));
  const auto info = nlohmann::ordered_json::parse(box.run("info run --seconds 0 --json").out);
  CHECK(info["parameters"]["layers"] == 2 * 4 * (24 * 24 + 24 * 24 + 2 * 24));
  check_error(box, 2, "eval: --context and --stride: expected none, since rnn reads a text in order and has no windows",
              "eval run --text text.txt --stride 4");
  check_error(box, 2, "surprisal: --stride: expected none, since rnn reads a text in order and has no windows",
              "surprisal run --text text.txt --stride 4");
  check_error(box, 2, "data.within_document: expected false for rnn, which reads on where a document ends, got true",
              "train tiny.toml --out other --data.within_document true --data.document line");
  check_error(box, 1, "the recurrent state c.0 is (8, 24): expected 6 rows (train.batch times train.accumulate)",
              "train --resume run --train.steps 30 --train.batch 3");
  CHECK(box.run("train --resume run --train.steps 22 --model.dropout 0.3").exit_code == 0);
  CHECK(box.read("run/config.toml").find("batch = 4") != std::string::npos);
}
