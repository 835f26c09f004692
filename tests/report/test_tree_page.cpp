// The pages of trees and of accuracies: what they hold, and how a reader uses them.
#include "report/tree_page.h"

#include "core/error.h"
#include "report/score_page.h"
#include "tests/report/browser.h"
#include "tokenizer/train_tokenizer.h"

using namespace tapeformer;
using Json = nlohmann::ordered_json;

TEST_CASE("tree page: a part's weights are means over its tokens, a word's the sum over its tokens") {
  const std::string_view text = "(S ab c )S";
  const auto letters = train_tokenizer({.kind = "char", .special_tokens = {}}, {&text, 1});
  const std::vector<std::int32_t> source = letters->encode("ab c"), target = letters->encode("(S c");
  // Rows: the tokens of "(S c" and the end; columns: a, b, space, c, end.
  const std::vector<std::vector<double>> weights{
      {1, 0, 0, 0, 0}, {0, 0.5, 0.25, 0, 0.25}, {0, 0, 0, 1, 0}, {0, 0, 0, 0, 1}, {1, 0, 0, 0, 0}};
  const TreeText tree = tree_text(*letters, source, *letters, target, weights);
  CHECK(tree.words == std::vector<std::string>{"ab", "c"});
  CHECK(tree.broken == "(S is not closed");
  REQUIRE(tree.parts.size() == 2);
  CHECK(tree.parts[0].text == "(S");
  CHECK(tree.parts[0].weights[0] == doctest::Approx((1 + 0.75) / 3));
  CHECK(tree.parts[0].weights[1] == doctest::Approx(1.0 / 3));
  CHECK(tree.parts[0].weights[2] == doctest::Approx(0.25 / 3));
  CHECK(tree.parts[1].weights == std::vector<double>{0, 0, 1});
  const std::vector<TreeText> many(
      1000, TreeText{{"a"}, std::vector<TreePart>(200, TreePart{"b", std::vector<double>(6, 0)}), ""});
  CHECK_THROWS_WITH_AS(tree_page("many", many),
                       "trees: expected at most 1000000 weights for a page, got 1200000: take fewer sentences",
                       UsageError);
}

TEST_CASE("tree page: a browser draws the tree, and shows where a bracket looked when it opened and closed") {
  if (!has_browser()) return;
  const auto part = [](std::string text, double first) { return TreePart{std::move(text), {first, 1 - first, 0}}; };
  const TreeText tree{
      {"<b>", "bark"},
      {part("(S", 1), part("(NP", 0.75), part("<b>", 1), part(")NP", 0.25), part("bark", 0), part(")S", 0)},
      ""};
  const TreeText broken{{"a", "b"}, {part("(S", 1), part("a", 1)}, "(S is not closed"};
  const std::string script = R"(
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
const texts = [...document.querySelectorAll("svg text")], panel = document.querySelector(".panel");
tell("drawn", texts.map((text) => text.textContent).join(" "));
tell("lines", document.querySelectorAll("svg line").length);
texts[1].dispatchEvent(new MouseEvent("mouseenter"));
tell("read", panel.textContent);
tell("colours", [...panel.querySelectorAll("span")].map((span) => span.style.background).join("|"));
tell("below", Number(texts[2].getAttribute("y")) > Number(texts[1].getAttribute("y")));
tell("broken", document.querySelector(".broken").textContent);
)";
  const std::string dom = opened(with_script(tree_page("A title", {tree, broken}), script));
  CHECK(told(dom, "drawn") == "S NP &lt;b&gt; bark S a");
  CHECK(told(dom, "lines") == "4");
  CHECK(told(dom, "read") == "(NP looked at: &lt;b&gt; bark (end) )NP looked at: &lt;b&gt; bark (end) ");
  CHECK(told(dom, "colours").starts_with("rgba(47, 126, 216, 0.75)|rgba(47, 126, 216, 0.25)|"));
  CHECK(told(dom, "below") == "true");
  CHECK(told(dom, "broken") == "No tree: (S is not closed");
}

TEST_CASE("tree page: no label is cut or drawn over another, also if it is wider than the words below it") {
  if (!has_browser()) return;
  const auto part = [](std::string text) { return TreePart{std::move(text), {1, 0}}; };
  const TreeText tree{
      {"I"},
      {part("(SENTENCE-WITH-A-LONG-NAME"), part("(NP-SUBJECT-1"), part("I"), part(")NP-SUBJECT-1"), part("(VERB"),
       part("am"), part(")VERB"), part("("), part("x"), part(")"), part("(ADVERBIAL-PHRASE"), part("w"),
       part(")ADVERBIAL-PHRASE"), part(")SENTENCE-WITH-A-LONG-NAME")},
      ""};
  const std::string script = R"(
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
const svg = document.querySelector("svg").getBoundingClientRect();
const boxes = [...document.querySelectorAll("svg text")].map((text) => text.getBoundingClientRect()).filter(({width}) => width > 0);
tell("cut", boxes.filter(({left, right}) => left < svg.left || right > svg.right).length);
tell("over another", boxes.filter((a, i) => boxes.some((b, j) =>
  i !== j && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length);
)";
  const std::string dom = opened(with_script(tree_page("A title", {tree}), script));
  CHECK(told(dom, "cut") == "0");
  CHECK(told(dom, "over another") == "0");
}

TEST_CASE("score page: a browser draws accuracies over the groups, with chance and the optimum") {
  ScoredGroup none{.name = "0", .questions = 4, .right = {1, 2, 3}, .chance = 1, .optimum = 1, .with_optimum = 4};
  ScoredGroup one{.name = "1", .questions = 4, .right = {3, 2, 1}, .chance = 1, .optimum = 3.2, .with_optimum = 4};
  const std::string page = score_page("A title", {none, one});
  const Json groups = data_of(page)["groups"];
  CHECK(groups[1]["accuracy"] == 0.75);
  CHECK(groups[1]["accuracy_per_byte"] == 0.25);
  CHECK(groups[1]["chance"] == 0.25);
  CHECK(groups[1]["optimum"] == 0.8);
  if (!has_browser()) return;
  const std::string script = R"(
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
tell("legend", document.querySelector(".legend").textContent);
tell("drawn", document.querySelectorAll(".chart canvas").length > 0);
tell("row", document.querySelectorAll("tr")[2].textContent);
)";
  const std::string dom = opened(with_script(page, script));
  CHECK(told(dom, "legend") == "the modelbest possiblechance");
  CHECK(told(dom, "drawn") == "true");
  CHECK(told(dom, "row") == "1475.00&nbsp;%50.00&nbsp;%25.00&nbsp;%25.00&nbsp;%80.00&nbsp;%");
}

TEST_CASE(
    "score page: groups that are no numbers are at their places, with their names, which are never read as HTML") {
  if (!has_browser()) return;
  std::vector<ScoredGroup> groups;
  for (const char* const name : {"easy", "<i>hard", "a group with a long name", "1"}) {
    groups.push_back({.name = name, .questions = 4, .right = {1, 2, 3}, .chance = 1, .optimum = 0, .with_optimum = 0});
  }
  const std::string script = R"(
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
tell("ticks", [...document.querySelectorAll(".dygraph-axis-label-x")].map((tick) => tick.textContent).join("|"));
const canvas = document.querySelectorAll(".chart canvas")[1], box = canvas.getBoundingClientRect();
const read = (x) => {
  canvas.dispatchEvent(new MouseEvent("mousemove", {bubbles: true, view: window, clientX: box.left + x, clientY: box.top + 60}));
  return document.querySelector(".reading").textContent;
};
tell("second", read(350));
tell("last", read(box.width - 10));
)";
  const std::string dom = opened(with_script(score_page("A title", groups), script));
  CHECK(told(dom, "ticks") == "easy|&lt;i&gt;hard|a group wit…|1");
  CHECK(told(dom, "second") == "group &lt;i&gt;hard  ·  the model 25 %  ·  chance 25 %");
  CHECK(told(dom, "last").starts_with("group 1  ·  "));
}
