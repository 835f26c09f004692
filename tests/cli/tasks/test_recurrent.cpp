// Recurrent language models from the command line.
#include <doctest/doctest.h>

#include "tests/cli/sandbox.h"

TEST_CASE("recurrent model: every command that reads a language model works, or refuses in one line") {
  const Sandbox box("rnn");
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
  // A short text has fewer parts than --batch.
  box.write("short.txt", "The cat");
  const auto parts_of = [&](const std::string& options) {
    const std::string table = result_of(box, "eval run " + options), begin = "context        all before it, in ";
    const std::size_t at = table.find(begin);
    REQUIRE(at != table.npos);
    return table.substr(at + begin.size(), table.find(',', at + begin.size()) - at - begin.size());
  };
  CHECK(parts_of("--text text.txt") == "16 parts");
  CHECK(parts_of("--text text.txt --batch 3") == "3 parts");
  CHECK(parts_of("--text text.txt --batch 1") == "1 part");
  CHECK(parts_of("--text short.txt") == "6 parts");
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
