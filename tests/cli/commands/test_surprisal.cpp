// Surprisal with ranks and alternatives, and its page.
#include <doctest/doctest.h>

#include <cmath>

#include "cli/terminal/surprisal_colors.h"
#include "tests/cli/sandbox.h"

using namespace tapeformer;
using Json = nlohmann::ordered_json;

TEST_CASE("surprisal: --top gives each token's rank and the likeliest tokens, of texts and of translations") {
  const Sandbox box;
  const auto check_tokens = [](const Json& tokens, std::size_t top) {
    for (const Json& token : tokens) {
      if (token["nats"].is_null()) {
        CHECK(token["rank"].is_null());
        CHECK(token["likeliest"].empty());
        continue;
      }
      REQUIRE(token["likeliest"].size() == top);
      const double probability = std::exp(-token["nats"].get<double>());
      const auto rank = token["rank"].get<std::size_t>();
      CHECK(rank >= 1);
      for (std::size_t i = 0; i < top; ++i) {
        const Json& other = token["likeliest"][i];
        const double p = other["probability"].get<double>();
        if (i > 0) CHECK(p <= token["likeliest"][i - 1]["probability"].get<double>());
        if (i + 1 < rank) CHECK(p >= probability);
        if (i + 1 > rank) CHECK(p <= probability);
        CHECK((other["id"] == token["id"]) == (i + 1 == rank));
        if (i + 1 == rank) CHECK(p == doctest::Approx(probability).epsilon(1e-12));
      }
    }
  };
  box.prepare_toy("gpt");
  box.train("run");
  check_error(box, kUsage, "surprisal: --top: expected --json or --out PAGE beside it, got none",
              "surprisal run --top 7 --prompt", {"Once upon"});
  check_error(box, kUsage, "--color excludes --out (see --help)",
              "surprisal run --color always --out new.html --prompt a");
  check_tokens(box.run("surprisal run --json --top 7 --prompt", {"Once upon a time"}).json()["tokens"], 7);
  CHECK(box.run("surprisal run --out page.html --prompt", {"Once upon"}).out.find("mean ") != std::string::npos);
  CHECK(box.read("page.html").find("<title>Surprisal</title>") != std::string::npos);
  box.prepare_toy("transformer");
  box.train("translator");
  box.write("source.txt", "abc\nba\n");
  box.write("target.txt", "cba\nab\n");
  const std::string pairs = "surprisal translator --source source.txt --target target.txt ";
  const std::string lines = box.run(pairs + "--json --top 3").out;
  check_tokens(Json::parse(lines.substr(0, lines.find('\n')))["tokens"], 3);
  CHECK(box.run(pairs + "--out pairs.html").exit_code == 0);
  CHECK(box.read("pairs.html").find("\"source\":\"ba\"") != std::string::npos);
  // What is said of the files is what eval says of them.
  box.write("source.txt", "\xEF\xBB\xBF" + box.read("source.txt"));
  for (const std::string command : {"eval", "surprisal"}) {
    const Outcome marked = box.run(command + " translator --source source.txt --target target.txt --json");
    CHECK(marked.tells("1 file begins with a byte order mark, which is removed: source.txt"));
  }
}

TEST_CASE("surprisal: a terminal shows the text in the colours of its bits") {
  const auto background = [](int shade, const std::string& text) {
    return "\x1b[38;5;16;48;5;" + std::to_string(shade) + "m" + text + "\x1b[0m";
  };
  CHECK(colored_token("ab", std::nullopt) == "ab");
  CHECK(colored_token("ab", 1.99) == "ab");
  CHECK(colored_token("ab", 2) == background(224, "ab"));
  CHECK(colored_token(" a", 9.9) == background(203, " a"));
  CHECK(colored_token("a", 40) == background(196, "a"));
  CHECK(colored_token("a\n\nb", 10) ==
        background(196, "a↵") + "\n" + background(196, "↵") + "\n" + background(196, "b"));
  CHECK(colored_token("\x1b[2J", 0) == "\\x1B[2J");
  CHECK(colored_token("\x1b[2J", 10) == background(196, "\\x1B[2J"));

  const Sandbox box("gpt");
  box.train("run", "--train.steps 20");
  const std::string command = "surprisal run -q --prompt \"Once upon\"";
  const std::string colored = box.run_on_terminal(80, "tapeformer " + command);
  CHECK(colored.starts_with("O"));  // has nothing before it
  CHECK(colored.find("\x1b[38;5;16;48;5;224m") != colored.npos);
  CHECK(colored.find("\nbits:  0 ") != colored.npos);
  const Json json = json_of(box, "surprisal run --json --prompt", {"Once upon"});
  for (const Json& token : json["tokens"]) {
    if (token["bits"].is_null()) continue;
    CHECK(colored.find(colored_token(token["token"].get<std::string>(), token["bits"].get<double>())) != colored.npos);
  }
  const std::string table = box.run("surprisal run --prompt", {"Once upon"}).out;
  CHECK(table.starts_with("   nats    bits  token\n"));
  CHECK(box.run_on_terminal(80, "tapeformer " + command + " --color never") == table);
  CHECK(box.run_on_terminal(80, "NO_COLOR=1 tapeformer " + command) == table);
  CHECK(box.run("surprisal run --color always --prompt", {"Once upon"}).out == colored);
}
