// What the commands print when all goes well: results on standard output, everything else on standard error.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>

#include "core/error.h"
#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

using Json = nlohmann::ordered_json;

TEST_CASE("help: every command explains itself") {
  const Sandbox box;
  CHECK(result_of(box, "--version") != "");
  const std::string all = result_of(box, "--help");
  for (const std::string command : {"train", "eval", "generate", "translate", "surprisal", "bleu", "probe", "info",
                                    "tokenizer", "corpus", "gradcheck", "tokenizer train", "tokenizer encode",
                                    "tokenizer decode", "tokenizer info", "tokenizer convert"}) {
    CAPTURE(command);
    const Outcome help = box.run(command + " --help");
    CHECK(help.exit_code == 0);
    CHECK(help.err == "");
    CHECK(help.out.find("Usage:") != help.out.npos);
    if (command.find(' ') == command.npos) CHECK(all.find("\n  " + command + " ") != all.npos);
  }
  const std::string train = result_of(box, "train --help");
  for (const char* text :
       {"--optimizer.lr", "peak learning rate", "0.003 for gpt", "{char,word,bpe}", "[checkpoint]"}) {
    CHECK(train.find(text) != train.npos);
  }
}

TEST_CASE("train: the run's folder, its metrics, and what is printed") {
  const Sandbox box("gpt");
  const Outcome outcome = box.succeed("train tiny.toml --out run --train.steps 20 --eval.batches 0");
  INFO(outcome.err);
  CHECK(outcome.out.starts_with("best validation loss "));
  CHECK(outcome.out.find(" at step 20\n") != outcome.out.npos);
  CHECK(outcome.out.ends_with("\nrun: run\n"));
  CHECK(outcome.tells("validation loss"));  // progress

  const auto lines = box.metrics("run");
  REQUIRE(lines.size() == 24);
  std::vector<double> losses;
  int step = 0;
  for (const Json& line : lines) {
    if (line.contains("eval_loss")) {
      CHECK(keys_of(line) == std::vector<std::string>{"step", "tokens", "eval_loss", "eval_perplexity", "eval_tokens",
                                                      "eval_bits_per_byte", "elapsed_s", "peak_memory_bytes"});
      CHECK(line["step"] == step);
      CHECK(step % 5 == 0);
      CHECK(line["eval_perplexity"].get<double>() == doctest::Approx(std::exp(line["eval_loss"].get<double>())));
      continue;
    }
    ++step;
    CHECK(keys_of(line) == std::vector<std::string>{"step", "tokens", "loss", "lr", "grad_norm", "tokens_per_s",
                                                    "elapsed_s", "peak_memory_bytes"});
    CHECK(line["step"] == step);
    CHECK(line["tokens"] == step * 2 * 8 * 16);
    const double lr = 1e-2 * (step < 5 ? step / 5.0 : std::sqrt(5.0 / step));
    CHECK(line["lr"].get<double>() == doctest::Approx(lr).epsilon(1e-12));
    CHECK(line["grad_norm"].get<double>() > 0);
    CHECK(line["tokens_per_s"].get<double>() > 0);
    losses.push_back(line["loss"].get<double>());
  }
  CHECK(step == 20);
  CHECK(losses.front() ==
        doctest::Approx(std::log(45.0)).epsilon(0.05));  // 45 characters: it begins by knowing nothing
  CHECK(losses.back() < losses.front() - 0.5);
  for (const char* file : {"config.toml", "tokenizer.json", "checkpoints/latest", "checkpoints/best",
                           "checkpoints/step-000020/model.safetensors", "checkpoints/step-000020/optimizer.safetensors",
                           "checkpoints/step-000020/state.json"}) {
    CHECK_MESSAGE(box.has(std::string("run/") + file), file);
  }
  CHECK_FALSE(box.has("run/checkpoints/step-000004"));  // only the last ones are kept

  SUBCASE("the configuration in the folder is complete: it alone makes the same run") {
    REQUIRE(box.run("train run/config.toml --out again").exit_code == 0);
    CHECK(box.read("run/config.toml") == box.read("again/config.toml"));
    const std::string model = "/checkpoints/step-000020/model.safetensors";
    CHECK(box.read("run" + model) == box.read("again" + model));
  }
  SUBCASE("resuming a finished run does nothing") {
    CHECK(result_of(box, "train --resume run") == outcome.out);
    CHECK(box.metrics("run") == lines);
  }
  SUBCASE("a resumed run may do without validation text") {
    const Outcome resumed = box.run("train -q --resume run --train.steps 22 --data.valid_fraction 0");
    CHECK(resumed.exit_code == 0);
    CHECK(resumed.tells("no validation text: nothing will be evaluated"));
    CHECK(resumed.out == "weights that commands read: step 20 (best)\ncurves: run/report.html\nrun: run\n");
  }
}

TEST_CASE("eval: the measures agree with each other and with training" * long_test()) {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 20 --eval.batches 0");
  check_error(box, kUsage,
              "eval: expected --text FILE, --source FILE and --target FILE, --labels FILE, --images FOLDER, "
              "--conversations FILE, or --pairs FILE",
              "eval run");
  const std::string text = box.read("text.txt");
  const std::string valid = text.substr(static_cast<std::size_t>(static_cast<double>(text.size()) * (1 - 0.1)));
  box.write("valid.txt", valid);

  const auto check_measures = [&](const Json& result, int stride) {
    CHECK(keys_of(result) == std::vector<std::string>{"tokens", "bytes", "loss", "perplexity", "bits_per_byte",
                                                      "context", "stride", "checkpoint", "matmul"});
    CHECK(result["tokens"] == valid.size() - 1);
    CHECK(result["bytes"] == valid.size());
    CHECK(result["context"] == 16);
    CHECK(result["stride"] == stride);
    const double loss = result["loss"], tokens = result["tokens"], bytes = result["bytes"];
    CHECK(result["perplexity"].get<double>() == doctest::Approx(std::exp(loss)).epsilon(1e-12));
    CHECK(result["bits_per_byte"].get<double>() ==
          doctest::Approx(loss * tokens / (std::numbers::ln2 * bytes)).epsilon(1e-12));
  };
  const Json plain = json_of(box, "eval run --text valid.txt --json");
  check_measures(plain, 16);
  for (const int stride : {16, 7, 1}) {
    const Json result = json_of(box, "eval run --text valid.txt --json --stride " + std::to_string(stride));
    check_measures(result, stride);
    CHECK(result["loss"].get<double>() == doctest::Approx(plain["loss"].get<double>()).epsilon(0.05));
  }

  SUBCASE("the validation part gives what training wrote last") {
    const Json last = box.metrics("run").back();
    REQUIRE(last.contains("eval_loss"));
    CHECK(plain["tokens"] == last["eval_tokens"]);
    CHECK(plain["loss"].get<double>() == doctest::Approx(last["eval_loss"].get<double>()).epsilon(1e-6));
    CHECK(plain["bits_per_byte"].get<double>() ==
          doctest::Approx(last["eval_bits_per_byte"].get<double>()).epsilon(1e-6));
    CHECK(json_of(box, "eval run/checkpoints/step-000020 --text valid.txt --json") == plain);
    CHECK(json_of(box, "eval run/checkpoints/best --text valid.txt --json") == plain);
    CHECK(json_of(box, "eval run/checkpoints/step-000016 --text valid.txt --json")["loss"] > plain["loss"]);
  }
  SUBCASE("surprisal is the same, token by token") {
    const Json result = json_of(box, "surprisal run --text valid.txt --stride 16 --json");
    CHECK(keys_of(result) == std::vector<std::string>{"tokens", "mean_nats", "perplexity", "matmul"});
    CHECK(result["mean_nats"].get<double>() == doctest::Approx(plain["loss"].get<double>()).epsilon(1e-6));
    CHECK(result["perplexity"].get<double>() == doctest::Approx(plain["perplexity"].get<double>()).epsilon(1e-5));
    REQUIRE(result["tokens"].size() == valid.size());
    for (std::size_t i = 0; i < valid.size(); ++i) {
      const Json& token = result["tokens"][i];
      REQUIRE(keys_of(token) == std::vector<std::string>{"id", "token", "nats", "bits"});
      REQUIRE(token["token"] == valid.substr(i, 1));
      if (i == 0) {
        CHECK(token["nats"].is_null());
      } else {
        CHECK(token["bits"].get<double>() == doctest::Approx(token["nats"].get<double>() / std::numbers::ln2));
      }
    }
    const std::string table = result_of(box, "surprisal run --prompt", {"Once upon"});
    CHECK(table.starts_with("   nats    bits  token\n      -       -  \"O\"\n"));
    CHECK(table.find("mean ") != table.npos);
  }
  SUBCASE("without --json it is for people") {
    const std::string table = result_of(box, "eval run --text valid.txt");
    for (const char* word : {"loss", "perplexity", "bits per byte", "stride 16"}) CHECK(table.find(word) != table.npos);
  }
}

TEST_CASE("generate: the seed decides, the cache does not" * long_test()) {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 20");
  const std::string command = "generate run --tokens 60 --prompt";
  const std::vector<std::string> prompt{"Once upon a time"};
  const std::string text = result_of(box, command, prompt);
  CHECK(text.starts_with("Once upon a time"));
  CHECK(text.size() == 16 + 60 + 1);  // and a newline
  CHECK(result_of(box, command, prompt) == text);
  for (const char* options : {"", " --temperature 0", " --temperature 0.7 --top-k 5", " --top-p 0.8 --seed 3"}) {
    const std::string with_options = std::string("generate run --tokens 60") + options;
    CHECK(result_of(box, with_options + " --no-cache --prompt", prompt) ==
          result_of(box, with_options + " --prompt", prompt));
  }
  CHECK_FALSE(result_of(box, "generate run --tokens 60 --seed 2 --prompt", prompt) == text);
  CHECK(result_of(box, "generate run --tokens 60 --temperature 0 --seed 1 --prompt", prompt) ==
        result_of(box, "generate run --tokens 60 --temperature 0 --seed 2 --prompt", prompt));
  CHECK(result_of(box, "generate run --tokens 60 --top-k 1 --prompt", prompt) ==
        result_of(box, "generate run --tokens 60 --temperature 0 --prompt", prompt));
  CHECK(result_of(box, "generate run --tokens 0 --prompt", prompt) == "Once upon a time\n");
}

TEST_CASE("corpus: the same seed gives the same lines") {
  const Sandbox box;
  const Outcome ten = box.run("corpus stories --lines 10 --seed 5");
  CHECK(ten.exit_code == 0);
  CHECK(std::count(ten.out.begin(), ten.out.end(), '\n') == 10);
  CHECK(ten.tells("nats per character"));
  CHECK(result_of(box, "corpus stories --lines 10 --seed 5") == ten.out);
  CHECK(result_of(box, "corpus stories --lines 12 --seed 5").starts_with(ten.out));
  CHECK_FALSE(result_of(box, "corpus stories --lines 10 --seed 6") == ten.out);
}

TEST_CASE("gradcheck: of the ops that are named") {
  const Sandbox box;
  const std::string table = result_of(box, "gradcheck gelu layer_norm");
  CHECK(std::count(table.begin(), table.end(), '\n') == 2);
  CHECK(table.find("FAILED") == table.npos);
  for (std::size_t at = 0, end; at < table.size(); at = end + 1) {
    end = table.find('\n', at);
    const std::string line = table.substr(at, end - at);
    double error = 1, tolerance = 0;
    REQUIRE(std::sscanf(line.c_str(), "%*s %*d checks worst error %lf, allowed %lf ok", &error, &tolerance) == 2);
    CHECK(error < tolerance);
    CHECK(error < 1e-5);
  }
  const std::string list = result_of(box, "gradcheck --list");
  for (const char* op : {"add", "gelu", "layer_norm", "softmax"})
    CHECK(list.find(tapeformer::str_cat('\n', op, '\n')) != list.npos);
  CHECK(list.find(' ') == list.npos);
  CHECK(box.run("gradcheck --list gelu").exit_code == 2);
}

TEST_CASE("tokenizer: train, encode, decode, info") {
  const Sandbox box("gpt");
  const std::string text = box.read("text.txt");
  const Outcome trained = box.run("tokenizer train --vocab 300 --out bpe.json text.txt");
  CHECK(trained.exit_code == 0);
  CHECK(trained.out == "");
  CHECK(trained.tells("300 tokens"));
  const std::string ids = result_of(box, "tokenizer encode bpe.json", {}, text);
  CHECK(std::count(ids.begin(), ids.end(), '\n') < static_cast<std::ptrdiff_t>(text.size()));
  CHECK(result_of(box, "tokenizer decode bpe.json", {}, ids) == text);

  std::string bytes;  // that are no UTF-8
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  CHECK(result_of(box, "tokenizer decode bpe.json", {}, result_of(box, "tokenizer encode bpe.json", {}, bytes)) ==
        bytes);

  const std::string lines = result_of(box, "tokenizer encode bpe.json --lines", {}, "Once upon\n\na time\n");
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 3);
  std::istringstream stream(lines);
  for (const char* expected : {"Once upon", "", "a time"}) {
    std::string line;
    std::getline(stream, line);
    CHECK(result_of(box, "tokenizer decode bpe.json", {}, line) == expected);
  }

  CHECK(result_of(box, "tokenizer encode bpe.json --lines", {}, "\xEF\xBB\xBFOnce upon\r\n\na time") == lines);

  check_error(box, kUsage, "text excludes --lines (see --help)", "tokenizer encode bpe.json text.txt --lines");
  const std::string info = result_of(box, "tokenizer info bpe.json text.txt");
  for (const char* words : {"kind            bpe\n", "pattern         gpt2\n", "merges          43\n",
                            "vocabulary      300\n", "<|endoftext|> (299)", "bytes per token"}) {
    CHECK(info.find(words) != info.npos);
  }

  REQUIRE(box.run("tokenizer train --vocab 300 --max-memory 1K --out small.json text.txt").exit_code == 0);
  CHECK(box.read("small.json") == box.read("bpe.json"));
  REQUIRE(box.run("tokenizer train --vocab 300 --pattern cl100k --out cl100k.json text.txt").exit_code == 0);
  CHECK(box.read("cl100k.json").find("(?i:'s|'t|'re|'ve|'m|'ll|'d)") != std::string::npos);
  CHECK(result_of(box, "tokenizer decode cl100k.json", {}, result_of(box, "tokenizer encode cl100k.json", {}, text)) ==
        text);
  REQUIRE(box.run("tokenizer train --kind word --vocab 50 --out word.json text.txt").exit_code == 0);
  CHECK(result_of(box, "tokenizer info word.json").find("vocabulary      50\n") != std::string::npos);
}

TEST_CASE("tokenizer: info shows how a text splits, and what is no printable character") {
  const Sandbox box;
  box.write("abc.txt", "abc abc abc ab");
  REQUIRE(box.run("tokenizer train --vocab 261 --out t.json abc.txt").exit_code == 0);
  const std::string shown = result_of(box, "tokenizer info t.json --text", {"abc abc\n\t\xC3\xA9\x01\xFF"});
  // Not a terminal: brackets, no colours.
  CHECK(shown.ends_with("split           8 tokens\n[abc][ abc][\\n][\\t][\\xC3][\\xA9][\\x01][\\xFF]\n"));
  CHECK(shown.find("longest tokens  [ abc][ ab][abc][ab][!]") != shown.npos);
  const Json info = json_of(box, "tokenizer info t.json abc.txt --json --text", {"abc <"});
  CHECK(info["kind"] == "bpe");
  CHECK(info["pattern"] == "gpt2");
  CHECK(info["merges"] == 4);
  CHECK(info["vocab"] == 261);
  CHECK(info["special_tokens"].dump() == R"([{"id":260,"text":"<|endoftext|>"}])");
  CHECK(info["longest_tokens"][0].dump() == R"({"id":258,"text":" abc"})");
  CHECK(info["bytes"] == 14);
  CHECK(info["tokens"] == 4);
  CHECK(info["bytes_per_token"] == 3.5);
  CHECK(info["split"][0]["text"] == "abc");
  CHECK(info["split"].size() == 3);
}

TEST_CASE("tokenizer: convert, and use of other formats") {
  const Sandbox box("gpt");
  const std::string text = box.read("text.txt");
  REQUIRE(box.run("tokenizer train --vocab 400 --pattern cl100k --out t.json text.txt").exit_code == 0);
  const std::string ids = result_of(box, "tokenizer encode t.json", {}, text);
  const std::string others = " --pattern cl100k --special <|endoftext|>";
  for (const std::string name : {"t.tiktoken", "pair/"}) {
    CAPTURE(name);
    const Outcome converted = box.run("tokenizer convert t.json --out " + name);
    CHECK(converted.exit_code == 0);
    CHECK(converted.tells("400 tokens: " + name));
    CHECK(result_of(box, "tokenizer encode " + name + others, {}, text) == ids);
    CHECK(result_of(box, "tokenizer decode " + name + others, {}, ids) == text);
    REQUIRE(box.run("tokenizer convert " + name + others + " --out back.json").exit_code == 0);
    CHECK(box.read("back.json") == box.read("t.json"));
  }
  CHECK(box.has("pair/vocab.json"));
  CHECK(box.has("pair/merges.txt"));
}

TEST_CASE("train: a text that is no UTF-8, by byte pairs, with a tokenizer learned or given") {
  const Sandbox box("gpt");
  box.write("latin1.txt", "caf\xE9 \xFF\xFE " + box.read("text.txt"));
  box.train("run", "--data.text latin1.txt --tokenizer.kind bpe --tokenizer.vocab 280 --train.steps 3");
  const std::string ids = result_of(box, "tokenizer encode run/tokenizer.json", {}, box.read("latin1.txt"));
  CHECK(result_of(box, "tokenizer decode run/tokenizer.json", {}, ids) == box.read("latin1.txt"));
  CHECK(result_of(box, "generate run --tokens 5 --prompt", {"caf\xE9"}).starts_with("caf\xE9"));
  const Json shown = json_of(box, "surprisal run --json --prompt", {"caf\xE9 \xFF\xFE"});
  CHECK(shown["tokens"].size() >= 4);

  box.train("given", "--data.text latin1.txt --tokenizer.file run/tokenizer.json --train.steps 3");
  CHECK(box.read("given/tokenizer.json") == box.read("run/tokenizer.json"));
  const std::string model = "/checkpoints/step-000003/model.safetensors";
  CHECK(box.read("given" + model) == box.read("run" + model));
}

TEST_CASE("bleu: scores the lines of standard input, with sacreBLEU's signature") {
  const Sandbox box;
  box.write("reference.txt", "The cat is on the mat.\nYes, it is.\n");
  const std::string hypotheses = "The cat sat on the mat.\nYes, it is.\n";
  // Words 7 + 5, of which 6 + 5 match; bigrams 4 + 4 of 6 + 4, trigrams 2 + 3 of 5 + 3, 4-grams 1 + 2 of 4 + 2.
  const double expected = 100 * std::pow(11. / 12 * 8 / 10 * 5 / 8 * 3 / 6, 0.25);
  const Json score = Json::parse(result_of(box, "bleu --reference reference.txt --json", {}, hypotheses));
  CHECK(score["bleu"].get<double>() == doctest::Approx(expected));
  CHECK(score["signature"] == "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp");
  CHECK(score["hypothesis_length"] == 12);
  const std::string line = result_of(box, "bleu --reference reference.txt --tokenize none", {}, hypotheses);
  CHECK(line.starts_with("BLEU|nrefs:1|case:mixed|eff:no|tok:none|smooth:exp = "));
  CHECK(line.find("hyp_len = 9 ref_len = 9)\n") != line.npos);

  // A byte order mark is no part of the first word, on either side.
  box.write("marked.txt", "\xEF\xBB\xBF" + box.read("reference.txt"));
  for (const std::string reference : {"reference.txt", "marked.txt"}) {
    const std::string words = "bleu --json --reference " + reference;
    CHECK(Json::parse(result_of(box, words, {}, "\xEF\xBB\xBF" + hypotheses)) == score);
  }

  box.write("blank.txt", "\n");
  CHECK(result_of(box, "bleu --reference blank.txt", {}, "\n").ends_with("ratio = 0.000 hyp_len = 0 ref_len = 0)\n"));
  const Outcome shorter = box.run("bleu --reference reference.txt", {}, "one line\n");
  CHECK(shorter.exit_code == 1);
  CHECK(shorter.tells("bleu: reference.txt has 2 lines, standard input 1: expected a hypothesis for each"));
  CHECK(box.run("bleu --reference reference.txt --tokenize zh", {}, hypotheses).exit_code == 2);
  CHECK(box.run("bleu", {}, hypotheses).exit_code == 2);
}
