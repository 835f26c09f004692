// Encoder-decoders: what goes wrong with parallel text, vocabularies and the wrong kind of run.
#include <doctest/doctest.h>

#include "tests/cli/sandbox.h"

namespace fs = std::filesystem;

TEST_CASE("errors: parallel text to train on") {
  const Sandbox box("transformer");
  const std::string cwd = fs::canonical(box / ".").string() + "/";
  const auto refused = [&](int exit_code, const std::string& message, const std::string& words,
                           const std::string& config = "tiny.toml") {
    check_error(box, exit_code, message, "train " + config + " --out new " + words);
  };
  std::string text = box.read("tiny.toml");
  const std::string_view pairs = "pairs = \"pairs.tsv\"\n";
  box.write("bare.toml", text.replace(text.find(pairs), pairs.size(), ""));
  const std::string files = "--data.source a.src --data.target a.tgt";
  box.write("a.src", "a\nb\nc\n");
  box.write("a.tgt", "a\nb\n");
  refused(kFailure, cwd + "a.src has 3 lines, " + cwd + "a.tgt 2: expected a translation for each line", files,
          "bare.toml");
  box.write("a.tgt", "\n\n\n");
  refused(kFailure, cwd + "a.src and " + cwd + "a.tgt: none of 2 sentence pairs can be used: 2 have an empty side",
          files, "bare.toml");
  box.write("tabs.tsv", "a\tb\n\na b\nc\td\n");
  refused(kFailure, cwd + "tabs.tsv:3: expected source, tab, target; got 0 tabs", "--data.pairs tabs.tsv");
  box.write("long.tsv", std::string(17, 'a') + "\tb\na\t" + std::string(17, 'b') + "\n");
  refused(kFailure, cwd + "long.tsv: none of 2 sentence pairs can be used: 2 are longer than 15 tokens",
          "--data.pairs long.tsv --data.valid_pairs pairs.tsv");
  box.write("none.tsv", "\xFF\ta\n");
  refused(kFailure, cwd + "none.tsv: none of 1 sentence pairs can be used: 1 is not valid UTF-8",
          "--data.valid_pairs none.tsv");
  refused(kFailure,
          "train.batch_tokens: expected at least 13, which the longest target sentence takes with its end, got 12",
          "--train.batch_tokens 12");
  refused(kUsage, "data.corpus: expected parallel text for model.type = transformer, got stories, which is plain text",
          "--data.corpus stories", "bare.toml");
  refused(kUsage, "model.tie_embeddings: all needs tokenizer.joint = true, expected none or output",
          "--tokenizer.joint false --model.tie_embeddings all");
  refused(kUsage,
          "tokenizer.target_file: expected tokenizer.joint = false beside it, since a joint vocabulary has one file",
          "--tokenizer.target_file pairs.tsv");
  refused(kFailure, "cannot open " + cwd + "missing.json: No such file or directory", "--tokenizer.file missing.json");
}

TEST_CASE("train: pairs that are left out are counted when it starts") {
  const Sandbox box("transformer");
  const std::string pairs = box.read("pairs.tsv");
  box.write("pairs.tsv", "\n\ta\n\xFF\ta\n" + std::string(16, 'a') + "\tb\n" + pairs + "a\t\n");
  const Outcome outcome = box.succeed("train tiny.toml --out run --train.steps 2");
  INFO(outcome.err);
  CHECK(
      outcome.tells("warning: 4 of 184 training pairs are left out: 2 have an empty side, 1 is not valid UTF-8, 1 is "
                    "longer than 15 tokens\n"));
  CHECK(outcome.tells("warning: 1 of 21 validation pairs are left out: 1 has an empty side\n"));
  CHECK(outcome.tells(", joint vocabulary of 30\n"));  // 26 letters
  CHECK(outcome.tells("180 training pairs with "));
}

TEST_CASE("errors: a vocabulary that has lost a symbol, or is lost, and runs of the other kind") {
  const Sandbox box("transformer");
  box.train("run", "--train.steps 2 --tokenizer.joint false");
  box.write("a.txt", "abc\n");
  const std::string pairs = " --source a.txt --target a.txt";
  const auto refused = [&](const std::string& message) {
    check_error(box, kFailure, message, "translate run", {}, "abc\n");
    check_error(box, kFailure, message, "eval run" + pairs);
    check_error(box, kFailure, message, "surprisal run" + pairs);
    check_error(box, kFailure, message, "info run");
    check_error(box, kFailure, message, "train --resume run");
  };
  const auto without = [](std::string text, const std::string& symbol) {
    for (std::size_t at = 0; (at = text.find('"' + symbol + '"')) != text.npos;) text.replace(at + 1, 1, "[");
    return text;
  };
  for (const std::string name : {"run/tokenizer.json", "run/tokenizer-target.json"}) {
    const std::string text = box.read(name);
    box.write(name, without(text, "</s>"));
    refused(name + " has changed since step-000002 was saved: …");
    fs::remove(box / name);
    refused("cannot open " + name + ": No such file or directory");
    box.write(name, text);
  }

  const std::string advice =
      "run: the model is a transformer, expected a language model; for encoder-decoders there are translate, eval and "
      "surprisal "
      "with --source and --target";
  check_errors(box, kFailure,
               {
                   {"generate run --prompt abc", advice},
                   {"eval run --text a.txt", advice},
                   {"surprisal run --prompt abc", advice},
                   {"eval run --source a.txt --target pairs.tsv",
                    "a.txt has 1 lines, pairs.tsv 200: expected a translation for each line"},
               });
  check_errors(
      box, kUsage,
      {
          {"eval run --source a.txt", "--source requires --target (see --help)"},
          {"eval run --stride 2 --source a.txt --target a.txt", "--source excludes --stride (see --help)"},
          {"eval run --source a.txt --target a.txt --batch 9223372036854775807",
           "--batch: expected a whole number from 1 to 1048576, got 9223372036854775807 (see --help)"},
          {"surprisal run --stride 2 --source a.txt --target a.txt", "--source excludes --stride (see --help)"},
          {"translate run --n-best 6", "--n-best: expected 1 to 5 (--beam), got 6"},
          {"translate run --beam 0", "--beam: expected a whole number from 1 to 1000, got 0 (see --help)"},
          {"translate run --beam 99999999999999999999",
           "--beam: expected a whole number from 1 to 1000, got 99999999999999999999 (see --help)"},
          {"translate run --length-penalty -1", "--length-penalty: expected at least 0, got -1"},
      });
  box.write("b.src", "\n");
  check_error(box, kFailure, "b.src and a.txt: none of 1 sentence pairs can be used: 1 has an empty side",
              "eval run --source b.src --target a.txt");

  box.prepare_toy("gpt");
  box.train("gpt", "--train.steps 2");
  const std::string other =
      "gpt: the model is a gpt, expected an encoder-decoder; for language models there are generate, probe, and eval "
      "and surprisal with --text";
  check_error(box, kFailure, other, "translate gpt", {}, "abc\n");
  check_error(box, kFailure, other, "eval gpt" + pairs);
  check_error(box, kFailure, other, "surprisal gpt" + pairs);
}
