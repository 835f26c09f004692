// Text encoders from the command line: bidirectional language models, probes of their layers, and vectors of sentences.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

using Json = nlohmann::ordered_json;

TEST_CASE("bidirectional model: training and eval tell the loss of each direction and their mean" * long_test()) {
  const Sandbox box("bilm");
  const Outcome outcome = box.succeed("train tiny.toml --out run --train.steps 20");
  INFO(outcome.err);
  CHECK(outcome.tells("the loss is in nats per token, the mean of the predictions forward and backward\n"));
  CHECK(outcome.tells(" (forward "));
  const Json last = box.metrics("run").back();
  CHECK(keys_of(last) == std::vector<std::string>{"step", "tokens", "eval_loss", "eval_perplexity", "eval_tokens",
                                                  "eval_forward_loss", "eval_backward_loss", "eval_bits_per_byte",
                                                  "elapsed_s", "peak_memory_bytes"});
  CHECK(last["tokens"] == 20 * 2 * 4 * 16);
  const double forward = last["eval_forward_loss"], backward = last["eval_backward_loss"];
  CHECK(last["eval_loss"].get<double>() == doctest::Approx((forward + backward) / 2).epsilon(1e-12));

  box.write_valid();
  const Json result = json_of(box, "eval run --text valid.txt --json");
  CHECK(keys_of(result) == std::vector<std::string>{"tokens", "bytes", "loss", "perplexity", "bits_per_byte", "forward",
                                                    "backward", "context", "stride", "checkpoint", "matmul"});
  CHECK(result["tokens"] == box.read("valid.txt").size() - 1);
  CHECK(result["loss"].get<double>() == doctest::Approx(last["eval_loss"].get<double>()).epsilon(1e-6));
  for (const auto& [name, loss] : {std::pair{"forward", forward}, {"backward", backward}}) {
    CHECK(result[name]["loss"].get<double>() == doctest::Approx(loss).epsilon(1e-6));
    CHECK(result[name]["perplexity"].get<double>() == doctest::Approx(std::exp(loss)).epsilon(1e-6));
  }
  CHECK(result["context"] == 16);
  CHECK(json_of(box, "eval run --text valid.txt --context 100 --json")["context"] == 100);
  check_error(box, kUsage, "--weights: expected f32 for a bidirectional language model, got q8_0",
              "eval run --text valid.txt --weights q8_0");
  const std::string table = result_of(box, "eval run --text valid.txt");
  for (const char* word : {"by each prediction", "\nforward ", "\nbackward "}) CHECK(table.find(word) != table.npos);
}

TEST_CASE("bidirectional model: info counts its parameters, and commands that write text refuse it in one line") {
  const Sandbox box("bilm");
  box.train("run", "--train.steps 2");
  const Json info = json_of(box, "info run --seconds 0 --json");
  const std::int64_t vocab = info["vocab"], layer = 4 * (24 * 24 + 24 * 24 + 2 * 24);
  CHECK(info["parameters"] == Json{{"embeddings", vocab * 24},
                                   {"forward", 2 * layer},
                                   {"backward", 2 * layer},
                                   {"head", vocab * 24 + vocab},
                                   {"total", 2 * vocab * 24 + 4 * layer + vocab}});
  CHECK(info["flops_per_token"] == 3.0 * 2 * static_cast<double>(4 * layer + 2 * vocab * 24));
  const std::string refusal =
      "run: the model is a bilm, expected a language model; for bidirectional language models there are "
      "probe, and eval with --text";
  check_error(box, 1, refusal, "generate run --prompt The");
  check_error(box, 1, refusal, "surprisal run --text text.txt");
  check_error(box, 2,
              "--stride: expected 0 or 16 (the context), since the windows of a text encoder do not overlap, got 4",
              "eval run --text text.txt --stride 4");
  check_error(box, kUsage, "--weights: expected f32 for a bidirectional language model, got q8_0",
              "eval run --text text.txt --weights q8_0");
  check_error(box, 2, "data.within_document: expected false for bilm, which reads on where a document ends, got true",
              "train tiny.toml --out other --data.within_document true --data.document line");
  box.prepare_toy("tag");
  box.succeed(
      "train --task.kind tag --data.labels train.tsv --model.type bilm --model.dim 32 --tokenizer.kind word "
      "--train.steps 1 --eval.every 0 --out tags");
  check_error(box, kUsage, "--weights: expected f32 for a bidirectional language model, got q8_0",
              "eval tags --labels train.tsv --weights q8_0");
}

TEST_CASE("probe: what 'it' is can be read from both directions together, and not from the embedding" * long_test()) {
  const Sandbox box;
  for (const auto& [name, seed] : {std::pair{"train", "2"}, {"valid", "3"}}) {
    box.write(std::string(name) + ".tsv",
              result_of(box, std::string("corpus cloze --labels --lines 200 --seed ") + seed));
  }
  const Outcome training = box.succeed(
      "train --model.type bilm --model.cell gru --model.dim 64 --model.context 26 --tokenizer.kind word --data.corpus "
      "cloze --data.lines 2000 --train.steps 1000 --train.batch 8 --train.matmul highest --optimizer.lr 1e-2 "
      "--optimizer.weight_decay 0 --schedule.kind cosine --schedule.warmup 20 --eval.every 0 --out run");
  INFO(training.err);
  const std::string probe = "probe run --train train.tsv --valid valid.tsv --steps 600";
  const Json result = json_of(box, probe + " --json");
  CHECK(keys_of(result) == std::vector<std::string>{"labels", "train_words", "valid_words", "accuracy", "majority",
                                                    "layers", "gamma", "matmul"});
  CHECK(result["accuracy"].get<double>() > 0.98);
  CHECK(result["layers"].size() == 2);
  CHECK(result["valid_words"] == 200);
  CHECK(json_of(box, probe + " --layer 0 --json")["accuracy"].get<double>() < 0.65);
  const std::string table = result_of(box, probe);
  CHECK(table.starts_with("words     200 to learn from, 200 scored, 2 labels\naccuracy  "));
  CHECK(table.find("\nlayers    0.") != table.npos);
  check_error(box, 2, "--layer: expected 0 (the embedding) to 1, got 2", probe + " --layer 2");
  box.write("new.tsv", box.read("valid.tsv") + "\nThe\tarticle\n");
  const std::string with_new = "probe run --train train.tsv --valid new.tsv --steps 1";
  CHECK(json_of(box, with_new + " --json")["unknown_labels"] == 1);
  CHECK(result_of(box, with_new)
            .starts_with("words     200 to learn from, 201 scored (1 with labels that none of the former has), 2 "
                         "labels\n"));
  box.write("bad.tsv", "The\tdog\tcat\nran\tverb\n");
  check_error(box, 1, "bad.tsv:1: expected a word, or a word, a tab and its label, got \"The\tdog\tcat\"",
              "probe run --train bad.tsv --valid valid.tsv");
}

TEST_CASE("probe: a model that reads from the left knows what 'it' is at the last word, and not before" * long_test()) {
  const Sandbox box;
  for (const auto& [name, seed] : {std::pair{"train", "2"}, {"valid", "3"}}) {
    const std::string lines = result_of(box, std::string("corpus cloze --labels --lines 200 --seed ") + seed);
    box.write(std::string(name) + "-it.tsv", lines);
    std::string moved, label;  // from "it" to the last word
    for (std::size_t begin = 0, end; begin < lines.size(); begin = end + 1) {
      end = lines.find('\n', begin);
      const std::string line = lines.substr(begin, end - begin);
      if (line.starts_with("it\t")) label = line.substr(2);
      moved += line.ends_with('.') ? line + label : line.substr(0, line.find('\t'));
      moved += '\n';
    }
    box.write(std::string(name) + "-last.tsv", moved);
  }
  // The label of a word that the word before it decides.
  std::string before;
  for (int i = 0; i < 20; ++i) before += "The\ndidn't\tfirst\n\ndog\ndidn't\tsecond\n\n";
  box.write("before.tsv", before);
  for (const std::string model : {"gpt --model.layers 1 --model.heads 2 --model.context 26", "rnn --model.layers 1"}) {
    CAPTURE(model);
    const std::string run = model.substr(0, 3);
    const Outcome training =
        box.succeed("train --out " + run + " --model.type " + model +
                    " --model.dim 64 --tokenizer.kind word --data.corpus cloze --data.lines 2000 --train.steps 100 "
                    "--train.matmul highest --optimizer.lr 1e-2 --schedule.warmup 20 --eval.every 0");
    INFO(training.err);
    const auto accuracy = [&](const std::string& place) {
      const Json result = json_of(
          box, "probe " + run + " --train train-" + place + ".tsv --valid valid-" + place + ".tsv --steps 1000 --json");
      CHECK(result["layers"].size() == 2);  // the embedding's share first
      return result["accuracy"].get<double>();
    };
    CHECK(accuracy("last") > 0.98);
    CHECK(accuracy("it") < 0.62);
    const std::string layer = "probe " + run + " --train before.tsv --valid before.tsv --steps 100 --json --layer ";
    CHECK(json_of(box, layer + "0")["accuracy"] == 0.5);  // the embedding knows of no other word
    CHECK(json_of(box, layer + "1")["accuracy"] == 1);
    check_error(box, 2, "--layer: expected 0 (the embedding) to 1, got 2", layer + "2");
  }
}

TEST_CASE("sentences: eval --pairs scores the mean vectors of any model, and embed gives those that were tuned") {
  const Sandbox box("sentences");
  box.train("run", "--train.steps 40");
  const Json last = box.metrics("run").back();
  CHECK(last["eval_accuracy"].is_number());
  const Json tuned = json_of(box, "eval run --pairs pairs.tsv --json");
  CHECK(keys_of(tuned) == std::vector<std::string>{"pairs", "accuracy", "loss", "checkpoint", "matmul"});
  CHECK(result_of(box, "eval run --pairs pairs.tsv").find(" % of the second sentences found\n") != std::string::npos);
  box.write("lm.toml",
            "[model]\nlayers = 1\nheads = 2\ndim = 16\ncontext = 40\n[tokenizer]\nkind = \"char\"\n[data]\n"
            "text = \"pairs.tsv\"\n");
  box.succeed("train lm.toml --out lm --train.steps 2");
  const Json untuned = json_of(box, "eval lm --pairs pairs.tsv --json");
  CHECK(untuned["pairs"] == tuned["pairs"]);
  CHECK(untuned["accuracy"].is_number());
  CHECK(untuned["loss"] != tuned["loss"]);
  CHECK(json_of(box, "eval lm --pairs pairs.tsv --json --without-head 0.0")["loss"] != untuned["loss"]);
  box.write("other.tsv", "one\ttwo\nthree\t\u00e9\n");
  check_error(box, 1, "other.tsv: pair 2: char tokenizer: character 'é' (U+00E9) at byte 0 is not in the vocabulary; …",
              "eval lm --pairs other.tsv");
  CHECK(json_of(box, "embed run --text one")["vector"].size() == 24);
  box.write("words.tsv", "one\tfirst\n\ntwo\tsecond\n");
  CHECK(json_of(box, "probe run --train words.tsv --valid words.tsv --steps 200 --json")["accuracy"] == 1);
  box.write("foreign.tsv", "one\tfirst\n\nt\u00e9o\tsecond\n");
  check_error(box, 1, "foreign.tsv:3: char tokenizer: character 'é' (U+00E9) at byte 1 is not in the vocabulary; …",
              "probe run --train words.tsv --valid foreign.tsv");
  const Json without = json_of(box, "eval run --pairs pairs.tsv --without-head 0.0 --json");
  CHECK(without["without_heads"] == Json::array({"0.0"}));
  CHECK(without["loss"] != tuned["loss"]);
  check_error(
      box, 1,
      "run: the model is fine-tuned to sentences, expected a masked language model; for models that are tuned on "
      "pairs of sentences there are embed, neighbours, probe, and eval with --pairs",
      "eval run --text pairs.tsv");
  check_error(box, 1, "run: the model is not fine-tuned on labels: expected a run of task.kind",
              "eval run --labels pairs.tsv");
  box.write("one.tsv", "one\ttwo\n");
  check_error(box, 1, "one.tsv: expected at least two pairs of sentences, got 1", "eval run --pairs one.tsv");
}

TEST_CASE("sentences: tokens that the vocabulary does not have are told by training and by eval") {
  const Sandbox box("sentences");
  box.write("known.tsv", "one two\tthree four\nthree one\tfour two\n");
  box.write("mostly.tsv", "one five\tone five\none five\tone two\n");
  const std::string train =
      "train tiny.toml --train.batch 2 --train.accumulate 1 --train.steps 1 --data.valid_fraction 0 --data.pairs ";
  box.succeed(train + "known.tsv --tokenizer.kind word --out run");
  const std::string words = " are words or characters that the vocabulary does not have: the model reads <unk>\n";
  CHECK(box.succeed("eval run --pairs mostly.tsv").tells("3 of 16 tokens of mostly.tsv" + words));
  CHECK_FALSE(box.succeed("eval run --pairs known.tsv").tells(words));
  CHECK(box.succeed(train + "mostly.tsv --tokenizer.file run/tokenizer.json --out foreign")
            .tells("3 of 16 tokens of " + (box / "mostly.tsv").string() + words));
  CHECK_FALSE(box.succeed(train + "known.tsv --tokenizer.file run/tokenizer.json --out own").tells(words));
}

TEST_CASE("embed, probe: the encoder of an encoder-decoder gives vectors of a source and of its end") {
  const Sandbox box("transformer");
  box.write("words.tsv", "a\tfirst\nbc\tsecond\n\nb\tsecond\n");
  for (const std::string options : {"", "--model.type rnn_seq2seq --model.layers 2 --model.dim 8"}) {
    const std::string config = options.empty() ? "tiny.toml" : "--data.pairs pairs.tsv --tokenizer.kind char";
    const Outcome training =
        box.succeed("train " + config + " " + options + " --train.steps 1 --train.batch_tokens 200 --out run" +
                    std::to_string(options.size()));
    INFO(training.err);
    const Json line = Json::parse(
        result_of(box, "embed run" + std::to_string(options.size()) + " --pool none --layer 1", {"--text", "abc"}));
    CHECK(line["tokens"].size() == 4);
    CHECK(line["vectors"].size() == 4);
    const Json probed = json_of(box, "probe run" + std::to_string(options.size()) +
                                         " --train words.tsv --valid words.tsv --layer 1 --steps 200 --json");
    CHECK(probed["accuracy"] == 1);
  }
}

TEST_CASE("eval: tokens of labelled text that the vocabulary does not have are counted, as by predict") {
  const Sandbox box("tag");
  box.train("run", "--train.steps 1");
  box.write("unknown.tsv", "Ella\tO\nzzzz\tO\n");
  const std::string words = " are words or characters that the vocabulary does not have: the model reads <unk>\n";
  CHECK(box.succeed("eval run --labels unknown.tsv").tells("1 of 4 tokens of unknown.tsv" + words));
  CHECK(box.succeed("predict run", {}, "Ella zzzz\n").tells("1 of 4 tokens of the lines" + words));
  box.write("known.tsv", "Ella\tO\n");
  CHECK_FALSE(box.succeed("eval run --labels known.tsv").tells("vocabulary"));
  box.write("mostly.tsv", "zzzz\tO\nqqqq\tO\n\nElla\tO\n");
  const std::string train = "train tiny.toml --tokenizer.file run/tokenizer.json --train.steps 1 --data.labels ";
  CHECK(box.succeed(train + "mostly.tsv --out foreign")
            .tells("2 of 7 tokens of " + (box / "mostly.tsv").string() + words));
  CHECK_FALSE(box.succeed(train + "known.tsv --out own").tells(words));
}
