// Surprisal with ranks and alternatives, and its page.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/cli/sandbox.h"

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
  box.prepare_tiny_run();
  box.train("run");
  check_tokens(box.run("surprisal run --json --top 7 --prompt", {"Once upon a time"}).json()["tokens"], 7);
  CHECK(box.run("surprisal run --out page.html --prompt", {"Once upon"}).out.find("mean ") != std::string::npos);
  CHECK(box.read("page.html").find("<title>Surprisal</title>") != std::string::npos);
  box.prepare_tiny_translation();
  box.train("translator");
  box.write("source.txt", "abc\nba\n");
  box.write("target.txt", "cba\nab\n");
  const std::string pairs = "surprisal translator --source source.txt --target target.txt ";
  const std::string lines = box.run(pairs + "--json --top 3").out;
  check_tokens(Json::parse(lines.substr(0, lines.find('\n')))["tokens"], 3);
  CHECK(box.run(pairs + "--out pairs.html").exit_code == 0);
  CHECK(box.read("pairs.html").find("\"source\":\"ba\"") != std::string::npos);
}
