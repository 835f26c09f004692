// Worked examples from the command line, and those of trained runs.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/cli/sandbox.h"

using Json = nlohmann::ordered_json;

namespace {

// The part of an example with this name.
Json part_of(const Json& example, const std::string& name) {
  for (const Json& part : example["parts"]) {
    if (part.contains("name") && part["name"] == name) return part;
  }
  FAIL(name);
  return {};
}

}  // namespace

TEST_CASE("explain: the list of topics; one as text, as JSON and as a page") {
  const Sandbox box;
  const std::string list = result_of(box, "explain");
  CHECK(list == result_of(box, "explain --list"));
  CHECK(lines_in(list).size() == 14);
  CHECK(list.starts_with("attention   scores, softmax"));
  CHECK(box.run("explain --list --json").json()[1]["options"] == Json{"x"});

  const std::string text = result_of(box, "explain softmax --x", {"1,3 1"});
  CHECK(text.find("softmax  (3)\n  0.1065  0.787  0.1065\n") != std::string::npos);
  const Json json = json_of(box, "explain attention --json");
  CHECK(part_of(json, "weights")["shape"] == Json{2, 4});
  CHECK(part_of(json, "weights")["values"][0][0] == 0.880790558);
  CHECK(result_of(box, "explain attention").find("  q2  0.01799   0.982   2.85e-06  4.953e-07\n") != std::string::npos);
  CHECK(result_of(box, "explain positions").find("\n  ▒█▒█▒█") != std::string::npos);
  CHECK(result_of(box, "explain gelu --html page.html").empty());
  CHECK(box.read("page.html").find("<title>GELU (Hendrycks &amp; Gimpel 2016)</title>") != std::string::npos);
  check_errors(box, kUsage,
               {{"explain --list softmax", "explain: expected a topic, or --list alone"},
                {"explain --html new.html", "explain: expected a topic, or --list alone"},
                {"explain gelu --html new.html --q 1", "explain: gelu: expected --x, got --q"}});
}

TEST_CASE("explain: of a language model, the four terms of (E+P)(E+P), the perplexity of a text, and the cache") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 6 --train.matmul highest");
  const Json positions = json_of(box, "explain positions --json --run run --text", {"at a"});
  CHECK(part_of(positions, "token to place, E Pᵀ")["rows"] == Json{"a", "t", "␣", "a"});
  const Json tokens = part_of(positions, "token to token, E Eᵀ")["values"];
  CHECK(tokens[0][0] == tokens[3][0]);  // the same letter
  CHECK(part_of(positions, "place to place, P Pᵀ")["values"][0][0] !=
        part_of(positions, "place to place, P Pᵀ")["values"][3][0]);
  CHECK(part_of(positions, "(E+P)(E+P)ᵀ and the sum of its terms: largest difference")["values"] < 1e-5);

  // E has the factor by which the model multiplies its embeddings.
  const auto token_term = [&](const std::string& run) {
    const Json json = json_of(box, "explain positions --json --text a --run " + run);
    return part_of(json, "token to token, E Eᵀ")["values"][0][0].get<double>();
  };
  box.train("plain", "--train.steps 1 --optimizer.lr 1e-9");
  box.train("scaled", "--train.steps 1 --optimizer.lr 1e-9 --model.embedding_scale 3");
  CHECK(token_term("scaled") == doctest::Approx(9 * token_term("plain")).epsilon(1e-4));

  const Json perplexity = json_of(box, "explain perplexity --json --run run --text", {"at a"});
  const Json surprisal = json_of(box, "surprisal run --json --prompt", {"at a"});
  CHECK(part_of(perplexity, "perplexity")["values"].get<double>() ==
        doctest::Approx(surprisal["perplexity"].get<double>()).epsilon(1e-6));
  CHECK(part_of(perplexity, "nats")["columns"] == Json{"t", "␣", "a"});
  box.write("short.txt", "at a");
  CHECK(part_of(perplexity, "bits per byte")["values"].get<double>() ==
        doctest::Approx(json_of(box, "eval run --text short.txt --json")["bits_per_byte"].get<double>()).epsilon(1e-5));
  // Unknown words have none, as in eval.
  box.train("words", "--train.steps 1 --tokenizer.kind word --tokenizer.vocab 60");
  const std::string unknown = result_of(box, "explain perplexity --run words --text", {"unheard unseen"});
  CHECK(unknown.find("No bits per byte: 2 of 2 tokens") != std::string::npos);

  // 8 tokens · 2 layers · keys and values of 2 heads, 16 wide each, in f32.
  const Json cache = part_of(json_of(box, "explain kv-cache --json --run run"), "a token")["rows"];
  REQUIRE(cache.size() == 1);
  CHECK(cache[0][0] == 8);
  CHECK(cache[0][1] == 8 * 2 * 2 * 32 * 4);
  // A model that keeps within documents reads a single one, whatever its vocabulary.
  box.train("documents", "--train.steps 1 --data.document line --data.within_document true --model.context 256");
  CHECK(part_of(json_of(box, "explain kv-cache --json --run documents"), "a token")["rows"].size() == 5);
  check_error(box, kUsage, "explain positions: --text: expected 1 to 16 tokens, got 20",
              "explain positions --run run --text", {std::string(20, 'a')});
}

TEST_CASE("explain: of a translator, the tree of the search that translate makes; of a tokenizer, its merges") {
  const Sandbox box("transformer");
  box.train("run", "--train.steps 8");
  const Json tree = json_of(box, "explain beam --json --beam 3 --run run --text abc");
  const Json rows = part_of(tree, "finished")["rows"];
  REQUIRE(rows.size() == 3);
  CHECK(rows[0][0].get<std::string>() + "\n" == result_of(box, "translate run --beam 3", {}, "abc\n"));
  const Json nodes = part_of(tree, "tree")["nodes"];
  CHECK(std::ranges::count(nodes, -1, [](const Json& node) { return node["parent"].get<int>(); }) == 6);
  CHECK(nodes[0]["note"] != "dropped");
  CHECK(nodes[5]["note"] == "dropped");
  CHECK(result_of(box, "explain beam").find("\n  ├ sie") != std::string::npos);
  box.write("words.txt", "ab ab abc abc abc abcd abcd");
  CHECK(box.run("tokenizer train --kind bpe --vocab 260 --out bpe.json words.txt").exit_code == 0);
  const Json merges = json_of(box, "explain bpe --json --tokenizer bpe.json --text abcde");
  const Json last = part_of(merges, "encoding")["rows"].back();
  const Json encoded = part_of(merges, "encoded text")["rows"];
  CHECK(last[2] == encoded.size());
  std::string tokens;
  for (const Json& token : encoded) tokens += (tokens.empty() ? "" : " ") + token[0].get<std::string>();
  CHECK(last[1] == tokens);
  CHECK(tokens.starts_with("ab "));
  Json whole = Json::parse(box.read("bpe.json"));
  whole["model"]["merges"] = Json::array();
  whole["model"]["ignore_merges"] = true;
  box.write("whole.json", whole.dump());
  const std::string of_whole = result_of(box, "explain bpe --tokenizer whole.json --text ab");
  CHECK(of_whole.find("No merges lead to this token") != std::string::npos);
  CHECK(of_whole.find("a b") == std::string::npos);
  check_error(box, kUsage, "explain bpe: --tokenizer: expected bpe, got char of run/tokenizer.json",
              "explain bpe --tokenizer run/tokenizer.json");
}
