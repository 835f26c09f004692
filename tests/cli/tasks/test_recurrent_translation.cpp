// Recurrent encoder-decoders, and alignments, from the command line.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

namespace {

// Checks files of alignments with the translations of three lines, of which the second one is empty.
void check_alignments(const Sandbox& box, const std::string& out) {
  const std::vector<std::string> translations = lines_in(out), objects = lines_in(box.read("weights.jsonl"));
  const std::vector<std::string> links = lines_in(box.read("links.txt"));
  REQUIRE(translations.size() == 3);
  REQUIRE(objects.size() == 3);
  REQUIRE(links.size() == 3);
  CHECK(objects[1] == R"({"source":[],"target":[],"weights":[]})");
  CHECK(links[1] == "");
  for (const std::size_t line : {0, 2}) {
    const auto object = nlohmann::ordered_json::parse(objects[line]);
    std::string target;
    for (const std::string token : object["target"]) target += token;
    CHECK(target == translations[line] + "</s>");
    CHECK(object["source"].back() == "</s>");
    REQUIRE(object["weights"].size() == object["target"].size());
    std::string expected;
    for (std::size_t t = 0; t < object["weights"].size(); ++t) {
      const auto row = object["weights"][t].get<std::vector<double>>();
      REQUIRE(row.size() == object["source"].size());
      double sum = 0;
      for (const double weight : row) sum += weight;
      CHECK(std::abs(sum - 1) < 1e-5);
      const auto best = std::max_element(row.begin(), row.end()) - row.begin();
      if (t + 1 == object["weights"].size() || best + 1 == std::ssize(row)) continue;
      expected += (expected.empty() ? "" : " ") + std::to_string(best) + "-" + std::to_string(t);
    }
    CHECK(links[line] == expected);
  }
}

constexpr const char* kThreeLines = "abcd\n\nhello\n";

}  // namespace

TEST_CASE("recurrent encoder-decoder: every command that reads a translation model works, or refuses in one line" *
          long_test()) {
  const Sandbox box("rnn_seq2seq");
  box.train("run");
  box.write_sides();
  const std::string source = box.read("source.txt");
  const auto eval = json_of(box, "eval run --source source.txt --target target.txt --json");
  CHECK(eval["pairs"] == 200);
  CHECK_FALSE(eval.contains("context"));
  double nats = 0;
  const std::string surprisals = result_of(box, "surprisal run --source source.txt --target target.txt --json");
  for (const std::string& line : lines_in(surprisals)) {
    const auto pair = nlohmann::ordered_json::parse(line);
    for (const auto& token : pair["tokens"]) nats += token["nats"].get<double>();
  }
  CHECK(nats / eval["tokens"].get<double>() == doctest::Approx(eval["loss"].get<double>()).epsilon(1e-5));

  const std::string expected = result_of(box, "translate run", {}, source);
  CHECK(lines_in(expected).size() == 200);
  for (const char* options : {"--batch 1", "--batch 7", "--no-cache"}) {
    CAPTURE(options);
    CHECK(result_of(box, std::string("translate run ") + options, {}, source) == expected);
  }
  const auto info = json_of(box, "info run --seconds 0 --json");
  CHECK(info["parameters"]["encoder"] == 2 * 3 * ((16 * 12 + 12 * 12 + 2 * 12) + (24 * 12 + 12 * 12 + 2 * 12)));
  check_error(box, kFailure,
              "run: the model is a rnn_seq2seq, expected a language model; for encoder-decoders there are translate, "
              "eval and surprisal with --source and --target",
              "generate run --prompt abc");
  check_error(box, kUsage,
              "data.corpus: expected parallel text for model.type = rnn_seq2seq, got stories, which is "
              "plain text",
              "train --model.type rnn_seq2seq --data.corpus stories --out new");
  check_error(box, kUsage, "model.dim: expected an even width for a bidirectional encoder, got 23",
              "train tiny.toml --model.dim 23 --out new");
  check_error(box, kUsage,
              "model.encoder: expected forward for model.attention = none, which reads no states of both directions, "
              "got bidirectional",
              "train tiny.toml --model.attention none --model.encoder bidirectional --out new");
}

TEST_CASE("translate: alignments of a recurrent model and of a Transformer, by layer and head or the mean of all") {
  const Sandbox box("rnn_seq2seq");
  const auto align = [&](const std::string& run) {
    const std::string files = " --alignments weights.jsonl --pharaoh links.txt";
    check_alignments(box, result_of(box, "translate " + run + files, {}, kThreeLines));
  };
  for (const std::string score : {"dot", "bilinear", "additive"}) {
    CAPTURE(score);
    box.train(score, "--train.steps 4 --model.attention " + score);
    align(score);
  }
  box.prepare_toy("transformer");
  box.train("transformer", "--train.steps 20");
  align("transformer");
  align("transformer --n-best 1 --beam 3 --layer 0 --head 1");
  check_error(box, kUsage, "--head: expected 0 to 1, got 9", "translate transformer --alignments w.jsonl --head 9", {},
              "abc\n");
  check_error(box, kUsage, "translate: --layer and --head: expected --alignments, --pharaoh or --trees beside them",
              "translate transformer --layer 0", {}, "abc\n");
  check_error(box, kFailure, "cannot write nowhere/w.jsonl: No such file or directory",
              "translate dot --alignments nowhere/w.jsonl", {}, "abc\n");
  check_error(box, kUsage, "translate: --alignments and --pharaoh: expected two files, got w.txt for both",
              "translate dot --alignments w.txt --pharaoh ./w.txt", {}, "abc\n");
  const std::string links = box.read("links.txt");
  box.prepare_toy("rnn_seq2seq");
  box.train("none", "--train.steps 2 --model.attention none");
  check_error(box, kUsage, "alignments: the model has no attention from target to source",
              "translate none --pharaoh links.txt", {}, "abc\n");
  CHECK(box.read("links.txt") == links);  // what fails leaves the file as it was
}

TEST_CASE("aer: the error rate of a file of alignments against a reference") {
  const Sandbox box;
  box.write("reference.txt", "0-0 1-1 1p2\n0-1 1-0 2-2\n");
  box.write("links.txt", "0-0 1-2 4-4\n0-1 1-0 2-2\n");
  const auto json = json_of(box, "aer --reference reference.txt links.txt --json");
  CHECK(json["aer"].get<double>() == doctest::Approx(1 - 9. / 11));
  CHECK(keys_of(json) == std::vector<std::string>{"aer", "precision", "recall", "links", "sure"});
  CHECK(result_of(box, "aer --reference reference.txt links.txt") ==
        "AER 0.1818 (precision 0.8333, recall 0.8000, 6 links, 5 sure ones)\n");
  box.write("reverse.txt", result_of(box, "corpus reverse --lines 20 --alignment"));
  CHECK(json_of(box, "aer --reference reverse.txt reverse.txt --json")["aer"] == 0);
  box.write("bad.txt", "0-0\n1:1\n");
  check_error(box, kFailure, "bad.txt: line 2: expected links i-j or ipj, got 1:1",
              "aer --reference reference.txt bad.txt");
  check_error(box, kFailure, "aer: reference.txt has 2 lines, reverse.txt 20: expected an alignment for each",
              "aer --reference reference.txt reverse.txt");
  check_error(box, kUsage, "corpus sort: it has no alignment", "corpus sort --alignment");
}
