// Models that write captions of images, from the command line.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/cli/sandbox.h"

using Json = nlohmann::ordered_json;

namespace {

// Expects that the weights of each word of an answer are 1 together.
void check_weights(const Json& answer) {
  CAPTURE(answer["caption"].dump());
  for (const Json& word : answer["words"]) {
    if (word["word"] == "") continue;  // before a space at the beginning
    double sum = 0;
    for (const Json& row : word["weights"]) {
      for (const double weight : row) sum += weight;
    }
    CHECK(std::abs(sum - 1) < 0.02);  // three digits each
  }
}

}  // namespace

TEST_CASE("captions: train on a folder, evaluate, write captions and pages; batches and caches change nothing") {
  const Sandbox box("vit");
  box.succeed("corpus shapes --lines 40 --images shapes");
  box.succeed("corpus shapes --lines 12 --seed 2 --images unseen");
  box.train("run", "--data.images shapes --data.valid_images unseen --train.sample_every 20");
  const auto metrics = box.metrics("run");
  const Json result = box.succeed("eval run --images unseen --json").json();
  CHECK(result["images"] == 12);
  CHECK(result["captions"] == 12);
  CHECK(result["perplexity"].get<double>() == doctest::Approx(std::exp(result["loss"].get<double>())));
  for (const char* share : {"exact", "looked_at"}) {
    CHECK(result[share].get<double>() >= 0);
    CHECK(result[share].get<double>() <= 1);
  }
  CHECK(result["named_words"].get<int>() >= 24);
  CHECK(result["loss"].get<double>() < 3);

  const std::string all = box.succeed("caption run --images unseen --beam 1").out;
  CHECK(lines_in(all).size() == 12);
  CHECK(all.starts_with("000001.png\t"));
  CHECK(box.succeed("caption run --images unseen --beam 1 --batch 5 --no-cache").out == all);
  const std::string first = all.substr(all.find('\t'), all.find('\n') - all.find('\t') + 1);
  CHECK(box.succeed("caption run --images unseen/000001.png --beam 1").out == "unseen/000001.png" + first);
  // A folder without a list: all its images, however their endings are written.
  box.write("folder/a.PNG", box.read("unseen/000001.png"));
  box.write("folder/b.png", box.read("unseen/000002.png"));
  const auto both = lines_in(box.succeed("caption run --images folder --beam 1").out);
  REQUIRE(both.size() == 2);
  CHECK(both[0] + "\n" == "folder/a.PNG" + first);
  const std::string sampled = box.succeed("caption run --images unseen --sample --seed 3").out;
  CHECK(box.succeed("caption run --images unseen --sample --seed 3 --batch 2").out == sampled);

  const auto objects = lines_in(box.succeed("caption run --images unseen --beam 1 --json --out page.html").out);
  REQUIRE(objects.size() == 12);
  for (const std::string& line : objects) check_weights(Json::parse(line));
  CHECK(box.read("page.html").find("unseen") == std::string::npos);
  box.succeed("caption run --images unseen --mistakes --out mistakes.html");
  CHECK(box.has("mistakes.html"));
}

TEST_CASE("captions: each is a line, whatever the model writes") {
  const Sandbox box("vit");
  box.succeed("corpus shapes --lines 40 --images shapes");
  box.train("run", "--train.steps 1 --tokenizer.kind bpe --tokenizer.vocab 260 --model.context 64");
  const std::string sampled = "caption run --images shapes --sample --temperature 100";  // nearly any bytes
  REQUIRE(box.succeed(sampled + " --json").out.find("\\n") != std::string::npos);
  CHECK(lines_in(box.succeed(sampled).out).size() == 40);
}

TEST_CASE("captions: a model without a context writes 100 tokens at most, or as many as asked for") {
  const Sandbox box("cnn_lstm");
  box.succeed("corpus shapes --lines 20 --images shapes");
  box.train("run", "--train.steps 1 --eval.every 0 --tokenizer.kind bpe --tokenizer.vocab 260");
  const auto bytes = [&](const std::string& words) {  // of drawn captions, of which many end at the limit
    return box.succeed("caption run --images shapes --sample --temperature 100" + words).out.size();
  };
  const std::size_t unasked = bytes("");
  CHECK(bytes(" --max-length 100") == unasked);
  CHECK(bytes(" --max-length 90") < unasked);
  CHECK(bytes(" --max-length 150") > unasked);
}

TEST_CASE("captions: where the model looked is that of the tokens that it wrote, whatever their text would become") {
  const Sandbox box("vit");
  box.train("run", "--train.steps 1 --eval.every 0");
  box.succeed("corpus shapes --lines 20 --images shapes");
  const std::string drawn = box.succeed("caption run --images shapes --sample --json").out;
  CHECK(drawn.find("<unk>") != drawn.npos);  // its text has other tokens
  for (const std::string& line : lines_in(drawn)) check_weights(Json::parse(line));
}

TEST_CASE("captions: those that are longer than the context are left out of the loss, and count as not exact") {
  const Sandbox box("vit");
  box.train("run", "--train.steps 1 --eval.every 0 --model.context 4");
  box.succeed("corpus shapes --lines 20 --images shapes");
  const Outcome outcome = box.succeed("eval run --images shapes --json");
  CHECK(outcome.tells("captions have no loss: "));
  CHECK(outcome.json()["captions"] == 20);
  CHECK(outcome.json()["skipped"].get<int>() > 5);
  CHECK(outcome.json()["named_words"] == 2 * (20 - outcome.json()["skipped"].get<int>()));
}

TEST_CASE("captions: what does not fit is refused in one line, and nothing is written") {
  const Sandbox box("cnn_lstm");
  box.train("run", "--train.steps 1 --eval.every 0");
  box.succeed("corpus shapes --lines 3 --images shapes");
  const auto refused = [&](const std::string& words, int code, const std::string& message) {
    CAPTURE(words);
    const Outcome outcome = box.run(words);
    CHECK(outcome.exit_code == code);
    CHECK(outcome.err.find(message) != std::string::npos);
  };
  refused("caption run --images tiny.toml", 1, "tiny.toml: expected a PNG image, got other bytes");
  refused("caption run --images shapes/000001.png --mistakes --out a.html", 2,
          "caption: --mistakes: expected a folder with captions.tsv as --images");
  refused("caption run --images shapes --layer 0", 2, "caption: --layer and --head: expected --out or --json");
  refused("caption run --images shapes --layer 1 --out a.html", 2, "--layer: expected 0 to 0, got 1");
  refused("eval run --text tiny.toml", 1, "expected a language model; for models of images there are caption");
  refused("corpus stories --images other", 2, "corpus: expected one with images, which is shapes, got stories");
  refused("corpus shapes --images shapes", 2, "corpus: --images: expected a folder that is not there yet, got shapes");
  refused("train tiny.toml --minutes 1 --out other", 2, "--minutes: no plan is made for captioning");
  refused("train tiny.toml --model.image_size 24 --model.cells 5 --out other", 2,
          "model.image_size: expected a multiple of 20, since there are 5 cells to a side");
  refused("train tiny.toml --data.corpus reverse --out other", 2, "corpus: expected one with images");
  refused("train tiny.toml --tokenizer.joint false --out other", 2,
          "tokenizer.joint: expected true beside model.type = cnn_lstm, got false");
  refused("train --data.images shapes --out other", 2,
          "data.images: expected a model of images as model.type, got gpt");
  CHECK_FALSE(box.has("a.html"));
  CHECK_FALSE(box.has("other"));
}
