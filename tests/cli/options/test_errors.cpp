// What goes wrong is told in one line on standard error, with the right exit code, and nothing half-written stays.
#include <doctest/doctest.h>

#include "tests/cli/sandbox.h"

namespace fs = std::filesystem;

namespace {

// A configuration like tiny.toml, with other words in place of some.
void write_config_with(const Sandbox& box, const std::string& name, std::string_view old_text,
                       std::string_view new_text) {
  std::string text = box.read("tiny.toml");
  const std::size_t at = text.find(old_text);
  REQUIRE(at != text.npos);
  box.write(name, text.replace(at, old_text.size(), new_text));
}

}  // namespace

TEST_CASE("errors: the words of a command") {
  const Sandbox box;
  check_errors(
      box, kUsage,
      {
          {"trian tiny.toml", "unknown command trian: did you mean train? (see --help)"},
          {"tokenizer encod x.json", "unknown command encod: did you mean encode? (see --help)"},
          {"eval run --strid 4", "unknown option --strid: did you mean --stride? (see --help)"},
          {"generate run --tokens -1", "--tokens: expected a whole number of at least 0, got -1 (see --help)"},
          {"eval run --text text.txt --stride 1.5",
           "--stride: expected a whole number of at least 1, got 1.5 (see --help)"},
          {"corpus stories --lines 0", "--lines: expected a whole number of at least 1, got 0 (see --help)"},
          {"train --max_iters=4 --out new", "unknown option --max_iters: did you mean --train.steps? (see --help)"},
          {"generate run --max_new_tokens 4", "unknown option --max_new_tokens: did you mean --tokens? (see --help)"},
          {"corpus storys", "unknown corpus 'storys', did you mean 'stories'?"},
          {"gradcheck geluu", "gradcheck: there is no op geluu; the nearest is gelu"},
          {"train", "train: expected --out RUN for a new run, or --resume RUN"},
          {"help", "unknown command help (see --help)"},
          {"train --foo 3", "unknown option --foo (see --help)"},
          {"generate run --temp 0", "unknown option --temp: did you mean --temperature? (see --help)"},
          {"tokenizer", "tokenizer: expected one of train, encode, decode, info, convert (see --help)"},
          {"train --train.steps", "--train.steps: expected a value, got none (see --help)"},
          {"generate run --seed -1", "--seed: expected a whole number of at least 0, got -1 (see --help)"},
          {"train tiny.toml --resume run --out new", "config excludes --resume (see --help)"},
          {"train tiny.toml --out new --discard-newer", "--discard-newer requires --resume (see --help)"},
      });
  check_error(box, kFailure, "run: no such run or checkpoint", "train --resume run --out new");
}

TEST_CASE("errors: a configuration may follow the options; it is not taken for a text, nor a text for it") {
  const Sandbox box("gpt");
  REQUIRE(box.run("train --train.steps 9 --train.steps 2 tiny.toml --out run").exit_code == 0);
  CHECK(box.metrics("run").back()["step"] == 2);  // the last one counts
  check_error(box, kUsage,
              "--data.text: expected texts, got the configuration tiny.toml: name it first, as in train tiny.toml "
              "--data.text FILE",
              "train --data.text text.txt tiny.toml --out new");
  check_error(box, kUsage,
              "--data.valid: expected texts, got the configuration tiny.toml: name it first, as in train tiny.toml "
              "--data.valid FILE",
              "train --data.text text.txt --data.valid text.txt tiny.toml --out new");
  check_error(box, kUsage,
              "--tasks.a.text: expected texts, got the configuration tiny.toml: name it first, as in info tiny.toml "
              "--tasks.a.text FILE",
              "info --minutes 1 --tasks.a.text text.txt tiny.toml");
  const Outcome outcome = box.run("train text.txt --out new");
  CHECK(outcome.exit_code == kUsage);
  for (const char* text : {"text.txt:1: ", "(a text to train on is named by --data.text)"}) CHECK(outcome.tells(text));
  CHECK_FALSE(box.has("new"));
}

TEST_CASE("errors: an empty name of a configuration or a run is not taken for none, as if it were left out") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 2");
  const std::string empty = ": expected a value, got an empty one (see --help)";
  check_error(box, kUsage, "config" + empty, "train --train.steps 2 --out new", {""});
  check_error(box, kUsage, "--resume" + empty, "train --data.text text.txt --out new --resume", {""});
  check_error(box, kUsage, "--out" + empty, "train --resume run --train.steps 4 --out", {""});
  check_error(box, kUsage, "--out" + empty, "train --resume run --train.steps 4 --out=");
  check_error(box, kUsage, "target" + empty, "info --minutes 1", {""});
  CHECK(box.metrics("run").back()["step"] == 2);
}

TEST_CASE("errors: a run is not made shorter than it is, nor gets an optimizer of another state") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 6");
  const std::string config = box.read("run/config.toml");
  check_error(box, kUsage, "train.steps: expected at least 6, the step that the run has come to, got 4",
              "train --resume run --train.steps 4");
  const std::string another_state =
      "optimizer.name: the run's adamw keeps 2 numbers for a parameter, got sgd, which would keep 1: train.init_from "
      "begins a new run with the weights";
  check_error(box, kUsage, another_state, "train --resume run --train.steps 8 --optimizer.name sgd");
  CHECK(box.read("run/config.toml") == config);
}

TEST_CASE("errors: a file that may not grow is told like a full disk") {
  const Sandbox box("gpt");
  const Outcome outcome =
      Process(box / ".",
              {"/bin/sh", "-c", std::string("ulimit -f 8; exec ") + TAPEFORMER_BINARY + " train tiny.toml --out run"},
              "")
          .wait();
  CHECK(outcome.exit_code == kFailure);
  CHECK(outcome.tells("File too large"));
}

TEST_CASE("errors: images that cannot be written leave no folder, and a folder that cannot be made is told in a line") {
  const Sandbox box("gpt");
  const Outcome outcome =
      Process(box / ".",
              {"/bin/sh", "-c", std::string("ulimit -f 2; exec ") + TAPEFORMER_BINARY + " corpus shapes --images new"},
              "")
          .wait();
  CHECK(outcome.exit_code == kFailure);
  CHECK(outcome.tells("000001.png"));
  CHECK_FALSE(box.has("new"));
  CHECK_FALSE(box.has(".new.partial"));
  box.write("study.toml", "title = \"t\"\nclaim = \"c\"\nconfig = \"tiny.toml\"\n[[variants]]\nname = \"a\"\n");
  check_error(box, kFailure, "cannot make the folder tiny.toml: Not a directory", "study study.toml --out tiny.toml");
}

TEST_CASE("errors: configurations") {
  const Sandbox box("gpt");
  const auto refused = [&](const std::string& message, std::string_view words, int exit_code = kUsage) {
    check_error(box, exit_code, message, std::string(words) + " --out new");
  };
  refused("cannot open missing.toml: No such file or directory", "train missing.toml", kFailure);

  SUBCASE("unknown keys name the nearest") {
    write_config_with(box, "key.toml", "layers", "layer");
    refused("key.toml:2: unknown key model.layer: did you mean model.layers?", "train key.toml");
    write_config_with(box, "section.toml", "[optimizer]", "[optimiser]");
    refused("section.toml:15: unknown section [optimiser]: did you mean [optimizer]?", "train section.toml");
    refused("unknown option --model.layer: did you mean --model.layers? (see --help)",
            "train tiny.toml --model.layer 3");
    refused("unknown option --lr: did you mean --optimizer.lr? (see --help)", "train tiny.toml --lr=3");
  }
  SUBCASE("wrong types and values") {
    write_config_with(box, "type.toml", "dim = 32", "dim = \"wide\"");
    refused("type.toml:4: model.dim: expected a whole number, got the string \"wide\"", "train type.toml");
    write_config_with(box, "syntax.toml", "dim = 32", "dim = ");
    refused("syntax.toml:4: …", "train syntax.toml");
    refused("model.dim: expected a whole number, got \"wide\"", "train tiny.toml --model.dim wide");
    refused("model.bias: expected true or false, got \"yes\"", "train tiny.toml --model.bias yes");
    refused("model.dim: expected 1 <= value <= 1048576, got -32", "train tiny.toml --model.dim -32");
    refused("model.norm: expected auto, pre or post, got \"pr\"", "train tiny.toml --model.norm pr");
  }
  SUBCASE("keys that do not go together") {
    refused("model.heads: expected a divisor of model.dim, which is 32, got 3", "train tiny.toml --model.heads 3");
    refused("tokenizer.vocab: expected at least 257 for bpe (256 bytes and the end of a text), got 100",
            "train tiny.toml --tokenizer.kind bpe --tokenizer.vocab 100");
    refused("eval.stride: expected at most model.context, which is 16, got 17", "train tiny.toml --eval.stride 17");
    write_config_with(box, "two.toml", "text = \"text.txt\"", "text = \"text.txt\"\ncorpus = \"stories\"");
    refused("data: expected one kind of training data, got data.text and data.corpus", "train two.toml");
    write_config_with(box, "nothing.toml", "text = \"text.txt\"", "");
    refused("data: expected one of …", "train nothing.toml");
    refused("unknown corpus 'storys', did you mean 'stories'?", "train nothing.toml --data.corpus storys");
    refused("data.corpus: expected parallel text for model.type = transformer, got stories, which is plain text",
            "train nothing.toml --model.type transformer --data.corpus stories");
  }
}

TEST_CASE("errors: texts to train on") {
  const Sandbox box("gpt");
  // The configuration makes paths absolute.
  const std::string cwd = fs::canonical(box / ".").string() + "/";
  const auto refused = [&](const std::string& message, std::string_view words) {
    check_error(box, kFailure, message, "train tiny.toml --out new " + std::string(words));
  };
  box.write("empty.txt", "");
  box.write("short.txt", "0123456789abcdef!!");  // 16 tokens once 2 are kept for validation
  box.write("latin1.txt", std::string("caf\xE9 au lait, ") + box.read("text.txt"));
  fs::create_directory(box / "folder");
  refused("no such file or folder: " + cwd + "missing.txt", "--data.text missing.txt");
  refused("no files match " + cwd + "*.text", "--data.text *.text");
  refused("no files in folder " + cwd + "folder", "--data.text folder");
  refused(cwd + "empty.txt is empty, expected text", "--data.text empty.txt");
  refused("the training text has 16 tokens: model.context = 16 takes at least 17", "--data.text short.txt");
  refused(cwd + "latin1.txt: invalid UTF-8 at byte 3; a bpe tokenizer takes any bytes", "--data.text latin1.txt");
  refused("no such file or folder: " + cwd + "missing.txt", "--data.valid missing.txt");
  refused("cannot open " + cwd + "missing.json: No such file or directory", "--tokenizer.file missing.json");
}

TEST_CASE("errors: runs that are there, are not, or do not fit") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 4");
  fs::create_directory(box / "folder");
  const std::string config = box.read("run/config.toml"), metrics = box.read("run/metrics.jsonl");

  check_error(box, kFailure, "run already holds a run: go on with --resume run, or give another --out",
              "train tiny.toml --out run");
  check_error(box, kFailure, "text.txt is a file, expected a folder for the run", "train tiny.toml --out text.txt");
  for (const std::string command : {"train --resume", "generate", "eval --text text.txt", "surprisal --prompt x"}) {
    check_error(box, kFailure, "folder is not a run: it has no config.toml", command + " folder");
    check_error(box, kFailure, "missing: no such run or checkpoint", command + " missing");
    check_error(box, kFailure, "run/checkpoints/step-000099: no such run or checkpoint",
                command + " run/checkpoints/step-000099");
  }
  check_error(box, kUsage,
              "model.dim: the run has 32, got 16: it says what the model, its tokens or its task are, which cannot "
              "change on resume",
              "train --resume run --train.steps 8 --model.dim 16");
  check_error(box, kUsage, "unknown option --train.step: did you mean --train.steps? (see --help)",
              "train --resume run --train.step 8");
  check_error(box, kUsage, "train.steps: expected a whole number, got \"many\"",
              "train --resume run --train.steps many");
  CHECK(box.read("run/config.toml") == config);
  CHECK(box.read("run/metrics.jsonl") == metrics);
  CHECK(box.read("run/checkpoints/latest") == "step-000004\n");

  std::string other = config;
  other.replace(other.find("layers = 2"), 10, "layers = 3");
  for (const std::string command : {"generate run", "eval run --text text.txt", "surprisal run --prompt Once"}) {
    const std::string before = result_of(box, command);
    box.write("run/config.toml", other);  // a checkpoint means what its own configuration says
    CHECK(result_of(box, command) == before);
    box.write("run/config.toml", config);
  }
  fs::remove_all(box / "run/checkpoints");
  check_error(box, kFailure, "run: the run has no usable checkpoint", "generate run");
}

TEST_CASE("errors: the file of a page ends in .html, of every command, and is refused before anything is read") {
  const Sandbox box;
  const auto message = [](const std::string& option) {
    return option + ": expected a file that ends in .html, got new";
  };
  check_errors(box, kUsage,
               {{"surprisal run --prompt a --out new", message("--out")},
                {"score run --lines questions.jsonl --out new", message("--out")},
                {"caption run --images shapes --out new", message("--out")},
                {"translate run --trees new", message("--trees")},
                {"scaling fit runs --out new", message("--out")},
                {"report run --out new", message("--out")},
                {"explain gelu --html new", message("--html")},
                {"attention run --text a --out new",
                 "attention: without --head it writes a page: expected --out FILE.html, got new"},
                {"attention run --text a --head 0.0 --out new",
                 "attention: --head writes a picture: expected --out FILE.svg, got new"}});
}

TEST_CASE("errors: what a model is asked") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 4");
  box.write("empty.txt", "");
  box.write("one.txt", "O");
  box.write("latin1.txt", "caf\xE9");
  box.write("foreign.txt", "Once upon a time in S\xC3\xA3o Paulo");
  const std::string foreign = "is not in the vocabulary; a bpe tokenizer takes any bytes";

  check_error(box, kFailure, "char tokenizer: character 'é' (U+00E9) at byte 1 " + foreign,
              "generate run --prompt tété");
  check_error(box, kUsage, "--stop: expected a text, got an empty one", "generate run --stop", {""});
  check_errors(box, kUsage,
               {
                   {"generate run --temperature -1", "--temperature: expected 0 or more, got -1"},
                   {"generate run --temperature nan", "--temperature: expected a finite number, got nan (see --help)"},
                   {"generate run --temperature hot", "Could not convert: --temperature = hot (see --help)"},
                   {"generate run --top-p 0", "--top-p: expected 0 < value <= 1, got 0"},
                   {"generate run --top-p 1.5", "--top-p: expected 0 < value <= 1, got 1.5"},
                   {"generate run --top-k -3", "--top-k: expected 0 or more, got -3"},
               });

  check_errors(
      box, kFailure,
      {
          {"eval run --text missing.txt", "no such file or folder: missing.txt"},
          {"eval run --text empty.txt", "empty.txt is empty, expected text"},
          {"eval run --text one.txt", "one.txt: has 1 tokens, at least 2 are needed"},
          {"eval run --text latin1.txt", "latin1.txt: invalid UTF-8 at byte 3; a bpe tokenizer takes any bytes"},
          {"eval run --text foreign.txt", "foreign.txt: char tokenizer: character 'ã' (U+00E3) at byte 21 " + foreign},
      });
  check_error(box, kUsage, "--stride: expected 1 to 16 (the context), got 17", "eval run --text text.txt --stride 17");
  check_error(box, kUsage, "--stride: expected 1 to 16 (the context), got 17",
              "surprisal run --text text.txt --json --stride 17");
  check_error(box, kUsage, "--context: expected 1 to 16 (the model's), got 17",
              "eval run --text text.txt --context 17");
  check_error(box, kUsage, "surprisal: expected --text FILE, --prompt TEXT, or --source FILE and --target FILE",
              "surprisal run");
  check_error(box, kFailure, "surprisal: the text has 1 tokens, at least 2 are needed", "surprisal run --prompt O");
}

TEST_CASE("errors: tokenizers") {
  const Sandbox box("gpt");
  box.write("broken.json", "{\"model\": ");
  box.write("latin1.txt", "caf\xE9");
  REQUIRE(box.run("tokenizer train --kind char --out char.json text.txt").exit_code == 0);

  check_error(box, kUsage, "tokenizer: a vocabulary of 100 is too small for bpe: …",
              "tokenizer train --vocab 100 --out new text.txt");
  check_error(box, kUsage, "tokenizer: unknown kind 'bytes': expected char, word or bpe",
              "tokenizer train --kind bytes --out new text.txt");
  check_error(box, kUsage, "tokenizer train: --pattern: expected --kind bpe beside it, got word",
              "tokenizer train --kind word --pattern cl100k --out new text.txt");
  check_error(box, kUsage, "--pattern: unknown pattern 'gpt3': expected gpt2, cl100k, qwen2 or smollm",
              "tokenizer train --pattern gpt3 --out new text.txt");
  // A file of the text is not replaced, however it is named.
  box.write("texts/a.txt", "one two\n");
  REQUIRE(box.run("tokenizer train --vocab 257 --out texts/t.json texts").exit_code == 0);
  for (const std::string out : {"texts/t.json", "./texts/../texts/t.json", "texts/a.txt"}) {
    check_error(box, kUsage, "tokenizer train: --out: expected a file that is no part of the text, got " + out,
                "tokenizer train --vocab 257 texts --out " + out);
  }
  REQUIRE(box.run("tokenizer train --vocab 257 --out texts/ text.txt").exit_code == 0);
  check_error(box, kUsage, "tokenizer train: --out: expected a file that is no part of the text, got texts/vocab.json",
              "tokenizer train --vocab 257 texts/*.json --out texts/");
  CHECK(box.read("texts/a.txt") == "one two\n");
  for (const std::string size : {"-1", "M", "64Q", "1.5M", "64MB", "99999999T"}) {
    check_error(box, kUsage, "--max-memory: expected a number of bytes such as 64M, got '" + size + "'",
                "tokenizer train --out new text.txt --max-memory=" + size);
  }
  check_errors(box, kFailure,
               {
                   {"tokenizer train --out new missing.txt", "no such file or folder: missing.txt"},
                   {"tokenizer train --kind char --out new latin1.txt",
                    "latin1.txt: invalid UTF-8 at byte 3; a bpe tokenizer takes any bytes"},
                   {"tokenizer encode char.json latin1.txt",
                    "latin1.txt: invalid UTF-8 at byte 3; a bpe tokenizer takes any bytes"},
                   {"tokenizer info missing.json", "cannot open missing.json: No such file or directory"},
                   {"tokenizer info broken.json", "broken.json: not valid JSON at byte 11"},
               });
  box.write("t.tiktoken", "IQ== 0\n");
  check_error(box, kUsage, "t.tiktoken: tiktoken's files do not say how text is split: expected a pattern, …",
              "tokenizer info t.tiktoken");
  check_error(box, kFailure, "t.tiktoken: byte 0 has no token", "tokenizer info t.tiktoken --pattern gpt2");
  check_error(box, kFailure, "a char tokenizer cannot be written as a file of ranks, only bpe",
              "tokenizer convert char.json --out x.tiktoken");
  check_error(box, kFailure, "vocab.txt: the format of BERT's vocab.txt can only be read: expected another name",
              "tokenizer convert char.json --out vocab.txt");
  CHECK_FALSE(box.has("vocab.txt"));
  // Before the text is read: there is none.
  check_error(box, kFailure, "cannot write missing/t.json: there is no folder missing",
              "tokenizer train none.txt --out missing/t.json");
  check_error(box, kFailure, "standard input: char tokenizer: invalid UTF-8 at byte 0; a bpe tokenizer takes any bytes",
              "tokenizer encode char.json", {}, "\xE9");
  check_error(box, kFailure, "tokenizer decode: expected token ids separated by white space, got \"1.5\"",
              "tokenizer decode char.json", {}, "1.5");
  check_error(box, kUsage, "--document: expected none, file, line or mark, got \"page\"",
              "tokenizer encode char.json latin1.txt --document page");
  check_error(box, kFailure, "tokenizer: token id 1000 is outside the vocabulary of …", "tokenizer decode char.json",
              {}, "1000");
}
