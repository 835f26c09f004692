// The page of attention: its numbers, what it shows of odd tokens, and how a reader uses it.
#include "report/attention_page.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/report/browser.h"

using namespace tapeformer;
using Json = nlohmann::ordered_json;

namespace {

// Two layers of two heads; the weights of layer l, head h from query i to key j are 0.1 l + 0.01 h + 0.001 i + 0.0001
// j.
AttentionText numbered(std::vector<std::string> queries, std::vector<std::string> keys, const char* name = "self") {
  const std::int64_t rows = std::ssize(queries), columns = std::ssize(keys);
  AttentionMap map{name, {}, {}};
  for (int layer = 0; layer < 2; ++layer) {
    std::vector<double> weights, outputs;
    for (int head = 0; head < 2; ++head) {
      for (int i = 0; i < rows; ++i) {
        outputs.push_back(layer + head + 0.5 * i);
        for (int j = 0; j < columns; ++j) weights.push_back(0.1 * layer + 0.01 * head + 0.001 * i + 0.0001 * j);
      }
    }
    map.weights.push_back(Tensor::from(std::span<const double>(weights), {2, rows, columns}));
    map.outputs.push_back(Tensor::from(std::span<const double>(outputs), {2, rows}));
  }
  return {std::move(map), std::move(queries), std::move(keys)};
}

// Returns such a text with a lens, two heads in this stack and one in another, and losses by position.
AttentionText with_insight(const std::vector<std::string>& tokens) {
  AttentionText text = numbered(tokens, tokens);
  for (int layer = 0; layer < 3; ++layer) {
    text.lens.push_back({{{{" b", 0.5}, {"a", 0.25}}, 1.2345}, {{{"a", 0.125}}, std::nullopt}});
  }
  HeadStudy study;
  study.heads = {{.index = {"self", 1, 1}, .loss_rise = 2.0 / 3, .scores = {.previous = 0.1234}},
                 {.index = {"cross", 0, 0}, .loss_rise = 0.5},
                 {.index = {"self", 0, 1}, .loss_rise = 0.25}};
  add_heads(text, study);
  text.by_position = breakdown_by_position(9);
  std::vector<LossBin>& bins = text.by_position->bins;  // 1, 2, 3–4, 5–8, 9
  bins[0].tokens = 4, bins[0].nats = 5, bins[0].right = 1;
  bins[2].tokens = 3, bins[2].nats = 2, bins[2].right = 2;
  return text;
}

}  // namespace

TEST_CASE("attention page: the JSON has every weight and every norm, at its place") {
  const Json json = attention_json({numbered({"a", "b"}, {"x", "y", "z"}, "cross")}, 9);
  REQUIRE(json.size() == 1);
  CHECK(json[0]["name"] == "cross");
  CHECK(json[0]["queries"] == Json{"a", "b"});
  CHECK(json[0]["keys"] == Json{"x", "y", "z"});
  const Json& head = json[0]["layers"][1]["heads"][1];
  CHECK(head["weights"] == Json{{0.11, 0.1101, 0.1102}, {0.111, 0.1111, 0.1112}});
  CHECK(head["output"] == Json{2, 2.5});
  AttentionText without = numbered({"a"}, {"x"});
  without.map.outputs.clear();
  CHECK(!attention_json({without}, 9)[0]["layers"][0]["heads"][0].contains("output"));
}

TEST_CASE("attention page: the lens, the heads of a stack and losses by position are in the JSON and on the page") {
  AttentionText text = with_insight({"a", " b"});
  const Json json = attention_json({text}, 3)[0];
  CHECK(json["lens"].size() == 3);
  CHECK(json["lens"][1][0] == Json::parse(R"({"likeliest": [[" b", 0.5], ["a", 0.25]], "nats": 1.23})"));
  CHECK(json["lens"][1][1]["nats"].is_null());
  CHECK(json["heads"].size() == 2);
  CHECK(json["heads"][0]["head"] == "1.1");
  CHECK(json["heads"][0]["loss_rise"] == 0.667);
  CHECK(json["heads"][0]["previous"] == 0.123);
  CHECK(json["heads"][0]["induction"].is_null());
  CHECK(json["by_position"].size() == 5);
  CHECK(json["by_position"][2] ==
        Json::parse(R"({"first": 3, "last": 4, "tokens": 3, "accuracy": 0.667, "loss": 0.667})"));
  const Json shown = data_of(attention_page("title", {text}))["maps"][0];
  CHECK(shown["lens"][1][0]["likeliest"][0][0] == "␣b");
  CHECK(!attention_json({numbered({"a"}, {"x"})}, 3)[0].contains("lens"));
  CHECK(!attention_json({numbered({"a"}, {"x"})}, 3)[0].contains("heads"));
  CHECK(!attention_json({numbered({"a"}, {"x"})}, 3)[0].contains("by_position"));
}

TEST_CASE("attention page: tokens can be seen and are never read as HTML, in the page and in a picture") {
  const std::vector<std::string> odd{" <b>\n", "</script><script>alert(1)</script>", "\xff\x01\t", "\xd7\xa9\"&"};
  const std::string page = attention_page("<i>title", {numbered(odd, odd)});
  const std::string plain = attention_page("title", {numbered({"a"}, {"a"})});
  for (const std::string_view part : {"<script", "</script", "<b>", "<i>"}) {
    CAPTURE(part);
    CHECK(count(page, part) == count(plain, part));
  }
  const Json data = data_of(page);
  CHECK(data["maps"][0]["queries"] ==
        Json{"␣<b>↵", "</script><script>alert(1)</script>", "\\xFF\\x01⇥", "\xd7\xa9\"&"});
  const std::string svg = attention_svg(numbered(odd, odd), 0, 1);
  CHECK(svg.find(">␣&lt;b&gt;↵<") != svg.npos);
  CHECK(svg.find("<script") == svg.npos);
  CHECK(count(svg, "<rect") == 16);
  CHECK(svg.find("fill-opacity=\"0.013\"") != svg.npos);
}

TEST_CASE("attention page: a text that is too long for a page, and a head that is not there, are errors") {
  const std::vector<std::string> tokens(708, "a");  // 4·708² weights
  CHECK_THROWS_WITH_AS(attention_page("long", {numbered(tokens, tokens)}),
                       "attention: expected a text with at most 2000000 weights in all heads for a page, got 2005056: "
                       "take a shorter one, or --json",
                       UsageError);
  const AttentionText text = numbered({"a"}, {"x"});
  CHECK_THROWS_WITH_AS(attention_svg(text, 2, 0), "attention: layer: expected 0 to 1, got 2", UsageError);
  CHECK_THROWS_WITH_AS(attention_svg(text, 0, -1), "attention: head: expected 0 to 1, got -1", UsageError);
}

TEST_CASE("attention page: a browser shows all heads, reads a weight, and goes to the next head by a key") {
  if (!has_browser()) return;
  const std::string script = R"(
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
const title = () => document.querySelector("h2").textContent;
const key = (name) => document.body.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
tell("heads", document.querySelectorAll(".grid button").length);
tell("first", title());
key("ArrowLeft"); key("ArrowDown");
tell("at the edge", title());
key("ArrowUp"); key("ArrowRight");
tell("moved", title());
document.querySelectorAll("svg rect")[1].dispatchEvent(new MouseEvent("mouseenter"));
tell("read", document.querySelector(".reading").textContent);
document.querySelectorAll(".grid button")[2].click();
tell("mean", title());
document.querySelectorAll("svg rect")[0].dispatchEvent(new MouseEvent("mouseenter"));
tell("mean read", document.querySelector(".reading").textContent);
document.querySelectorAll(".grid button")[7].click();
document.querySelectorAll("svg rect")[0].dispatchEvent(new MouseEvent("mouseenter"));
tell("rollout", document.querySelector(".reading").textContent);
const cells = document.querySelectorAll(".lens td");
tell("lens cells", cells.length);
cells[4].dispatchEvent(new MouseEvent("mouseenter"));
tell("lens", document.querySelectorAll(".reading")[1].textContent);
tell("lens mean", cells[5].textContent);
tell("ranked", [...document.querySelectorAll("table:not(.grid):not(.lens) td:first-child")].map((td) => td.textContent).join(" "));
const curve = document.querySelector("svg .curve").closest("svg");
tell("positions", [...curve.querySelectorAll("text")].map((text) => text.textContent).join(" "));
)";
  const std::string page = attention_page("A title", {with_insight({"a", "b"})});
  const std::string dom = opened(with_script(page, script));
  CHECK(told(dom, "heads") == "8");  // two heads, the mean and the rollout of two layers
  CHECK(told(dom, "first") == "Layer 1, head 0");
  CHECK(told(dom, "at the edge") == "Layer 1, head 0");
  CHECK(told(dom, "moved") == "Layer 0, head 1");
  CHECK(told(dom, "read") == "“a” looks at “b” with 0.0101");
  CHECK(told(dom, "mean") == "Layer 0, mean");
  CHECK(told(dom, "mean read") == "“a” looks at “a” with 0.005");
  CHECK(told(dom, "lens cells") == "9");  // two positions and the mean of three layers
  CHECK(told(dom, "lens") == "layer 0, at “b”: “a” 0.125");
  CHECK(told(dom, "lens mean") == "1.23");
  CHECK(told(dom, "ranked") == "1.1 0.1");
  CHECK(told(dom, "positions") == "1.25 1 0.667 3–4");
  // ((M1 + 1)/2)((M0 + 1)/2) at (a, a), with the means M0 = (0.005, 0.0051; 0.006, 0.0061), M1 = M0 + 0.1.
  const double expected = (1.105 * 1.005 + 0.1051 * 0.006) / 4;
  const std::string rollout = told(dom, "rollout");
  CHECK(std::stod(rollout.substr(rollout.rfind(' '))) == doctest::Approx(expected).epsilon(1e-6));
}

TEST_CASE("attention page: long names of tokens are not cut at the edges of the page's drawings and of a picture") {
  const std::vector<std::string> tokens{"a", "internationalisation"};
  const std::string svg = attention_svg(numbered(tokens, tokens), 0, 0);
  CHECK(svg.find("viewBox=\"0 0 286 210\"") != svg.npos);  // 160 pixels on the left and above, 80 more on the right
  if (!has_browser()) return;
  const std::string script = R"(
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
const cut = () => [...document.querySelectorAll("svg text")].filter((text) => {
  const inner = text.getBoundingClientRect(), outer = text.closest("svg").getBoundingClientRect();
  return inner.left < outer.left || inner.right > outer.right || inner.top < outer.top;
}).length;
tell("head", cut());
document.querySelectorAll(".grid button")[2].click();
tell("mean", cut());
)";
  const std::string dom = opened(with_script(attention_page("A title", {numbered(tokens, tokens)}), script));
  CHECK(told(dom, "head") == "0");
  CHECK(told(dom, "mean") == "0");
}
