// Texts of all kinds given to the real command.
#include <doctest/doctest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

namespace fs = std::filesystem;

namespace {

// Files in the cache whose names have `part` in them.
int cached(const Sandbox& box, const std::string& part) {
  int count = 0;
  if (!box.has(".cache")) return 0;
  for (const auto& entry : fs::directory_iterator(box / ".cache")) {
    count += entry.path().filename().string().find(part) != std::string::npos;
  }
  return count;
}

// A model so small that the work is in the text.
constexpr const char* kOptions = " --train.steps 1 --train.accumulate 1 --checkpoint.every 0";

}  // namespace

TEST_CASE("texts: a token file whose making was killed is made again, and what is left of it is removed" *
          long_test()) {
  const Sandbox box("gpt");
  box.write("text.txt", box.run("corpus stories --lines 60000").out);
  for (int kill = 0; kill < 3; ++kill) {
    const auto process = box.start("train tiny.toml --out killed" + std::string(kOptions));
    while (process->running() && cached(box, ".tokens.tmp-") == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    process->send(SIGKILL);
    const Outcome outcome = process->wait();
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == -1);
    CHECK(cached(box, ".tokens.tmp-") == 1);
    CHECK(cached(box, ".tokens") == 1);
  }
  box.train("run", kOptions);
  CHECK(cached(box, ".tmp-") == 0);
  CHECK(cached(box, ".tokens") == 2);
}

TEST_CASE("texts: standard input trains as a file does, and resumes with the same text") {
  const Sandbox box("gpt");
  const std::string text = box.read("text.txt");
  box.train("file", "--train.steps 4");
  const Outcome piped = box.succeed("train tiny.toml --out piped --train.steps 4 --data.text -", {}, text);
  INFO(piped.err);
  const std::string model = "/checkpoints/step-000004/model.safetensors";
  CHECK((box.read("piped" + model) == box.read("file" + model)));
  CHECK(cached(box, "standard-input") == 0);
  CHECK(cached(box, ".tokens") == 2);
  CHECK_FALSE(box.succeed("train --resume piped --train.steps 5", {}, text).tells("another than the run began with"));
  CHECK(box.run("train --resume piped --train.steps 6", {}, text + text).tells("another than the run began with"));
  const Outcome empty = box.run("train tiny.toml --out none --data.text -");
  CHECK(empty.exit_code == 1);
  CHECK(empty.err == "tapeformer: standard input is empty, expected text\n");
}

TEST_CASE("texts: the tokenizer takes files, standard input and JSON lines") {
  const Sandbox box;
  box.write("a.txt", "one two\n");
  box.write("a.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
  REQUIRE(box.run("tokenizer train --vocab 257 --out t.json a.txt").exit_code == 0);
  REQUIRE(box.run("tokenizer train --vocab 257 --out u.json -", {}, "one two\n").exit_code == 0);
  CHECK(box.read("t.json") == box.read("u.json"));
  const std::string one = "78\n77\n68\n", two = "83\n86\n78\n";
  CHECK(box.run("tokenizer encode t.json", {}, "one").out == one);
  CHECK(box.run("tokenizer encode t.json -", {}, "one").out == one);
  CHECK(box.run("tokenizer encode t.json a.jsonl").out == one + "256\n" + two + "256\n");
  CHECK(box.run("tokenizer encode t.json --document mark", {}, "one<|endoftext|>two").out ==
        one + "256\n" + two + "256\n");
  CHECK(box.run("tokenizer encode t.json --lines", {}, "one\n\ntwo\n").out == "78 77 68\n\n83 86 78\n");
  CHECK(box.run("tokenizer info t.json a.jsonl").out.find("6 bytes, 8 tokens") != std::string::npos);
}

TEST_CASE("texts: what cannot be read is said in one line, and leaves nothing") {
  const Sandbox box("gpt");
  const auto refused = [&](const std::string& text, const std::string& message) {
    const Outcome outcome = box.run("train tiny.toml --out none --data.text " + text);
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.err == "tapeformer: " + message + "\n");
    CHECK_FALSE(box.has("none"));
    CHECK(cached(box, "") == cached(box, "machine.json"));
  };
  const std::string root = fs::canonical(box / ".").string();
  box.write("a.gz", "\x1f\x8b\x08");
  refused("a.gz", root + "/a.gz: truncated: its compressed data ends too soon");
  box.write("a.zst", "plain text");
  refused("a.zst", root + "/a.zst: not Zstandard data, or damaged (Unknown frame descriptor)");
  box.write("a.jsonl", "{\"text\": \"one\"}\n{\"body\": \"two\"}\n");
  refused("a.jsonl", root + "/a.jsonl:2: expected an object with the field \"text\", got fields body");
}

TEST_CASE("texts: what is odd about them is said once, also when the text is in the cache") {
  const Sandbox box("gpt");
  box.write("texts/a.txt", "\xEF\xBB\xBF" + box.read("text.txt"));
  box.write("texts/empty.txt", "");
  for (const std::string name : {"first", "second"}) {
    const Outcome outcome = box.succeed("train tiny.toml --data.text texts --out " + name + kOptions);
    INFO(outcome.err);
    CHECK(outcome.tells("1 file has no text and is skipped: "));
    CHECK(outcome.tells("1 file begins with a byte order mark, which is removed: "));
  }
  box.write("image.bin", std::string(5000, '\0') + box.read("text.txt"));
  CHECK(box.run("tokenizer train --vocab 257 --out t.json image.bin").tells("1 file does not look like text"));
}

TEST_CASE("texts: a validation file that training reads too is told") {
  const Sandbox box("gpt");
  box.write("texts/a.txt", box.read("text.txt"));
  box.write("texts/b.txt", box.read("text.txt"));
  const auto told = [&](const std::string& valid) {
    const Outcome outcome =
        box.run("train tiny.toml --out run --train.steps 1 --data.text texts --data.valid " + valid);
    REQUIRE(outcome.exit_code == 0);
    fs::remove_all(box / "run");
    return outcome.tells("warning: data.valid: " + fs::canonical(box / valid).string() +
                         " is read by the training too, so its loss says nothing about other data");
  };
  CHECK(told("texts/b.txt"));
  CHECK_FALSE(told("text.txt"));
}

TEST_CASE("texts: behind a link, .. is the folder above its target") {
  const Sandbox box("gpt");
  box.write("real/deep/a.txt", "a");
  box.write("real/text.txt", "real text " + box.read("text.txt"));
  fs::create_directory_symlink(box / "real/deep", box / "link");
  box.train("run", "--train.steps 1 --data.text link/../text.txt");
  box.train("same", "--train.steps 1 --data.text real/deep/../text.txt");
  CHECK(box.read("run/config.toml").find("/link/../text.txt\"") != std::string::npos);
  CHECK(box.read("same/config.toml").find("/real/text.txt\"") != std::string::npos);
  const std::string model = "/checkpoints/step-000001/model.safetensors";
  CHECK((box.read("run" + model) == box.read("same" + model)));
}

TEST_CASE("texts: eval reads files, folders and documents as training does" * long_test()) {
  const Sandbox box("gpt");
  const std::string text = box.read("text.txt");
  const std::size_t middle = text.find('\n', text.size() / 2) + 1;
  box.write("valid/a.txt", text.substr(0, middle));
  box.write("valid/b.txt", text.substr(middle));
  box.train("run", "--data.text text.txt --data.document line --data.valid valid --eval.batches 0");
  const auto metrics = box.metrics("run");
  const auto expected = metrics.back();
  REQUIRE(expected.contains("eval_loss"));
  for (const std::string input : {"valid", "valid/*.txt"}) {
    const auto json = json_of(box, "eval run --json --text " + input);
    CHECK(json["tokens"] == expected["eval_tokens"]);
    CHECK(json["loss"].get<double>() == doctest::Approx(expected["eval_loss"].get<double>()).epsilon(1e-6));
    CHECK(json["bits_per_byte"].get<double>() ==
          doctest::Approx(expected["eval_bits_per_byte"].get<double>()).epsilon(1e-6));
  }
}

TEST_CASE("texts: a token file that is cut short while a run reads it is an error") {
  const Sandbox box("gpt");
  const auto process = box.start("train tiny.toml --out run --train.steps 1000000 --eval.every 0");
  while (process->running() && (!box.has("run/metrics.jsonl") || box.read("run/metrics.jsonl").empty())) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  for (const auto& entry : fs::directory_iterator(box / ".cache")) {
    if (entry.path().filename().string().starts_with("train-")) fs::resize_file(entry.path(), 64);
  }
  const Outcome outcome = process->wait();
  INFO(outcome.err);
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.tells(".tokens: the file was cut short: expected "));
}

TEST_CASE("texts: damaged files of the cache are told, and made again") {
  const Sandbox box("gpt");
  const std::string options = "--train.steps 4 --data.text text.txt";
  box.train("run", options);
  int damaged = 0;
  for (const auto& entry : fs::directory_iterator(box / ".cache")) {
    const std::string file = entry.path().filename().string(), name = ".cache/" + file;
    if (file == "machine.json") continue;
    std::string bytes = box.read(name);
    bytes.at(bytes.size() / 2) ^= 1;
    box.write(name, bytes);
    ++damaged;
  }
  CHECK(damaged >= 3);  // the tokenizer, the tokens of both parts, and the summary of a text that is not just written
  const auto train_again = [&](const std::string& name) {
    const Outcome outcome = box.succeed("train tiny.toml --out " + name + " " + options);
    const std::string model = "/checkpoints/step-000004/model.safetensors";
    CHECK((box.read(name + model) == box.read("run" + model)));
    int told = 0;
    for (const std::string& line : lines_in(outcome.err)) {
      told += line.ends_with(" is damaged or of another version: it is made again");
    }
    return told;
  };
  CHECK(train_again("again") == damaged);
  CHECK(train_again("whole") == 0);
}

TEST_CASE("texts: a cache folder that cannot be written is a warning") {
  const Sandbox box("gpt");
  fs::remove_all(box / ".cache");
  box.write(".cache", "a file in its place");
  const Outcome outcome = box.succeed("train tiny.toml --out run" + std::string(kOptions));
  INFO(outcome.err);
  CHECK(outcome.tells("cannot be written ("));
  CHECK(outcome.tells("kept in a temporary folder"));
}

TEST_CASE("texts: bits per byte are withheld where many tokens are unknown, and the share is told") {
  const Sandbox box("gpt");
  std::string text, other;
  for (int i = 0; i < 200; ++i) text += "one two three four\n", other += i % 2 ? "one five\n" : "two three\n";
  box.write("known.txt", text);
  box.write("unknown.txt", other);
  box.train("run", "--data.text known.txt --tokenizer.kind word --tokenizer.vocab 16 --train.steps 2");
  const nlohmann::ordered_json known = json_of(box, "eval run --text known.txt --json"),
                               unknown = json_of(box, "eval run --text unknown.txt --json");
  CHECK_FALSE(known.contains("unknown_share"));
  CHECK(known["bits_per_byte"].get<double>() > 0);
  CHECK(unknown["unknown_share"].get<double>() > 0.05);
  CHECK(unknown["bits_per_byte"].is_null());
  CHECK(box.run("eval run --text unknown.txt").out.find("bits per byte  withheld: ") != std::string::npos);
  const std::string warning = "that the vocabulary does not have: their surprisal is that of <unk>";
  CHECK(box.run("surprisal run --text unknown.txt").tells(warning));
  CHECK_FALSE(box.succeed("surprisal run --text known.txt").tells(warning));
  // A third of the tokens of unknown.txt are: " five", and "two" without a space before it.
  const std::string train = "train tiny.toml --tokenizer.file run/tokenizer.json --train.steps 1 --data.text ";
  const std::string told = " tokens of the training text are words or characters that the vocabulary does not have";
  CHECK(box.succeed(train + "unknown.txt --out foreign").tells(told + ": the model reads <unk>\n"));
  CHECK_FALSE(box.succeed(train + "known.txt --out own").tells(told));
  CHECK(box.succeed(train + "known.txt --data.valid unknown.txt --out other").tells(" tokens of the validation text"));
}

TEST_CASE("texts: a vocabulary that is learned from a sample says so") {
  const Sandbox box;
  std::string text;
  for (int line = 0; line < 150'000; ++line) text += "one two\n";
  box.write("a.txt", text);
  const std::string train = "tokenizer train --vocab 258 a.txt --out t.json --sample ";
  CHECK(box.run(train + "1").tells("258 tokens from at most 1 MiB of 1200000 bytes of text: t.json"));
  CHECK(box.run(train + "2").tells("258 tokens from 1200000 bytes of text: t.json"));
  CHECK(box.run(train + "1 --kind char").tells("7 tokens from 1200000 bytes of text: t.json"));
}
