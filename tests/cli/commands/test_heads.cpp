// Looking inside a model from the command line: heads, what the loss is without them, the logit lens, loss by parts.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/cli/sandbox.h"
#include "tests/cli/toys.h"
#include "tests/long_test.h"

using Json = nlohmann::ordered_json;

namespace {

// The share of tokens with 33 to 64 before them that a run of the corpus `induction` predicts.
double repeated_accuracy(const Sandbox& box, const std::string& words) {
  const Json parts = json_of(box, "eval " + words + " --text lines.txt --by-position --json")["by_position"];
  const auto part = std::ranges::find_if(parts, [](const Json& one) { return one["first"] == 33; });
  REQUIRE(part != parts.end());
  CHECK((*part)["last"] == 64);
  return (*part)["accuracy"].get<double>();
}

const std::vector<std::string> kHeadKeys{"head",      "loss_rise",        "previous", "same_token",
                                         "induction", "induction_random", "first",    "distance"};

}  // namespace

TEST_CASE("heads: those of a language model are ranked, and eval has the loss without them") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 20");
  const Json all = json_of(box, "eval run --text text.txt --json");
  CHECK_FALSE(all.contains("without_heads"));
  const Json heads = json_of(box, "heads run --text text.txt --json");
  CHECK(heads["tokens"] == all["tokens"]);
  CHECK(heads["loss"] == all["loss"]);
  REQUIRE(heads["heads"].size() == 4);
  for (const Json& head : heads["heads"]) CHECK(keys_of(head) == kHeadKeys);
  const Json& first = heads["heads"][0];
  const Json without =
      json_of(box, "eval run --text text.txt --json --without-head " + first["head"].get<std::string>());
  CHECK(without["without_heads"] == Json::array({first["head"]}));
  CHECK(without["loss"].get<double>() - all["loss"].get<double>() ==
        doctest::Approx(first["loss_rise"].get<double>()).epsilon(1e-9));
  const Outcome none = box.succeed("eval run --text text.txt --without-head 0.0,0.1,1.0,1.1");
  CHECK(none.out.find(", without the heads 0.0, 0.1, 1.0, 1.1\n") != none.out.npos);
  const std::string table = result_of(box, "heads run --text text.txt --top 1");
  CHECK(table.starts_with("loss with all heads: "));
  CHECK(table.find("\n" + first["head"].get<std::string>() + "  ") != table.npos);
  CHECK(table.find("\nmost previous token: head ") != table.npos);
  CHECK(lines_in(table).size() == 5);
  check_errors(
      box, kUsage,
      {{"eval run --text text.txt --without-head 0.2", "head 0.2: expected one of 0.0, …, 1.1, which count from 0"},
       {"heads run", "heads: expected --text FILE for this model"}});
}

TEST_CASE("heads: a model whose loss it cannot take is refused with the models that it can study") {
  const Sandbox box;
  const std::string models = "expected a language model or a masked language model or an encoder-decoder; ";
  box.write("images/config.toml", "[model]\ntype = \"vit\"\n");
  box.write("tags/config.toml", "[data]\nlabels = \"words.tsv\"\n[task]\nkind = \"tag\"\n");
  box.write("tags-bert/config.toml",
            "[model]\ntype = \"bert\"\n[data]\nlabels = \"words.tsv\"\n[task]\nkind = \"tag\"\n");
  check_errors(box, kFailure,
               {{"heads images --text text.txt", "images: the model is a vit, " + models + "…"},
                {"heads tags --text text.txt", "tags: the model is fine-tuned to tag, " + models + "…"},
                {"heads tags-bert --text text.txt", "tags-bert: the model is fine-tuned to tag, " + models + "…"}});
}

TEST_CASE("eval: parts by position and frequency add up to the reported loss; models without windows are refused") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 2");
  const Json all = json_of(box, "eval run --text text.txt --json");
  const Json parts = json_of(box, "eval run --text text.txt --json --by-position --by-frequency");
  CHECK(parts["loss"].get<double>() == doctest::Approx(all["loss"].get<double>()).epsilon(1e-6));
  CHECK(parts["by_position"].back()["last"] == 16);
  CHECK(parts["by_frequency"][0].contains("kinds"));
  for (const char* const by : {"by_position", "by_frequency"}) {
    CAPTURE(by);
    double nats = 0;
    std::int64_t tokens = 0;
    for (const Json& part : parts[by]) {
      if (part["tokens"] == 0) continue;
      tokens += part["tokens"].get<std::int64_t>();
      nats += part["tokens"].get<double>() * part["loss"].get<double>();
    }
    CHECK(tokens == parts["tokens"].get<std::int64_t>());
    CHECK(nats / static_cast<double>(tokens) == doctest::Approx(parts["loss"].get<double>()).epsilon(1e-12));
  }
  const Json map = json_of(box, "attention run --text Once --json --by-position text.txt")[0];
  REQUIRE(map["by_position"].size() == parts["by_position"].size());
  CHECK(map["by_position"].back()["tokens"] == parts["by_position"].back()["tokens"]);
  CHECK(map["by_position"].back()["loss"].get<double>() ==
        doctest::Approx(parts["by_position"].back()["loss"].get<double>()).epsilon(1e-6));
  const std::string table = result_of(box, "eval run --text text.txt --by-position");
  CHECK(table.find("\ntokens before it") != table.npos);
  CHECK(table.find("\n9–16 ") != table.npos);
  box.write("rnn.toml", find_toy("rnn").toml());
  box.succeed("train rnn.toml --out rnn --train.steps 1");
  CHECK_FALSE(box.succeed("eval run --text text.txt --by-frequency").tells("is another than"));
  CHECK(json_of(box, "eval rnn --text text.txt --by-frequency --json")["by_frequency"].size() > 1);
  check_errors(box, kUsage,
               {{"eval rnn --text text.txt --by-position",
                 "eval: --by-position: expected none, since rnn reads a text in order and has no windows"},
                {"eval rnn --text text.txt --without-head 0.0", "head 0.0: the model has no heads of attention"}});
  // The tokens are counted in the text as it is now.
  box.write("other.txt", box.read("text.txt"));
  box.write("text.txt", box.read("text.txt") + box.read("text.txt"));
  CHECK(box.succeed("eval run --text other.txt --by-frequency")
            .tells("the training data is another than in the training of run\n"));
}

TEST_CASE("heads: those of an encoder-decoder have their stack in their names; the lens is that of the decoder") {
  const Sandbox box("transformer");
  box.write_sides();
  box.train("run", "--train.steps 4");
  const std::string files = " --source source.txt --target target.txt";
  const Json heads = json_of(box, "heads run --json" + files)["heads"];
  REQUIRE(heads.size() == 6);
  const Json all = json_of(box, "eval run --json" + files);
  for (const Json& head : heads) {
    const std::string name = head["head"].get<std::string>();
    CAPTURE(name);
    CHECK(head["distance"].is_null() == name.starts_with("cross."));
    const Json without = json_of(box, "eval run --json --without-head " + name + files);
    CHECK(without["loss"].get<double>() - all["loss"].get<double>() ==
          doctest::Approx(head["loss_rise"].get<double>()).epsilon(1e-9));
  }
  box.write("source.txt", box.read("source.txt") + "\n");
  box.write("target.txt", box.read("target.txt") + "abc\n");
  const Outcome with_empty = box.succeed("heads run --json" + files);
  CHECK(with_empty.tells("pairs are not scored: 1 has an empty side"));
  CHECK(with_empty.json()["tokens"] == all["tokens"]);
  const Json maps = json_of(box, "attention run --json --lens --heads --source abc --target cb");
  CHECK_FALSE(maps[0].contains("lens"));
  CHECK(maps[1]["lens"].size() == 2);
  CHECK(maps[1]["lens"][1].size() == 3);
  for (const Json& map : maps) {
    REQUIRE(map["heads"].size() == 2);
    CHECK(map["heads"][0]["head"].get<std::string>().starts_with(map["name"].get<std::string>() + ".0."));
  }
  check_errors(
      box, kUsage,
      {{"heads run --text text.txt", "heads: expected --source FILE and --target FILE for this model"},
       {"attention run --json --source abc --by-position source.txt",
        "attention: --by-position: expected none, since only a language model predicts each token from those before "
        "it in its window"},
       {"eval run --by-position --source source.txt --target target.txt",
        "eval: --by-position: expected none, since only a language model predicts each token from those before "
        "it in its window"}});
}

TEST_CASE("heads: a masked language model's, and its lens, which ends with what it predicts of a text") {
  const Sandbox box("bert");
  box.train("run", "--train.steps 4");
  const Json all = json_of(box, "eval run --text text.txt --no-pseudo --json");
  const Json study = json_of(box, "heads run --text text.txt --json");
  CHECK(study["loss"] == all["masked_loss"]);
  REQUIRE(study["heads"].size() == 4);
  const Json& head = study["heads"][0];
  CHECK(head["induction_random"].is_null());
  CHECK_FALSE(head["distance"].is_null());
  const Json without =
      json_of(box, "eval run --text text.txt --no-pseudo --json --without-head " + head["head"].get<std::string>());
  CHECK(without["masked_loss"].get<double>() - all["masked_loss"].get<double>() ==
        doctest::Approx(head["loss_rise"].get<double>()).epsilon(1e-9));
  const Json map = json_of(box, "attention run --json --lens --text", {"He [MASK]"})[0];
  REQUIRE(map["lens"].size() == 3);
  CHECK(map["lens"][2].size() == map["queries"].size());
  const Json fill = json_of(box, "fill run --top 1 --json --text", {"He [MASK]"})["masks"][0];
  const Json& cell = map["lens"][2][fill["place"].get<std::size_t>()]["likeliest"];
  // fill leaves out the special tokens.
  CHECK(std::ranges::any_of(cell, [&](const Json& likely) { return likely[0] == fill["tokens"][0]["token"]; }));
  check_error(box, kUsage,
              "attention: --heads: expected a language model or an encoder-decoder; for others there is heads RUN",
              "attention run --json --heads --text a");
}

TEST_CASE("induction: two layers repeat what one layer cannot, and the head that does it is named" * long_test()) {
  const Sandbox box;
  box.write("lines.txt", result_of(box, "corpus induction --lines 60 --seed 9"));
  const std::string train = "train " PROJECT_ROOT "/configs/induction.toml --data.lines 4000 --eval.every 0";
  box.succeed(train + " --out two --train.steps 1000");
  box.succeed(train + " --out one --train.steps 500 --model.layers 1");
  CHECK(repeated_accuracy(box, "two") >= 0.99);
  CHECK(repeated_accuracy(box, "one") < 0.3);
  CHECK(repeated_accuracy(box, "two --without-head 1.0") < 0.05);
  const Json heads = json_of(box, "heads two --text lines.txt --json")["heads"];
  const auto most = [&](const char* score) {
    return (*std::ranges::max_element(heads, {}, [&](const Json& head) { return head[score].get<double>(); }))["head"];
  };
  CHECK(most("induction") == "1.0");
  CHECK(most("induction_random") == "1.0");
  CHECK(most("previous") == "0.0");
  const std::string table = result_of(box, "heads two --text lines.txt");
  CHECK(table.find("\nmost induction on random tokens: head 1.0, 0.") != table.npos);
}
