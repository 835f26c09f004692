// What people see at a terminal. The commands run on terminals of their own (pty).
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "cli/terminal/terminal.h"
#include "core/text/utf8.h"
#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

using namespace tapeformer;

namespace {

// What TextOutput writes of bytes that come in these parts.
std::string written(bool terminal, const std::vector<std::string>& parts) {
  const std::ostringstream out;
  std::streambuf* const before = std::cout.rdbuf(out.rdbuf());
  TextOutput output(terminal);
  for (const std::string& part : parts) output.write(part);
  output.finish();
  std::cout.rdbuf(before);
  return out.str();
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("terminal: text comes out whole, and cannot drive a terminal") {
  CHECK(written(true, {"a\xe2", "\x82",
                       "\xac"
                       "b"}) == "a€b");
  CHECK(written(true, {"\x1b]0;title\x07"}) == "\\x1B]0;title\\x07");
  CHECK(written(true, {"\xc2", "\x9b"}) == "\\u009B");
  CHECK(written(true, {"a\xf0\x9f"}) == "a\\xF0\\x9F");
  CHECK(written(true, {"\xff", "\x80", "é"}) == "\\xFF\\x80é");
  CHECK(written(false, {"\x1b[2J\xe2", "\xff"}) == "\x1b[2J\xe2\xff");
}

TEST_CASE("terminal: the line of a training fits in every width, and the next commands follow" * long_test()) {
  const Sandbox box("gpt");
  for (const int columns : {200, 40, 8}) {
    const std::string run = "run" + std::to_string(columns);
    const std::string shown = box.run_on_terminal(columns, "tapeformer train tiny.toml --train.steps 20 --out " + run);
    std::istringstream lines(shown);
    std::string last;  // of the lines that were rewritten in place
    for (std::string line; std::getline(lines, line);) {
      for (std::size_t at = 0; (at = line.find('\r', at)) != line.npos;) {
        const std::size_t end = std::min(line.find("\x1b[K", ++at), line.size());
        const std::string part = line.substr(at, end - at);
        CHECK_MESSAGE(part.size() < static_cast<std::size_t>(columns), part);
        if (part.starts_with("step ")) last = part;
      }
    }
    CHECK(has(last, "step 20/20") == (columns > 8));
    CHECK(has(last, "loss ") == (columns > 8));
    for (const char* part : {"valid ", "tokens/s", " MB", "lr 0.00", "elapsed"})
      CHECK_MESSAGE(has(last, part) == (columns == 200), std::string(part));
    CHECK(has(shown, "\revaluat"));  // while the loss of the validation text is computed
    CHECK(has(shown, "next: tapeformer generate " + run + " --interactive\n"));
  }
}

TEST_CASE("terminal: the line of a training follows a terminal that becomes narrower") {
  const Sandbox box("gpt");
  const std::string shown = box.run_on_terminal(
      120, "tapeformer train tiny.toml --train.steps 1000000 --train.max_minutes 0.02 --eval.every 0 --out run", {},
      40);
  std::vector<std::size_t> widths;
  for (std::size_t at = 0; (at = shown.find("\rstep ", at)) != shown.npos;) {
    const std::size_t end = shown.find("\x1b[K", ++at);
    widths.push_back(end - at);
  }
  REQUIRE(widths.size() > 2);
  CHECK(widths.front() > 60);
  CHECK(widths.back() < 40);
  CHECK(std::ranges::is_sorted(widths, [](std::size_t a, std::size_t b) { return a >= 40 && b < 40; }));
}

TEST_CASE("terminal: --quiet leaves results and warnings, and no progress") {
  const Sandbox box("gpt");
  const std::string shown = box.run_on_terminal(80, "tapeformer train tiny.toml --train.steps 6 --quiet --out run");
  CHECK(shown.starts_with("best validation loss "));
  CHECK(shown.ends_with("curves: run/report.html\nrun: run\n"));
  CHECK_FALSE(has(shown, "step 6/6"));
  const Outcome loud = box.run("train --resume run --train.steps 8");
  CHECK(loud.tells("step 8/8"));
  const Outcome quiet = box.run("train -q --resume run --train.steps 10");
  CHECK(quiet.exit_code == 0);
  CHECK(quiet.err.empty());
}

TEST_CASE("terminal: NO_COLOR has no colours, and a dumb terminal no escape sequences") {
  const Sandbox box("gpt");
  const std::string command = "tapeformer train tiny.toml --train.steps 1 --out ";
  CHECK(has(box.run_on_terminal(80, command + "a"), "\x1b[32m"));
  CHECK_FALSE(has(box.run_on_terminal(80, "NO_COLOR=1 " + command + "b"), "\x1b[3"));
  CHECK_FALSE(has(box.run_on_terminal(80, "TERM=dumb " + command + "c"), "\x1b"));
}

TEST_CASE("terminal: commands that answer lines show how far they are, beside results that go elsewhere") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 1");
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "Once upon\n";
  box.write("lines.txt", lines);
  const std::string shown = box.run_on_terminal(80, "tapeformer embed run < lines.txt > vectors.jsonl");
  CHECK(has(shown, "\n\rembedding line 1  0%  "));
  CHECK(has(shown, "s left\x1b[K"));
  CHECK(shown.ends_with("\r\x1b[K"));  // it is removed at the end
  CHECK(box.run_on_terminal(80, "tapeformer embed run --quiet < lines.txt > quiet.jsonl").empty());
  CHECK(box.read("quiet.jsonl") == box.read("vectors.jsonl"));
}

TEST_CASE("terminal: results cannot drive it, and are written byte for byte elsewhere") {
  const Sandbox box;
  box.write("text.txt", "ab\x1b[2J\xe2\x80\xaexyz\n");
  REQUIRE(box.run("tokenizer train --kind bpe --vocab 270 --out t.json text.txt").exit_code == 0);
  const std::string decode = "tapeformer tokenizer encode t.json < text.txt | tapeformer tokenizer decode t.json";
  CHECK(box.run_on_terminal(80, decode) == "ab\\x1B[2J\\u202Exyz\n");
  CHECK(box.run_on_terminal(80, decode + " > same.txt").empty());
  CHECK(box.read("same.txt") == box.read("text.txt"));
  box.prepare_toy("transformer");
  box.write("pairs.tsv", "a\x1b[2Jb\tab\nba\x1b[2J\tba\n");
  box.train("run\x1b[2J", "--train.steps 1 --tokenizer.kind bpe --tokenizer.vocab 300 --data.valid_fraction 0");
  box.write("source.txt", "a\x1b[2J\n"), box.write("target.txt", "a\x1b[2J\n");
  for (const std::string command : {"surprisal run* --source source.txt --target target.txt --color never",
                                    "report run* --out p\x1b[2J.html", "train --resume run*"}) {
    CAPTURE(command);
    CHECK_FALSE(has(box.run_on_terminal(80, "tapeformer " + command), "\x1b[2J"));
  }
  const std::string info = box.run_on_terminal(80, "tapeformer tokenizer info t.json --text \"$(cat text.txt)\"");
  CHECK(has(info, "\033[30;46m"));  // colours of its own
  CHECK_FALSE(has(info, "\x1b[2J"));
}

TEST_CASE("terminal: names of files cannot drive the terminal through messages") {
  const Sandbox box;
  const Outcome outcome = box.run("eval", {"a\x1b[2J\xe2\x80\xae"
                                           "b",
                                           "--text", "x"});
  CHECK(outcome.exit_code == kFailure);
  CHECK(has(outcome.err, "a\\x1B[2J\\u202Eb"));
  CHECK_FALSE(has(outcome.err, "\x1b"));
}

TEST_CASE("terminal: a typed line that cannot be answered gets a warning, and the next line its answer") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 1");
  const std::string typed = "Once\nß\nOnce\n\x04";
  const std::string warning =
      "char tokenizer: character 'ß' (U+00DF) at byte 0 is not in the vocabulary; a bpe tokenizer takes any bytes\n";
  const std::string encode = "tokenizer encode run/tokenizer.json --lines";
  const std::string ids = result_of(box, encode, {}, "Once\n");
  // What is typed ahead is echoed first.
  CHECK(has(box.run_on_terminal(200, "NO_COLOR=1 tapeformer " + encode, typed),
            ids + "warning: not encoded: " + warning + "\n" + ids));
  CHECK(has(box.run_on_terminal(200, "NO_COLOR=1 tapeformer embed run -q --out vectors.jsonl", typed),
            "warning: embed: line 2: " + warning));
  CHECK(lines_in(box.read("vectors.jsonl")).size() == 2);
  const Outcome piped = box.run(encode, {}, "Once\nß\n");
  CHECK(piped.exit_code == kFailure);
  CHECK(piped.err == "tapeformer: line 2: " + warning);
}
