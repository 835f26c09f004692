// Word vectors from the command line: training, eval, neighbours, and what refuses them.
#include <doctest/doctest.h>

#include <cmath>

#include "tasks/analysis/trained_embedder.h"
#include "tasks/common/load_run.h"
#include "tests/cli/sandbox.h"

using Json = nlohmann::ordered_json;
using namespace tapeformer;

namespace {

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double aa = 0, bb = 0, ab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) aa += a[i] * a[i], bb += b[i] * b[i], ab += a[i] * b[i];
  return ab / std::sqrt(aa * bb);
}

}  // namespace

TEST_CASE("word2vec: training and eval give the loss of a pair, and commands that write text refuse it in one line") {
  const Sandbox box("word2vec");
  const Outcome outcome = box.succeed("train tiny.toml --out run --train.steps 20");
  INFO(outcome.err);
  CHECK(outcome.tells("the loss is in nats per pair of a token and one at most 5 from it, against 5 that are drawn\n"));
  CHECK(outcome.out.find(" nats per pair, at step ") != outcome.out.npos);
  CHECK_FALSE(outcome.tells("perplexity"));
  const Json last = box.metrics("run").back();
  CHECK(keys_of(last) ==
        std::vector<std::string>{"step", "tokens", "eval_loss", "eval_tokens", "elapsed_s", "peak_memory_bytes"});
  CHECK(last["tokens"] == 20 * 2 * 4 * 8);

  box.write_valid();
  const Json result = json_of(box, "eval run --text valid.txt --batch 4 --json");
  CHECK(result["loss"].get<double>() == doctest::Approx(last["eval_loss"].get<double>()).epsilon(1e-6));
  CHECK(result["pairs"] == last["eval_tokens"]);
  CHECK(result["window"] == 5);
  CHECK(result_of(box, "eval run --text valid.txt").find("\nloss           ") != std::string::npos);
  check_error(
      box, 2,
      "eval: --context and --stride: expected none, since word vectors are scored on every pair in their window",
      "eval run --text valid.txt --stride 4");
  const std::string refusal =
      "run: the model is a word2vec, expected a language model; for skip-gram models there are embed, neighbours, "
      "probe, and eval with --text";
  check_error(box, 1, refusal, "generate run --prompt The");
  const Json info = json_of(box, "info run --seconds 0 --json");
  const std::int64_t vocab = info["vocab"];
  CHECK(info["parameters"]["embeddings"] == vocab * 12);
  CHECK(info["parameters"]["contexts"] == vocab * 12);
  CHECK(info["flops_per_token"] == 3.0 * 2 * 60 * 12);
}

TEST_CASE("neighbours: the nearest tokens by cosine, of the embedding's rows or of a layer's vectors") {
  const Sandbox box("word2vec");
  box.train("run", "--train.steps 40");
  const Json result = json_of(box, "neighbours run red ball --k 3 --json");
  CHECK(keys_of(result) == std::vector<std::string>{"words", "matmul"});
  REQUIRE(result["words"].size() == 2);
  CHECK(result["words"][1]["word"] == "ball");

  const TrainedEmbedder run = load_run<TrainedEmbedder>(box / "run");
  const Tensor table = run.model->state_dict().at("token_embedding.weight");
  const auto row = [&](std::int32_t id) { return table.slice(0, id, id + 1).contiguous().to_vector<float>(); };
  const std::int32_t red = run.tokenizer->encode(" red").at(0);
  const Json neighbours = result["words"][0]["neighbours"];
  REQUIRE(neighbours.size() == 3);
  std::vector<double> all;
  for (std::int32_t id = 0; id < run.tokenizer->vocab_size(); ++id) {
    if (id != red && !run.tokenizer->is_special(id)) all.push_back(cosine(row(red), row(id)));
  }
  std::ranges::sort(all, std::greater());
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(neighbours[i]["similarity"].get<double>() == doctest::Approx(all[i]).epsilon(1e-6));
    const std::int32_t id = neighbours[i]["id"];
    CHECK(cosine(row(red), row(id)) == doctest::Approx(all[i]).epsilon(1e-6));
    CHECK(neighbours[i]["token"] == std::string(run.tokenizer->token_bytes(id)));
  }
  // The only layer of word vectors is the embedding, whatever the text.
  CHECK(json_of(box, "neighbours run red ball --k 3 --layer 0 --json")["words"] == result["words"]);
  CHECK(json_of(box, "neighbours run red --k 3 --layer 0 --json", {"--text", "A dog had a red ball."})["words"][0] ==
        result["words"][0]);
  const std::string table_text = result_of(box, "neighbours run red ball --k 2");
  CHECK(table_text.starts_with("red\n  "));
  CHECK(table_text.find("\n\nball\n  ") != table_text.npos);

  check_error(box, 1, "word: expected one that the tokenizer knows, got xylophone", "neighbours run xylophone");
  check_error(box, 2, "--layer: expected 0 (the embedding) to 0, got 1", "neighbours run red --layer 1");
  check_error(box, 2, "neighbours: --text: expected --layer beside it, since the embedding knows of no text",
              "neighbours run red", {"--text", "a red ball"});
}

TEST_CASE("neighbours: a sum of words is that of their vectors of length 1, by any tokenizer, alone and in a text") {
  const Sandbox box("word2vec");
  box.train("word", "--train.steps 40");
  box.train("bpe", "--train.steps 40 --tokenizer.kind bpe --tokenizer.vocab 300");
  for (const std::string name : {"word", "bpe"}) {
    CAPTURE(name);
    const TrainedEmbedder run = load_run<TrainedEmbedder>(box / name);
    const Tensor table = run.model->state_dict().at("token_embedding.weight");
    const std::int64_t width = table.size(1);
    std::vector<float> sum(width);
    std::vector<std::int32_t> own;
    for (const auto& [sign, word] : {std::pair{1, " red"}, {-1, " ball"}, {1, " was"}}) {
      std::vector<double> mean(width);
      const std::vector<std::int32_t> ids = run.tokenizer->encode(word);
      for (const std::int32_t id : ids) {
        const std::vector<float> row = table.slice(0, id, id + 1).contiguous().to_vector<float>();
        for (std::int64_t i = 0; i < width; ++i) mean[i] += row[i] / static_cast<double>(ids.size());
        own.push_back(id);
      }
      double norm = 0;
      for (const double x : mean) norm += x * x;
      for (std::int64_t i = 0; i < width; ++i) sum[i] += static_cast<float>(sign * mean[i] / std::sqrt(norm));
    }
    const Json nearest = json_of(box, "neighbours " + name + " --k 3 --json", {"red - ball + was"})["words"][0];
    CHECK(nearest["word"] == "red - ball + was");
    // The spaces around a word are no part of it.
    for (const auto& spaced : {std::vector<std::string>{" red  -  ball + was "}, {"--analogy", "ball : red :: was"}}) {
      const Json same = json_of(box, "neighbours " + name + " --k 3 --json", spaced)["words"][0];
      CHECK(same["neighbours"] == nearest["neighbours"]);
    }
    std::vector<double> all;
    for (std::int32_t id = 0; id < run.tokenizer->vocab_size(); ++id) {
      if (run.tokenizer->is_special(id) || std::ranges::count(own, id)) continue;
      all.push_back(cosine(table.slice(0, id, id + 1).contiguous().to_vector<float>(), sum));
    }
    std::ranges::sort(all, std::greater());
    REQUIRE(nearest["neighbours"].size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(nearest["neighbours"][i]["similarity"].get<double>() == doctest::Approx(all[i]).epsilon(1e-5));
      CHECK_FALSE(std::ranges::count(own, nearest["neighbours"][i]["id"].get<std::int32_t>()));
    }
  }
  // The only layer of word vectors is the embedding, whatever the text.
  const Json alone = json_of(box, "neighbours word --k 3 --layer 0 --json", {"red - ball"});
  CHECK(json_of(box, "neighbours word --k 3 --layer 0 --json", {"red - ball", "--text", "A red ball."}) == alone);

  // What surrounds a word may change its vector.
  const std::string unknown = " are words or characters that the vocabulary does not have: ";
  const std::vector<std::string> text{"--text", "red xylophone ball"};
  CHECK(box.succeed("neighbours word red --layer 0", text)
            .tells("1 of 3 tokens of the text" + unknown + "the model reads <unk>\n"));
  CHECK(box.succeed("embed word --word red", text).tells("1 of 3 tokens" + unknown + "all have the vector of <unk>\n"));

  check_error(box, 1, "word: expected one that the tokenizer knows, got xylophone", "neighbours word",
              {"red - xylophone"});
  check_error(box, 1, "word: expected one that the tokenizer knows, got xylophone", "neighbours word --layer 0",
              {"xylophone", "--text", "A xylophone."});
  for (const std::string bad : {"", "red - ", " + red", "red -  + ball", "red -   + ball"}) {
    check_error(box, 2, "neighbours: expected words, or words with + or - between them, got \"" + bad + '"',
                "neighbours bpe", {bad});
  }
}

TEST_CASE("neighbours: an analogy is answered by b - a + c, and a file of them gives the share of right ones") {
  const Sandbox box("word2vec");
  box.train("run", "--train.steps 40");
  const Json sum = json_of(box, "neighbours run --k 3 --json", {"ball - red + was"})["words"][0]["neighbours"];
  const Json asked = json_of(box, "neighbours run --analogy red:ball::was --k 3 --json");
  REQUIRE(asked["words"].size() == 1);
  CHECK(asked["words"][0]["word"] == "red:ball::was");
  CHECK(asked["words"][0]["neighbours"] == sum);
  const std::string right = sum[0]["token"].get<std::string>().substr(1), wrong = sum[1]["token"];
  box.write("file.txt",
            "red ball was " + right + "\n: second part\nred ball was " + wrong + "\n\nred ball was xylophone\n");
  const Json scored = json_of(box, "neighbours run --analogies file.txt --json");
  CHECK(keys_of(scored) == std::vector<std::string>{"questions", "unknown", "right", "accuracy", "sections", "matmul"});
  CHECK(scored["questions"] == 2);
  CHECK(scored["unknown"] == 1);
  CHECK(scored["accuracy"] == 0.5);
  CHECK(scored["sections"][1]["section"] == "second part");
  CHECK(scored["sections"][1]["right"] == 0);
  CHECK(result_of(box, "neighbours run --analogies file.txt") ==
        "             100.00 %  1 of 1 right\nsecond part  0.00 %    0 of 1 right, 1 with unknown words\n"
        "analogies    50.00 %   1 of 2 right, 1 with unknown words\n");

  check_error(box, 2, "--lines excludes --analogies (see --help)", "corpus relations --analogies --lines 3");
  check_error(box, 2, "neighbours: expected words, --analogy A:B::C or --analogies FILE, got none", "neighbours run");
  check_error(box, 2, "neighbours: expected an analogy such as man:king::woman, got man:king",
              "neighbours run --analogy man:king");
  box.write("bad.txt", "red ball was\n");
  check_error(box, 1,
              "bad.txt:1: expected an analogy of four words, or : and the name of a section, got \"red ball was\"",
              "neighbours run --analogies bad.txt");
  box.write("unknown.txt", "red ball was xylophone\n");
  check_error(box, 1, "unknown.txt: expected analogies of words that the model knows, got none",
              "neighbours run --analogies unknown.txt");
}

TEST_CASE("glove: training and eval tell how well ln X is fitted, and neighbours are those of the sums") {
  const Sandbox box("glove");
  const Outcome outcome = box.succeed("train tiny.toml --out run --train.steps 30");
  CHECK(outcome.tells("the loss is the weighted squared error per pair, of "));
  CHECK(outcome.out.find("training loss") == outcome.out.npos);  // which is of another kind
  const Json last = box.metrics("run").back();
  box.write_valid();
  const Json result = json_of(box, "eval run --text valid.txt --json");
  CHECK(keys_of(result) == std::vector<std::string>{"tokens", "bytes", "unknown_share", "pairs", "loss",
                                                    "frequent_pairs", "correlation", "window", "checkpoint", "matmul"});
  CHECK(result["loss"].get<double>() == doctest::Approx(last["eval_loss"].get<double>()).epsilon(1e-6));
  CHECK(result["correlation"].get<double>() == doctest::Approx(last["eval_correlation"].get<double>()).epsilon(1e-6));
  CHECK(result["pairs"] == last["eval_tokens"]);
  CHECK(result_of(box, "eval run --text valid.txt").find("\ncorrelation    ") != std::string::npos);
  CHECK(json_of(box, "neighbours run red --json") == json_of(box, "neighbours run red --layer 0 --json"));
  check_error(box, 2, "eval: --context and --stride: expected none, since GloVe is scored on all pairs in its window",
              "eval run --text valid.txt --context 4");
  check_error(box, 1,
              "run: the model is a glove, expected a language model; for GloVe vectors there are embed, neighbours, "
              "probe, and eval with --text",
              "generate run --prompt The");
  const Json info = json_of(box, "info run --seconds 0 --json");
  CHECK(info["parameters"]["contexts"] == info["vocab"].get<std::int64_t>() * (12 + 2));
}

TEST_CASE("neighbours: a word in a text is near to others than the same word alone, in a model that reads both sides") {
  const Sandbox box("gpt");
  box.write("tiny.toml", R"([model]
type = "bilm"
layers = 1
dim = 12
[tokenizer]
kind = "word"
vocab = 300
[data]
text = "text.txt"
)");
  box.train("run", "--train.steps 5 --train.matmul highest");
  const Json alone = json_of(box, "neighbours run red --layer 1 --json")["words"][0]["neighbours"];
  const Json inside = json_of(box, "neighbours run red --layer 1 --json",
                              {"--text", "A dog had a red ball."})["words"][0]["neighbours"];
  CHECK(alone.size() == 10);
  CHECK(inside.size() == 10);
  CHECK(inside != alone);
  CHECK(json_of(box, "neighbours run red --json")["words"][0]["neighbours"] != alone);
}
