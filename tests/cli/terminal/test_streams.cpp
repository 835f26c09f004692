// Standard streams, pipes in the place of files, and limits of memory, as a shell gives them to the command.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>

#include "core/sanitizers.h"
#include "tests/cli/sandbox.h"

namespace {

// A shell's command line, in which "$0" is the program. It may take a minute.
Outcome run_in_shell(const Sandbox& box, const std::string& script) {
  const std::vector<std::string> words{"/usr/bin/timeout", "60", "/bin/sh", "-c", script, TAPEFORMER_BINARY};
  return Process(box / ".", words, "").wait();
}

}  // namespace

TEST_CASE("results: one that cannot be written is an error of every command") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 2");
  for (const std::string command :
       {"--help", "--version", "train --help", "corpus stories --lines 1000000000",
        "generate run --tokens 3 --prompt a", "generate run --tokens 3 --json", "eval run --text text.txt",
        "surprisal run --prompt abc", "runs .", "info run --json --seconds 0",
        "tokenizer encode run/tokenizer.json text.txt", "embed run --text abc", "gradcheck relu",
        "train --resume run --train.steps 3 --quiet"}) {
    CAPTURE(command);
    const Outcome full = run_in_shell(box, "exec \"$0\" " + command + " >/dev/full");
    CHECK(full.exit_code == kFailure);
    CHECK(full.tells("tapeformer: cannot write to standard output: No space left on device\n"));
    const Outcome closed = run_in_shell(box, "exec \"$0\" " + command + " >&-");
    CHECK(closed.exit_code == kFailure);
    CHECK(closed.tells("tapeformer: cannot write to standard output: Bad file descriptor\n"));
  }
}

TEST_CASE("results: a command whose reader goes away ends quietly, as other programs do") {
  const Sandbox box;
  const Outcome outcome = run_in_shell(box, "{ \"$0\" corpus stories --lines 20000; echo $? > code; } | head -n 1");
  CHECK(std::count(outcome.out.begin(), outcome.out.end(), '\n') == 1);
  CHECK(outcome.err == "");
  CHECK(box.read("code") == std::to_string(128 + SIGPIPE) + "\n");
}

TEST_CASE("streams: a standard input that cannot be read is an error, and not an empty one") {
  const Sandbox box;
  box.write("a.txt", "one two\n");
  box.write("tree.txt", "(S (NP a) (VP b))\n");
  REQUIRE(box.run("tokenizer train --vocab 257 --out t.json a.txt").exit_code == 0);
  for (const std::string input : {"<&-", "< ."}) {
    const std::string reason = input == "<&-" ? "Bad file descriptor" : "Is a directory";
    for (const std::string command : {"decode t.json", "encode t.json", "encode t.json --lines"}) {
      CAPTURE(command + " " + input);
      const Outcome outcome = run_in_shell(box, "exec \"$0\" tokenizer " + command + " " + input);
      CHECK(outcome.exit_code == kFailure);
      CHECK(outcome.out == "");
      CHECK(outcome.tells("tapeformer: cannot read standard input"));
    }
    for (const std::string command : {"bleu --reference a.txt", "score trees --reference tree.txt", "flatten"}) {
      CAPTURE(command + " " + input);
      const Outcome outcome = run_in_shell(box, "exec \"$0\" " + command + " " + input);
      CHECK(outcome.exit_code == kFailure);
      CHECK(outcome.out == "");
      CHECK(outcome.err == "tapeformer: cannot read standard input: " + reason + "\n");
    }
  }
}

TEST_CASE("streams: a standard input that another program has made non-blocking is waited for") {
  const Sandbox box;
  box.write("a.txt", "one two three four\n");
  box.write("tree.txt", "(S (NP a) (VP b))\n");
  REQUIRE(box.run("tokenizer train --vocab 257 --out t.json a.txt").exit_code == 0);
  const auto run = [&](const std::string& file, const std::string& command) {
    return run_in_shell(
        box, "{ sleep 0.5; cat " + file +
                 "; } | perl -MFcntl -e 'fcntl(STDIN, F_SETFL, O_NONBLOCK) or die; exec @ARGV' \"$0\" " + command);
  };
  box.write("ids.txt", result_of(box, "tokenizer encode t.json a.txt"));
  CHECK(run("ids.txt", "tokenizer decode t.json").out == box.read("a.txt"));
  CHECK(run("a.txt", "tokenizer encode t.json").out == box.read("ids.txt"));
  CHECK(run("a.txt", "bleu --reference a.txt").out.find(" = 100.00 ") != std::string::npos);
  CHECK(run("tree.txt", "flatten").out == result_of(box, "flatten", {}, box.read("tree.txt")));
}

TEST_CASE("pipes: commands read texts from them as from files") {
  const Sandbox box("gpt");
  for (const char* name : {"pipe", "other-pipe"}) REQUIRE(::mkfifo((box / name).c_str(), 0600) == 0);
  const auto run = [&](const std::string& feed, const std::string& command) {
    CAPTURE(command);
    const Outcome outcome = run_in_shell(box, feed + " exec \"$0\" " + command);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    return outcome.out;
  };
  const std::string text = "cat text.txt > pipe & ";
  box.train("run", "--train.steps 4");
  run(text, "train tiny.toml --out piped --train.steps 4 --data.text pipe --quiet");
  const std::string model = "/checkpoints/step-000004/model.safetensors";
  CHECK((box.read("piped" + model) == box.read("run" + model)));
  CHECK(run(text, "eval run --text pipe") == result_of(box, "eval run --text text.txt"));
  CHECK((run(text, "surprisal run --text pipe --json") == result_of(box, "surprisal run --text text.txt --json")));
  CHECK(run(text, "tokenizer encode run/tokenizer.json pipe") ==
        result_of(box, "tokenizer encode run/tokenizer.json text.txt"));
  CHECK(run(text + " < text.txt", "bleu --reference pipe").find("100") != std::string::npos);

  box.prepare_toy("transformer");
  box.train("pairs", "--train.steps 4");
  const std::string pairs = box.read("pairs.tsv");
  box.write("source.txt", pairs.substr(0, pairs.find('\t')) + "\n");
  const std::size_t tab = pairs.find('\t');
  box.write("target.txt", pairs.substr(tab + 1, pairs.find('\n') - tab));
  CHECK(run("cat source.txt > pipe & cat target.txt > other-pipe & ", "eval pairs --source pipe --target other-pipe") ==
        result_of(box, "eval pairs --source source.txt --target target.txt"));
}

TEST_CASE("pipes: predict answers a line when it comes, as translate does, for a program that waits for the answer") {
  const Sandbox box("tag");
  box.train("run", "--train.steps 1");
  const Outcome outcome =
      run_in_shell(box,
                   "mkfifo in out; \"$0\" predict run -q < in > out & exec 3> in 4< out; echo 'One day' >&3; "
                   "timeout 20 head -n 2 <&4 > answer; exec 3>&-; wait");
  CHECK(outcome.exit_code == 0);
  CHECK(box.read("answer") + "\n" == result_of(box, "predict run", {}, "One day\n"));  // an empty line ends it
}

#if !defined(TAPEFORMER_ADDRESS_SANITIZER)  // it takes terabytes of address space
TEST_CASE("memory: a limit of the address space that is too low is told before a training begins, and nothing hangs") {
  const Sandbox box("gpt");
  const auto run = [&](int megabytes, const std::string& command) {
    return run_in_shell(box, "ulimit -v " + std::to_string(1000 * megabytes) + "; exec \"$0\" " + command);
  };
  for (const std::string command : {"--version", "--help", "tokenizer --help", "corpus stories --lines 3", "runs ."}) {
    CAPTURE(command);
    CHECK(run(150, command).exit_code == 0);
  }
  for (const int megabytes : {200, 300, 400}) {
    CAPTURE(megabytes);
    const Outcome outcome = run(megabytes, "train tiny.toml --out run --train.threads 4 --train.matmul highest");
    CHECK(outcome.exit_code == kFailure);
    CHECK(outcome.tells("tapeformer: not enough memory: matrix products of 4 threads take 536 MB of address space"));
    CHECK(outcome.tells(", and the limit (ulimit -v) is " + std::to_string(megabytes * 1000 * 1024 / 1'000'000) +
                        " MB\n"));
    CHECK_FALSE(box.has("run"));
  }
  CHECK(run(900, "train tiny.toml --out run --train.threads 4 --train.matmul highest --train.steps 2").exit_code == 0);
  for (const std::string command : {"info tiny.toml --seconds 0.05", "train tiny.toml --out low --train.steps 2"}) {
    CAPTURE(command);
    CHECK(run(150, command + " --train.threads 1 --train.matmul medium").exit_code == 0);  // none by OpenBLAS
  }
}
#endif
