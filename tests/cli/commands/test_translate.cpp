// What a trained encoder-decoder gives: translations line by line, and their measures.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <sstream>
#include <thread>

#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

// Without the line that says which weights are read.
std::string without_weights(std::string text) {
  if (text.starts_with("info: weights: ")) text.erase(0, text.find('\n') + 1);
  return text;
}

// What `translate RUN` prints; it must succeed, and warn of nothing.
std::string translated(const Sandbox& box, const std::string& words, std::string_view input) {
  const Outcome outcome = box.run("translate " + words, {}, input);
  CAPTURE(words);
  CHECK(without_weights(outcome.err) == "");
  REQUIRE(outcome.exit_code == 0);
  return outcome.out;
}

// A trained run, source.txt and target.txt: made once, for all tests that only read them.
const Sandbox& trained() {
  static const Sandbox box;
  if (box.has("run")) return box;
  box.prepare_toy("transformer");
  box.train("run", "--train.steps 200 --checkpoint.every 20 --eval.every 40");
  box.write_sides();
  return box;
}

}  // namespace

TEST_CASE("translate: a line for each line, in order, whatever stands beside it" * long_test()) {
  const Sandbox& box = trained();
  const std::vector<std::string> sources{"abc", "abcdefghijkl", "b", "xyzzy", "abc", "hello"};
  std::string input, expected;
  for (const std::string& line : sources) {
    input += line + "\n";
    expected += translated(box, "run", line + "\n");
  }
  const std::vector<std::string> lines = lines_in(expected);
  REQUIRE(lines.size() == sources.size());
  CHECK(lines[0] == lines[4]);
  CHECK_FALSE(lines[0] == lines[5]);
  CHECK(translated(box, "run", input) == expected);
  CHECK(translated(box, "run", "") == "");

  // No line end at the end, the line ends of Windows, and lines of nothing but white space.
  CHECK(translated(box, "run", input.substr(0, input.size() - 1)) == expected);
  CHECK(translated(box, "run", "abc\r\nhello\r\n") == lines[0] + "\n" + lines[5] + "\n");
  CHECK(translated(box, "run", "abc\r\nhello\r") == lines[0] + "\n" + lines[5] + "\n");
  CHECK(translated(box, "run", "\nabc\n \t \n\r\nhello") == "\n" + lines[0] + "\n\n\n" + lines[5] + "\n");
  CHECK(translated(box, "run", "abc\n\u3000\n\u00A0 \nhello") == lines[0] + "\n\n\n" + lines[5] + "\n");
  CHECK(translated(box, "run", "\n\n") == "\n\n");
  CHECK(translated(box, "run",
                   "\xEF\xBB\xBF"
                   "abc\nhello\n") == lines[0] + "\n" + lines[5] + "\n");
}

TEST_CASE("translate: neither the batch nor the cache changes a translation" * long_test()) {
  const Sandbox& box = trained();
  const std::string input =
      box.read("source.txt").substr(0, 400) + "\n\n" + box.read("source.txt").substr(400, 600) + "\n";
  const auto count = std::count(input.begin(), input.end(), '\n');
  for (const std::string options : {"", " --beam 1", " --beam 3 --length-penalty 1"}) {
    const std::string expected = translated(box, "run" + options, input);
    CHECK(std::count(expected.begin(), expected.end(), '\n') == count);
    for (const std::string other : {" --batch 1", " --batch 64", " --batch 3", " --no-cache"}) {
      CHECK(translated(box, "run" + options + other, input) == expected);
    }
  }
}

TEST_CASE("translate: --sample draws translations by the line and the seed alone" * long_test()) {
  const Sandbox& box = trained();
  const std::string input = box.read("source.txt").substr(0, 300) + "\n\n";
  const std::string drawn = translated(box, "run --sample --temperature 2", input);
  CHECK(std::count(drawn.begin(), drawn.end(), '\n') == std::count(input.begin(), input.end(), '\n'));
  for (const std::string other : {" --batch 1", " --batch 3", " --no-cache"}) {
    CHECK(translated(box, "run --sample --temperature 2" + other, input) == drawn);
  }
  CHECK(translated(box, "run --sample --temperature 2 --seed 2", input) != drawn);
  CHECK(translated(box, "run --sample --temperature 0", input) == translated(box, "run --beam 1", input));
  CHECK(translated(box, "run --sample --top-k 1", input) == translated(box, "run --beam 1", input));
  for (const std::string other : {"--beam", "--n-best", "--length-penalty"}) {
    check_error(box, kUsage, other + " excludes --sample (see --help)", "translate run --sample " + other + " 1");
  }
  for (const std::string other : {"--temperature", "--top-k", "--top-p", "--seed"}) {
    check_error(box, kUsage, other + " requires --sample (see --help)", "translate run " + other + " 1");
  }
  check_error(box, kUsage, "--temperature: expected 0 or more, got -1", "translate run --sample --temperature -1");
}

TEST_CASE("translate: the n best, with their line and score" * long_test()) {
  const Sandbox& box = trained();
  const auto lines = lines_in(translated(box, "run --beam 4 --n-best 3", "abcd\n\nhello\n"));
  const auto best = lines_in(translated(box, "run --beam 4", "abcd\n\nhello\n"));
  REQUIRE(lines.size() == 7);
  CHECK(lines[3] == "2\t0\t");
  for (const std::size_t first : {0, 4}) {
    double last = 0;
    for (std::size_t i = first; i < first + 3; ++i) {
      CAPTURE(lines[i]);
      REQUIRE(std::count(lines[i].begin(), lines[i].end(), '\t') == 2);
      CHECK(lines[i].starts_with(first == 0 ? "1\t-" : "3\t-"));
      const double score = std::stod(lines[i].substr(2));
      CHECK(score <= last);
      last = score;
    }
    CHECK(lines[first].substr(lines[first].rfind('\t') + 1) == best[first == 0 ? 0 : 2]);
  }
  for (const std::string& line : lines_in(translated(box, "run --max-length 3", "abcdefgh\nhello\n"))) {
    CHECK(line.size() <= 2);  // and the end
  }
  const std::string help = result_of(box, "translate --help");
  CHECK(help.find("[the model's context, which is the most; of a recurrent model three for each token") != help.npos);
}

TEST_CASE("translate: what a line has that the model cannot take is told with its number") {
  const Sandbox& box = trained();
  const std::string longest(15, 'a');
  const Outcome cut = box.run("translate run", {}, "abc\n" + longest + "\n" + longest + "bcd\nhello\n");
  CHECK(cut.exit_code == 0);
  CHECK(without_weights(cut.err) ==
        "warning: line 3: longer than the model's context of 16 tokens: its last 3 are not translated\n");
  const auto lines = lines_in(cut.out);
  REQUIRE(lines.size() == 4);
  CHECK(lines[2] == lines[1]);

  const Outcome invalid = box.run("translate run --batch 1", {}, std::string(40, '\n') + "ab\xFF\n\xC3\nabc\n");
  CHECK(invalid.exit_code == 0);
  CHECK(
      without_weights(invalid.err) ==
      "warning: line 41: invalid UTF-8 at byte 2; U+FFFD is translated in its place\n"
      "warning: line 42: invalid UTF-8 at byte 0; U+FFFD is translated in its place\n"
      "warning: 2 of 7 tokens of the lines are words or characters that the vocabulary does not have: the model reads "
      "<unk>\n");
  REQUIRE(lines_in(invalid.out).size() == 43);
  CHECK(lines_in(invalid.out)[42] == lines[0]);
  // Characters that the model has never seen are all unknown to it alike.
  for (const char* line : {"abñ\n", "ab\xE2\x82\xAC\n"}) {
    const Outcome unknown = box.run("translate run", {}, line);
    CHECK(unknown.exit_code == 0);
    CHECK(unknown.out == lines_in(invalid.out)[40] + "\n");
    CHECK(without_weights(unknown.err) ==
          "warning: 1 of 3 tokens of the lines are words or characters that the vocabulary does not have: the model "
          "reads <unk>\n");
  }
  box.write("foreign.txt", "abñ\n");
  for (const std::string command : {"eval run", "surprisal run", "heads run"})
    CHECK(box.succeed(command + " --source foreign.txt --target foreign.txt").tells("1 of 3 tokens of foreign.txt "));
}

TEST_CASE("translate: a line is answered while the input stays open") {
  const Sandbox& box = trained();
  const std::string expected = translated(box, "run", "abc\nhello\n");
  REQUIRE(::mkfifo((box / "fifo").c_str(), 0600) == 0);
  Process process((box / "").parent_path(), {"/bin/sh", "-c", "exec " TAPEFORMER_BINARY " translate run < fifo"}, "");
  const int input = ::open((box / "fifo").c_str(), O_WRONLY);
  REQUIRE(input >= 0);
  const auto wait_for_lines = [&](std::ptrdiff_t count) {
    const auto lines = [&] {
      const std::string out = process.out();
      return std::count(out.begin(), out.end(), '\n');
    };
    while (process.running() && lines() < count) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    CHECK(lines() == count);
  };
  CHECK(::write(input, "abc\nhe", 6) == 6);
  wait_for_lines(1);
  CHECK(::write(input, "llo\n", 4) == 4);
  wait_for_lines(2);
  CHECK(process.running());
  ::close(input);
  CHECK(process.wait().exit_code == 0);
  CHECK(process.out() == expected);
}

TEST_CASE("translate: with the average, or the checkpoint that is named" * long_test()) {
  const Sandbox& box = trained();
  const std::string input = box.read("source.txt").substr(0, 300),
                    eval = " --source source.txt --target target.txt --json";
  const std::string average = "run/checkpoints/average", newest = "run/checkpoints/step-000200";
  const std::string n_best = " --beam 2 --n-best 2";  // scores tell models apart
  const std::string expected = translated(box, "run --checkpoint average" + n_best, input);
  CHECK(translated(box, average + n_best, input) == expected);
  CHECK(translated(box, "run --checkpoint latest" + n_best, input) == translated(box, newest + n_best, input));
  CHECK_FALSE(translated(box, newest + n_best, input) == expected);
  CHECK_FALSE(translated(box, "run/checkpoints/step-000180" + n_best, input) == expected);
  CHECK(box.run("eval run --checkpoint average" + eval).out == box.run("eval " + average + eval).out);
  CHECK_FALSE(box.run("eval " + average + eval).out == box.run("eval " + newest + eval).out);
  const std::string files = " --source source.txt --target target.txt";
  const auto ends_with = [&](const std::string& run, const char* end) {
    return result_of(box, "eval " + run + files).ends_with(end);
  };
  CHECK(ends_with(average, "     average of the last checkpoints up to step 200\n"));
  CHECK(ends_with("run/checkpoints/step-000180", "     step 180\n"));
  // A run's folder is the one of them with the lowest validation loss.
  double best = INFINITY;
  const std::vector<Json> lines = box.metrics("run");
  for (const Json& line : lines) best = std::min(best, line.value("eval_loss", best));
  const std::string meant = lines.back()["average_loss"] < best ? average : "run/checkpoints/best";
  CHECK(translated(box, "run" + n_best, input) == translated(box, meant + n_best, input));

  // A checkpoint that is named is called by its whole path.
  const std::string root = fs::canonical(box / ".").string() + "/";
  const std::string damaged = "damaged/checkpoints/average";
  fs::copy(box / "run", box / "damaged", fs::copy_options::recursive);
  std::string bytes = box.read(damaged + "/model.safetensors");
  bytes.back() ^= 1;
  box.write(damaged + "/model.safetensors", bytes);
  const std::string why = damaged + ": model.safetensors is damaged: its checksum differs\n";
  const Outcome refused = box.run("translate " + damaged, {}, input);
  CHECK(refused.exit_code == 1);
  CHECK(refused.err == "tapeformer: " + root + why);
  fs::remove_all(box / "damaged");
  const Outcome resumed = box.run("train --resume " + average);
  CHECK(resumed.exit_code == 2);
  CHECK(resumed.err == "tapeformer: train: an average cannot be trained on; resume " + root + "run\n");
}

TEST_CASE("eval: of translations, as training measures them") {
  const Sandbox& box = trained();
  const auto tail = [](const std::string& text) {  // the last 20 of 200 lines are for validation
    const auto lines = lines_in(text);
    std::string out;
    for (std::size_t i = 180; i < lines.size(); ++i) out += lines[i] + "\n";
    return out;
  };
  const std::string source = tail(box.read("source.txt")), target = tail(box.read("target.txt"));
  box.write("valid.src", source);
  box.write("valid.tgt", target);
  const std::string files = " --source valid.src --target valid.tgt --json";
  const auto measured = [&](const std::string& run, const std::string& options = "") {
    const Outcome outcome = box.run("eval " + run + files + options);
    CHECK(without_weights(outcome.err) == "");
    CHECK(outcome.out.find('\n') == outcome.out.size() - 1);
    return outcome.json();
  };
  const Json result = measured("run/checkpoints/step-000200");
  CHECK(keys_of(result) == std::vector<std::string>{"tokens", "bytes", "loss", "perplexity", "bits_per_byte", "context",
                                                    "stride", "pairs", "skipped", "checkpoint", "matmul"});
  const auto size = static_cast<std::int64_t>(target.size());
  CHECK(result["tokens"] == size);  // the ends stand for the newlines
  CHECK(result["bytes"] == size - 20);
  CHECK(result["pairs"] == 20);
  CHECK(result["skipped"] == 0);
  const double loss = result["loss"];
  CHECK(result["perplexity"].get<double>() == doctest::Approx(std::exp(loss)).epsilon(1e-12));
  CHECK(result["bits_per_byte"].get<double>() ==
        doctest::Approx(loss * static_cast<double>(size) / std::numbers::ln2 / static_cast<double>(size - 20)));
  CHECK(measured("run/checkpoints/step-000200", " --batch 1")["loss"].get<double>() ==
        doctest::Approx(loss).epsilon(1e-6));

  const auto metrics = box.metrics("run");
  const Json last = metrics[metrics.size() - 2];  // before the line of the average
  CHECK(last["eval_loss"].get<double>() == doctest::Approx(loss).epsilon(1e-6));
  CHECK(last["eval_tokens"] == size);
  CHECK(last["eval_bits_per_byte"].get<double>() ==
        doctest::Approx(result["bits_per_byte"].get<double>()).epsilon(1e-6));

  // Token by token.
  const Outcome surprisal =
      box.run("surprisal run/checkpoints/step-000200 --source valid.src --target valid.tgt --json");
  double nats = 0;
  std::int64_t tokens = 0;
  const auto pairs = lines_in(surprisal.out);
  REQUIRE(pairs.size() == 20);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Json pair = Json::parse(pairs[i]);
    CHECK(pair["pair"] == i + 1);
    CHECK(pair["source"] == lines_in(source)[i]);
    CHECK(pair["tokens"].back()["token"] == "</s>");
    for (const Json& token : pair["tokens"]) nats += token["nats"].get<double>();
    tokens += static_cast<std::int64_t>(pair["tokens"].size());
  }
  CHECK(tokens == size);
  CHECK(nats == doctest::Approx(loss * static_cast<double>(size)).epsilon(1e-6));

  box.write("some.src", "abc\n\n" + std::string(16, 'a') + "\nx\xFF\nb\n");
  box.write("some.tgt", "cba\nx\nb\nx\nb\n");
  const Outcome some = box.run("eval run --source some.src --target some.tgt --json");
  CHECK(some.json()["pairs"] == 2);
  CHECK(some.json()["skipped"] == 3);
  CHECK(some.json()["tokens"] == 6);
  CHECK(
      without_weights(some.err) ==
      "warning: 3 of 5 pairs are not scored: 1 has an empty side, 1 is not valid UTF-8, 1 is longer than 15 tokens\n");
  const Outcome some_tokens = box.run("surprisal run --source some.src --target some.tgt --json");
  CHECK(some_tokens.exit_code == 0);
  CHECK(some_tokens.err == some.err);
  CHECK(lines_in(some_tokens.out).size() == 2);
  CHECK(
      box.run("eval run --source some.src --target some.tgt").out.starts_with("pairs          2 scored, 3 skipped\n"));
}

TEST_CASE("translate: a vocabulary for each side, of characters, words or byte pairs" * long_test()) {
  const Sandbox box;
  std::string pairs;
  for (int i = 0; i < 12; ++i) pairs += "one two three\tuno, dos, tres\nfour five six\tcuatro, cinco, seis\n";
  box.write("words.tsv", pairs);
  box.write("source.txt", "one two\n");
  box.write("target.txt", "uno dos\n");
  box.prepare_toy("transformer");
  for (const std::string kind : {"char", "word", "bpe"}) {
    CAPTURE(kind);
    box.train(kind,
              "--data.pairs words.tsv --train.steps 4 --model.context 32 --tokenizer.joint false "
              "--tokenizer.vocab 280 --checkpoint.average 0 --tokenizer.kind " +
                  kind);
    CHECK(box.has(kind + "/tokenizer-target.json"));
    CHECK_FALSE(box.read(kind + "/tokenizer-target.json") == box.read(kind + "/tokenizer.json"));
    CHECK(box.read(kind + "/config.toml").find("tie_embeddings = \"output\"") != std::string::npos);
    const Outcome unknown = box.succeed("translate " + kind, {}, "one two three\n\xC3\xB1\xC3\xB1 unknown\n");
    CHECK(lines_in(unknown.out).size() == 2);
    CHECK(unknown.tells("that the vocabulary does not have") == (kind != "bpe"));
    CHECK(box.run("eval " + kind + " --source source.txt --target target.txt --json").json()["pairs"] == 1);
    CHECK(box.run("info " + kind + " --seconds 0 --json").exit_code == 0);
    const Outcome resumed = box.run("train --resume " + kind + " --train.steps 6");
    CHECK(resumed.exit_code == 0);
    CHECK(resumed.tells("vocabularies of "));
  }
  const Outcome given = box.run(
      "train tiny.toml --out given --data.pairs words.tsv --train.steps 2 "
      "--model.context 32 --tokenizer.joint false --tokenizer.file char/tokenizer.json "
      "--tokenizer.target_file word/tokenizer-target.json");
  CHECK(given.exit_code == 0);
  CHECK(box.read("given/tokenizer.json") == box.read("char/tokenizer.json"));
  CHECK(box.read("given/tokenizer-target.json") == box.read("word/tokenizer-target.json"));
}
