// What README.md shows is run as it stands, by a shell; training is made short by further options.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "core/text/lines.h"
#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = PROJECT_ROOT;

constexpr const char* kShort =
    " --model.layers 1 --model.heads 2 --model.dim 32 --model.context 64 --tokenizer.vocab 300"
    " --eval.every 0 --eval.batches 1 --eval.bleu_every 0 --train.threads 1";

// The commands of a text, one a line; a line that ends with \ goes on in the next.
std::vector<std::string> commands_in(std::string text) {
  for (std::size_t at; (at = text.find("\\\n")) != text.npos;) text.replace(at, 2, " ");
  std::vector<std::string> commands;
  for (const std::string_view line : tapeformer::split_lines(text)) {
    if (line.starts_with("build/tapeformer ")) commands.emplace_back(line);
  }
  return commands;
}

// The command of a training with options that make it short: two steps, or three seconds where it says minutes.
std::string made_short(std::string command) {
  const std::size_t minutes = command.find("--minutes ");
  if (minutes == command.npos) {
    command.insert(command.find(" --out "), " --train.steps 2");
  } else {
    command.replace(minutes, command.find(' ', minutes + 10) - minutes, "--minutes 0.05");
  }
  return command.insert(command.find(" --out "), kShort);
}

// A sandbox that looks like the project's folder after a build.
struct Checkout : Sandbox {
  Checkout() {
    fs::create_directory(*this / "build");
    fs::create_symlink(TAPEFORMER_BINARY, *this / "build/tapeformer");
    fs::create_symlink(kRoot / "configs", *this / "configs");
  }
  // Runs a shell's command, which must succeed; a training is made short.
  Outcome shell(std::string command) const {
    if (command.find(" --out ") != command.npos && command.find(" train ") != command.npos) {
      command = made_short(std::move(command));
    }
    CAPTURE(command);
    const Outcome outcome = Process(*this / ".", {"/bin/sh", "-c", command}, "").wait();
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    return outcome;
  }
};

// The anchor that web pages give to a Markdown heading.
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : heading.substr(heading.find(' ') + 1)) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-') {
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (c == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

}  // namespace

TEST_CASE("readme: its commands work in their order, for a text of one's own and for translation" * long_test()) {
  const Checkout box;
  box.write("my-text.txt", box.run("corpus stories --lines 60").out);
  box.write("another-text.txt", box.run("corpus stories --lines 10 --seed 2").out);
  for (const auto& [name, seed] : {std::pair{"train", "1"}, {"val", "2"}, {"test", "3"}}) {
    const Sides sides = sides_of(box.run(std::string("corpus numbers --lines 40 --seed ") + seed).out);
    box.write(std::string(name) + ".en", sides.source);
    box.write(std::string(name) + ".de", sides.target);
  }
  const std::string text = read_all(kRoot / "README.md");
  std::set<std::string> words;
  for (const std::string& command : commands_in(text)) {
    box.shell(command);
    words.insert(command.substr(17, command.find(' ', 17) - 17));
  }
  CHECK(words == std::set<std::string>{"train", "generate", "eval", "translate", "bleu"});
  CHECK(box.has("runs/mine/checkpoints/latest"));
  CHECK(tapeformer::count_lines(box.read("test.out")) == 40);
  // In the text between the blocks.
  REQUIRE(text.find("`build/tapeformer train --resume runs/mine`") != text.npos);
  CHECK(box.shell("build/tapeformer train --resume runs/mine").tells("resumed at step "));
}

TEST_CASE("readme: the demo trains, evaluates, and prints what the model writes" * long_test()) {
  const Checkout box;
  const std::string script = read_all(kRoot / "scripts/demo.sh");
  const std::size_t begin = script.find("\necho \"== Training");
  REQUIRE(begin != script.npos);
  const std::string commands = made_short(script.substr(begin));
  const Outcome outcome =
      Process(box / ".", {"/bin/bash", "-c", "set -euo pipefail; run=runs/demo" + commands}, "").wait();
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  CHECK(outcome.out.find("bits per byte") != std::string::npos);
  // A line at least: what has learned little, on a busy machine, may draw the end of the text early.
  CHECK(outcome.out.size() - outcome.out.find("== What it writes") > 40);
}

TEST_CASE("readme: every link leads to a file, and to a heading in it") {
  int links = 0;
  std::vector<std::string> names{"README.md", "CONTRIBUTING.md"};
  for (const auto& entry : fs::directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") names.push_back("docs/" + entry.path().filename().string());
  }
  for (const std::string& name : names) {
    const std::string text = read_all(kRoot / name);
    for (std::size_t at = text.find("]("); at != text.npos; at = text.find("](", at + 1)) {
      const std::string link = text.substr(at + 2, text.find(')', at) - at - 2);
      if (link.starts_with("http")) continue;
      CAPTURE(name);
      CAPTURE(link);
      const std::size_t hash = std::min(link.find('#'), link.size());
      const fs::path path = hash > 0 ? (kRoot / name).parent_path() / link.substr(0, hash) : kRoot / name;
      CHECK(fs::exists(path));
      ++links;
      if (hash == link.size()) continue;
      const std::string target = read_all(path);
      const std::vector<std::string_view> lines = tapeformer::split_lines(target);
      CHECK(std::ranges::any_of(lines, [&](std::string_view line) {
        return line.starts_with("#") && anchor_of(line) == link.substr(hash + 1);
      }));
    }
  }
  CHECK(links > 10);
}

TEST_CASE("readme: the table of configurations has each of them, which trains with the corpora that it names") {
  const Checkout box;
  const std::string text = read_all(kRoot / "docs/configurations.md");
  for (const auto& file : fs::directory_iterator(kRoot / "configs")) {
    if (file.is_directory()) continue;  // studies
    const std::string name = "`configs/" + file.path().filename().string() + "`";
    CHECK_MESSAGE(text.find(name) != text.npos, name);
  }
  REQUIRE(text.find("`--data.corpus sort` or `numbers` too") != text.npos);
  for (const std::string corpus : {"reverse", "dates", "sort", "numbers"}) {
    const std::string config = corpus == "dates" ? "dates" : "reverse";
    box.shell("build/tapeformer train configs/" + config + ".toml --data.lines 200 --data.corpus " + corpus +
              " --out runs/" + corpus);
  }
}
