// Attention from the command line: a page, a picture, numbers, and what refuses.
#include <doctest/doctest.h>

#include "tests/cli/sandbox.h"

using Json = nlohmann::ordered_json;

TEST_CASE("attention: every layer and head of a language model, as JSON, as a page and as a picture") {
  const Sandbox box("gpt");
  box.train("run");
  const Json maps = box.run("attention run --json --text Once").json();
  REQUIRE(maps.size() == 1);
  const std::size_t tokens = maps[0]["queries"].size();
  CHECK(maps[0]["queries"] == maps[0]["keys"]);
  for (const Json& layer : maps[0]["layers"]) {
    for (const Json& head : layer["heads"]) {
      REQUIRE(head["weights"].size() == tokens);
      REQUIRE(head["output"].size() == tokens);
      for (const Json& row : head["weights"]) {
        double sum = 0;
        for (const Json& weight : row) sum += weight.get<double>();
        CHECK(sum == doctest::Approx(1).epsilon(1e-6));
      }
    }
  }
  CHECK(box.run("attention run --out page.html --text", {"Once upon"}).exit_code == 0);
  CHECK(box.read("page.html").find("<title>Attention: Once upon</title>") != std::string::npos);
  CHECK(box.run("attention run --out head.svg --head 0.0 --text Once").exit_code == 0);
  CHECK(box.read("head.svg").starts_with("<svg "));
  check_errors(box, kUsage,
               {
                   {"attention run --text Once", "attention: expected --out or --json"},
                   {"attention run --text Once --head 3 --out new.svg",
                    "attention: --head: expected LAYER.HEAD, such as 3.5, got 3"},
                   {"attention none --text Once --head 0.+0 --out new.svg",
                    "attention: --head: expected LAYER.HEAD, such as 3.5, got 0.+0"},
                   {"attention run --text Once --head 0.0 --out new.html",
                    "attention: --head writes a picture: expected --out FILE.svg, got new.html"},
                   {"attention run --text Once --head 0.0 --lens --out new.svg",
                    "attention: --lens, --heads and --by-position: expected a page or --json, got the picture of "
                    "--head"},
                   {"attention run --text Once --out new.svg",
                    "attention: without --head it writes a page: expected --out FILE.html, got new.svg"},
               });
  for (const std::string head : {"3", "9.0"}) {
    CHECK(box.run("attention run --text Once --json --out new.svg --head " + head).out == "");
  }
  CHECK_FALSE(box.has("new.html"));
  CHECK_FALSE(box.has("new.svg"));
  check_error(box, kUsage, "attention: expected a text, got none", "attention run --json");
  check_error(box, kUsage, "attention: expected --text for this model, got --source or --target",
              "attention run --json --source a");
  check_error(box, kUsage, "attention: expected a text of at most …", "attention run --json --text",
              {std::string(5000, 'a')});
}

TEST_CASE("attention: of an encoder-decoder, the target is the model's translation or a given one") {
  const Sandbox box("transformer");
  box.train("run");
  const Json given = box.run("attention run --json --source abc --target cb").json();
  REQUIRE(given.size() == 3);
  CHECK(given[0]["name"] == "encoder");
  CHECK(given[0]["queries"] == Json{"a", "b", "c", "</s>"});
  CHECK(given[1]["queries"] == Json{"<s>", "c", "b"});
  CHECK(given[2]["name"] == "cross");
  CHECK(given[2]["queries"] == Json{"c", "b", "</s>"});
  CHECK(given[2]["keys"] == given[0]["queries"]);
  const std::string translation = box.run("translate run", {}, "abc\n").out;
  std::string target;
  const Json own = box.run("attention run --json --source abc").json();
  for (const Json& token : own[2]["queries"]) target += token.get<std::string>();
  CHECK(target == translation.substr(0, translation.size() - 1) + "</s>");
  check_error(box, kUsage, "attention: expected --source for this model", "attention run --json --text abc");
  check_error(box, kUsage, "--text excludes --source (see --help)", "attention run --json --text abc --source abc");
}
