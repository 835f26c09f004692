// eval --by-length: BLEU of translations, apart by the length of the source.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>

#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

using Json = nlohmann::ordered_json;

TEST_CASE("eval: --by-length divides BLEU by the tokens of the source, as bleu scores the greedy translations" *
          long_test()) {
  const Sandbox box;
  box.succeed(
      "train --out run --model.type rnn_seq2seq --model.dim 32 --data.corpus clauses --data.lines 1000 "
      "--tokenizer.kind "
      "word --optimizer.lr 2e-2 --schedule.warmup 20 --train.steps 300 --train.batch 16 --eval.every 0");
  const std::vector<std::string> lines = lines_in(box.succeed("corpus clauses --lines 60 --seed 2").out);
  std::map<std::int64_t, std::array<std::string, 2>> sides;  // by part
  std::array<std::string, 2> all;
  for (const std::string& line : lines) {
    const std::size_t tab = line.find('\t');
    const auto words = std::count(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(tab), ' ') + 1;
    for (auto* side : {&all, &sides[(words - 1) / 10]}) {
      (*side)[0] += line.substr(0, tab) + "\n", (*side)[1] += line.substr(tab + 1) + "\n";
    }
  }
  // An empty source belongs to no part; what should have been written for it counts in the BLEU of all.
  all[0] += "\n";
  for (int i = 0; i < 300; ++i) all[1] += "nothing ";
  all[1] += "\n";
  box.write("source.txt", all[0]), box.write("target.txt", all[1]);
  const std::string command = "eval run --source source.txt --target target.txt";
  const Json plain = json_of(box, command + " --json"), eval = json_of(box, command + " --json --by-length");
  CHECK_FALSE(plain.contains("by_length"));
  CHECK(eval["loss"] == plain["loss"]);
  const auto bleu = [&](const std::array<std::string, 2>& side) {
    box.write("reference.txt", side[1]);
    const std::string output = box.succeed("translate run --beam 1", {}, side[0]).out;
    return box.succeed("bleu --reference reference.txt --json", {}, output).json()["bleu"].get<double>();
  };
  CHECK(eval["bleu"].get<double>() == doctest::Approx(bleu(all)));
  CHECK(eval["bleu"].get<double>() > 1);
  std::int64_t tokens = 0;
  REQUIRE(std::ssize(eval["by_length"]) == sides.rbegin()->first + 1);
  for (std::int64_t i = 0; i <= sides.rbegin()->first; ++i) {
    const Json& part = eval["by_length"][static_cast<std::size_t>(i)];
    CHECK(part["first"] == 10 * i + 1);
    CHECK(part["last"] == 10 * i + 10);
    CHECK(part["pairs"] == std::count(sides[i][0].begin(), sides[i][0].end(), '\n'));
    tokens += part["tokens"].get<std::int64_t>();
    REQUIRE(part["bleu"].is_null() == sides[i][0].empty());
    if (!sides[i][0].empty()) CHECK(part["bleu"].get<double>() == doctest::Approx(bleu(sides[i])));
  }
  CHECK(tokens == eval["tokens"]);
  const std::string table = result_of(box, command + " --by-length");
  CHECK(table.find("\ntokens of the source ") != table.npos);
  CHECK(table.find("\n11–20 ") != table.npos);
  CHECK(box.run("eval run --text source.txt --by-length").exit_code != 0);
}

TEST_CASE("eval: --by-length counts the tokens of a target that is not UTF-8, which has no loss") {
  const Sandbox box("transformer");
  box.write_sides();
  box.train("run", "--train.steps 1 --tokenizer.kind char");
  const std::string command = "eval run --json --by-length --source source.txt --target target.txt";
  const Json before = json_of(box, command);
  box.write("source.txt", box.read("source.txt") + "abc\n");
  box.write("target.txt", box.read("target.txt") +
                              "c\xFF"
                              "a\n");
  const Json after = json_of(box, command);
  CHECK(after["skipped"] == before["skipped"].get<std::int64_t>() + 1);
  CHECK(after["tokens"] == before["tokens"]);
  CHECK(after["by_length"][0]["pairs"] == before["by_length"][0]["pairs"].get<std::int64_t>() + 1);
  CHECK(after["by_length"][0]["tokens"] == before["by_length"][0]["tokens"].get<std::int64_t>() + 4);
}
