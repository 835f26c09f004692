// Masked language models from the command line: training, eval, fill, probe, and what refuses them.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "tests/cli/sandbox.h"
#include "tests/cli/toys.h"
#include "tests/long_test.h"

using Json = nlohmann::ordered_json;

TEST_CASE(
    "masked language model: training logs the masked loss and accuracy, and eval gives the same on the same text" *
    long_test()) {
  const Sandbox box("bert");
  const Outcome outcome = box.succeed("train tiny.toml --out run --train.steps 20");
  INFO(outcome.err);
  CHECK(
      outcome.tells("the loss is in nats per chosen token: 15 % of the tokens are chosen, anew in every step; "
                    "next-sentence prediction adds its own in training\n"));
  CHECK(outcome.tells(", accuracy 0."));
  CHECK(outcome.out.find("bits per byte") == outcome.out.npos);
  CHECK(outcome.out.find(" nats per chosen token, at step ") != outcome.out.npos);
  CHECK_FALSE(outcome.tells("perplexity"));
  const std::vector<Json> metrics = box.metrics("run");
  const Json last = metrics.back();
  CHECK(keys_of(last) == std::vector<std::string>{"step", "tokens", "eval_loss", "eval_tokens", "eval_accuracy",
                                                  "eval_next_sentence_loss", "eval_next_sentence_accuracy", "elapsed_s",
                                                  "peak_memory_bytes"});
  CHECK(last["tokens"] == 20 * 2 * 4 * 18);
  // The loss has that of the next sentence, about ln 2, and the plain loss, which an evaluation has too, has not.
  const Json& first = metrics.front();
  CHECK(first["loss"].get<double>() - first["unsmoothed_loss"].get<double>() > 0.4);
  box.write_valid();
  const Json result = json_of(box, "eval run --text valid.txt --json");
  CHECK(keys_of(result) == std::vector<std::string>{"tokens", "bytes", "masked_tokens", "masked_loss",
                                                    "masked_accuracy", "next_sentence_loss", "next_sentence_accuracy",
                                                    "pseudo_tokens", "pseudo_loss", "pseudo_perplexity", "context",
                                                    "checkpoint", "matmul"});
  CHECK(result["tokens"] == box.read("valid.txt").size());
  CHECK(result["masked_tokens"] == last["eval_tokens"]);
  CHECK(result["masked_loss"].get<double>() == doctest::Approx(last["eval_loss"].get<double>()).epsilon(1e-6));
  CHECK(result["masked_accuracy"] == last["eval_accuracy"]);
  CHECK(result["pseudo_tokens"] == result["tokens"]);
  CHECK(result["pseudo_perplexity"].get<double>() ==
        doctest::Approx(std::exp(result["pseudo_loss"].get<double>())).epsilon(1e-12));
  CHECK(result["context"] == 18);
  CHECK(json_of(box, "eval run --text valid.txt --json") == result);

  const Json quick = json_of(box, "eval run --text valid.txt --json --no-pseudo --context 10");
  CHECK_FALSE(quick.contains("pseudo_loss"));
  CHECK(quick["context"] == 10);
  CHECK(quick["masked_loss"] != result["masked_loss"]);
  const std::string table = result_of(box, "eval run --text valid.txt");
  for (const char* word : {"\nmasked loss ", "\nmasked accuracy ", "\nnext sentence ", "\npseudo-perplexity "}) {
    CHECK(table.find(word) != table.npos);
  }
  check_error(box, 2, "--context: expected 1 to 18 (the model's), got 19", "eval run --text valid.txt --context 19");
  check_error(box, 2, "eval: --context: expected at least 5 tokens, of which 3 are [CLS] and [SEP], got 4",
              "eval run --text valid.txt --context 4");
  check_error(
      box, 2,
      "train.mlm_probability: the run has 0.15, got 0.3: it says what the model, its tokens or its task are, which "
      "cannot change on resume",
      "train --resume run --train.steps 30 --train.mask_rate 0.3");  // the former name
  check_error(box, 2, "eval: --stride: expected none, since the windows of masked text do not overlap",
              "eval run --text valid.txt --stride 4");
}

TEST_CASE("masked language model: the summary of a run on a Markov chain tells the optimum of masked letters" *
          long_test()) {
  const Sandbox box;
  box.write("tiny.toml", find_toy("bert").toml());
  const Outcome outcome = box.succeed(
      "train tiny.toml --out run --data.corpus markov --data.lines 100 --train.steps 2 --model.next_sentence "
      "false --eval.every 0");
  INFO(outcome.err);
  CHECK(outcome.out.find("the corpus markov has a masked optimum of 1.9") != outcome.out.npos);
  CHECK(outcome.out.find("an entropy of") == outcome.out.npos);
  // Other tokens than the letters of the corpus have another optimum.
  for (const std::string other : {"--data.document line", "--tokenizer.file run/tokenizer.json"}) {
    CAPTURE(other);
    const Outcome untold = box.succeed(
        "train tiny.toml --out other --data.corpus markov --data.lines 100 --train.steps 1 --model.next_sentence "
        "false --eval.every 0 " +
        other);
    INFO(untold.err);
    CHECK(untold.out.find("optimum") == untold.out.npos);
    std::filesystem::remove_all(box / "other");
  }
  CHECK_FALSE(box.succeed("corpus markov --lines 1").tells("optimum"));
  check_error(box, 2, "corpus: --row: expected none for stories, whose masked optimum is not known",
              "corpus stories --row 16");
  CHECK(box.run("corpus markov --row 250001").exit_code == 2);
  const Outcome corpus = box.run("corpus markov --lines 1 --row 16");
  CHECK(corpus.tells("markov: masked optimum 1.9"));
  CHECK(corpus.tells(" % right, in rows of 16 letters\n"));
}

TEST_CASE(
    "masked language model: a text of which nothing is chosen has a pseudo-perplexity, and unknown tokens count") {
  const Sandbox box("bert");
  box.train("run", "--train.steps 2 --train.mlm_probability 0.01 --tokenizer.kind word");
  const std::string text = box.read("text.txt");
  box.write("short.txt", text.substr(0, text.find(' ')) + " zzzz");
  const Json result = json_of(box, "eval run --text short.txt --json");
  CHECK(keys_of(result) == std::vector<std::string>{"tokens", "bytes", "unknown_share", "masked_tokens",
                                                    "pseudo_tokens", "pseudo_loss", "pseudo_perplexity", "context",
                                                    "checkpoint", "matmul"});
  CHECK(result["masked_tokens"] == 0);
  CHECK(result["tokens"] == 2);
  CHECK(result["pseudo_tokens"] == 1);
  CHECK(result["unknown_share"].get<double>() == doctest::Approx(0.5));
  const std::string table = result_of(box, "eval run --text short.txt");
  CHECK(table.find("masked loss") == table.npos);
  CHECK(table.find("\nunknown            50 % of the tokens: never chosen\n") != table.npos);
  CHECK(table.find("\npseudo-perplexity ") != table.npos);
  check_error(box, 1, "short.txt: no token was chosen, and --no-pseudo leaves out the rest",
              "eval run --text short.txt --no-pseudo");
  check_error(box, 1, "short.txt: no token was chosen, and the heads are ranked by the loss of such tokens",
              "heads run --text short.txt");
}

TEST_CASE("fill: the likeliest tokens at every mask, with their probabilities" * long_test()) {
  const Sandbox box;
  box.write("words.txt", [] {
    std::string text;
    for (int i = 0; i < 300; ++i) text += i % 4 ? "the cat sat down\n" : "the dog ran off\n";
    return text;
  }());
  box.write("tiny.toml", find_toy("bert").toml());
  const Outcome training = box.succeed(
      "train tiny.toml --out run --data.text words.txt --tokenizer.kind word --train.steps 400 --train.batch 16 "
      "--train.mlm_probability 0.3 --model.dropout 0 --model.init_std 0.1 --model.next_sentence false --eval.every 0");
  INFO(training.err);
  const Json result = json_of(box, "fill run --json --text", {"the [MASK] sat down"});
  CHECK(keys_of(result) == std::vector<std::string>{"masks", "matmul"});
  REQUIRE(result["masks"].size() == 1);
  const Json& mask = result["masks"][0];
  CHECK(mask["place"] == 2);  // behind [CLS] and "the": the space before [MASK] is the token's own
  REQUIRE(mask["tokens"].size() == 5);
  CHECK(mask["tokens"][0]["token"] == " cat");
  CHECK(mask["tokens"][0]["probability"].get<double>() > 0.5);
  CHECK(json_of(box, "fill run --json --top 2 --text", {"the cat [MASK] down"})["masks"][0]["tokens"][0]["token"] ==
        " sat");
  // All tokens of the vocabulary but the marks of rows, which no text has.
  const Json all = json_of(box, "fill run --json --top 10000 --text", {"the [MASK] sat down"})["masks"][0]["tokens"];
  CHECK(all.size() > 8);
  bool has_unknown = false;
  for (const Json& token : all) {
    for (const char* mark : {"[PAD]", "[CLS]", "[SEP]", "[MASK]"}) CHECK(token["token"] != mark);
    has_unknown = has_unknown || token["token"] == "<unk>";
  }
  CHECK(has_unknown);
  const std::string table = result_of(box, "fill run --top 2 --text", {"the [MASK] sat [MASK]"});
  CHECK(table.starts_with("[MASK] 1\n  0."));
  CHECK(table.find("  \" cat\"\n") != table.npos);
  CHECK(table.find("\n\n[MASK] 2\n") != table.npos);
  CHECK(table.find("  \" down\"\n") != table.npos);
  check_error(box, 2, "fill: --text: expected at least one [MASK], got none", "fill run --text cat");
  std::string text = "[MASK]";
  for (int i = 0; i < 20; ++i) text += " cat";
  check_error(box, 1, "fill: the text has 23 tokens with [CLS] and [SEP], the model reads at most 18",
              "fill run --text", {text});
}

TEST_CASE("attention: a text with masks is the row that fill reads") {
  const Sandbox box("bert");
  for (const std::string kind : {"word", "char"}) {
    CAPTURE(kind);
    box.train(kind, "--train.steps 2 --train.matmul highest --tokenizer.kind " + kind);
    const std::string text = box.read("text.txt");
    const std::string masked = text.substr(0, text.find(' ')) + " [MASK]";
    const Json mask = json_of(box, "fill " + kind + " --json --top 1 --text", {masked})["masks"][0];
    const Json map = json_of(box, "attention " + kind + " --lens --json --text", {masked})[0];
    const auto place = mask["place"].get<std::size_t>();
    REQUIRE(place + 2 == map["queries"].size());
    CHECK(map["queries"][place] == "[MASK]");
    CHECK((map["queries"][place - 1] == " ") == (kind == "char"));
    double probability = 0;  // of the token that fill finds the most probable
    for (const Json& token : map["lens"].back()[place]["likeliest"]) {
      if (token[0] == mask["tokens"][0]["token"]) probability = token[1].get<double>();
    }
    CHECK(probability == doctest::Approx(mask["tokens"][0]["probability"].get<double>()).epsilon(1e-5));
  }
}

TEST_CASE("masked language model: commands that are not made for it refuse it in one line, and fill refuses others") {
  const Sandbox box("bert");
  box.train("run", "--train.steps 2");
  const std::string refusal =
      "run: the model is a bert, expected a language model; for masked language models there are fill, probe, and eval "
      "with --text";
  check_error(box, 1, refusal, "generate run --prompt The");
  check_error(box, 1, refusal, "surprisal run --text text.txt");
  check_error(
      box, 1,
      "run: the model is a bert, expected an encoder-decoder; for masked language models there are fill, probe, "
      "and eval with --text",
      "translate run", {}, "The\n");
  check_error(box, 2, "data.within_document: expected false for bert, which reads on where a document ends, got true",
              "train tiny.toml --out new --data.within_document true --data.document line");
  box.run("tokenizer train --kind bpe --vocab 300 --out plain.json text.txt");
  check_error(box, 2,
              "tokenizer: a masked language model needs the special tokens [PAD], [CLS], [SEP] and [MASK], got one "
              "without [PAD], [CLS], [SEP], [MASK]: `tokenizer train` adds those that --special names",
              "train tiny.toml --out new --tokenizer.file plain.json");
  for (const std::string kind : {"bpe", "char"}) {
    result_of(box, "tokenizer train --kind " + kind + " --vocab 300 --out " + kind +
                       ".json --special [PAD] --special [CLS] --special [SEP] --special [MASK] text.txt");
    box.train("other-" + kind, "--train.steps 2 --tokenizer.file " + kind + ".json");
  }
  box.write("gpt.toml",
            "[model]\ntype = \"gpt\"\nlayers = 1\nheads = 1\ndim = 8\ncontext = 16\n[tokenizer]\nkind = "
            "\"char\"\n[data]\ntext = \"text.txt\"\n");
  REQUIRE(box.run("train gpt.toml --out gpt --train.steps 1").exit_code == 0);
  check_error(box, 2, "eval: --no-pseudo: expected none, since only a masked language model has a pseudo-perplexity",
              "eval gpt --text text.txt --no-pseudo");
  check_error(
      box, 1,
      "gpt: the model is a gpt, expected a masked language model; for language models there are generate, probe, and "
      "eval and surprisal with --text",
      "fill gpt --text [MASK]");
}

TEST_CASE("probe: it reads the layers of a masked language model") {
  const Sandbox box("bert");
  box.train("run", "--train.steps 2");
  // What a word is can be seen in its own embedding.
  for (const char* name : {"train.tsv", "valid.tsv"}) {
    box.write(name, "a\tletter\nThe\tword\nThe\tword\n\na\tletter\n");
  }
  const Json result = json_of(box, "probe run --train train.tsv --valid valid.tsv --layer 0 --steps 200 --json");
  CHECK(result["accuracy"] == 1);
  CHECK(result["layers"].size() == 3);
}

TEST_CASE("probe: tokens that the vocabulary does not have are counted") {
  const Sandbox box("bert");
  box.train("run", "--train.steps 2 --tokenizer.kind word");
  const std::string text = box.read("text.txt"), word = text.substr(0, text.find(' '));
  box.write("known.tsv", word + "\tword\n");
  box.write("unknown.tsv", word + "\tword\nzzzz\tnone\n");
  const std::string probe = "probe run --steps 1 --train known.tsv --valid ";
  const std::string warning =
      "1 of 7 tokens of the sentences are words or characters that the vocabulary does not have";
  CHECK(box.succeed(probe + "unknown.tsv").tells(warning));  // [CLS] and [SEP] of both sentences among them
  CHECK_FALSE(box.succeed(probe + "known.tsv").tells("vocabulary"));
}
