// The page of surprisal: what it holds, and how a reader uses it.
#include "report/surprisal_page.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/report/browser.h"

using namespace tapeformer;
using Json = nlohmann::ordered_json;

namespace {

SurprisalToken scored(std::string text, double nats) {
  return {std::move(text), TokenScore{.nats = nats, .rank = 3, .likeliest = {{7, 0.5}, {8, 0.25}}}, {" x", "</td>"}};
}

}  // namespace

TEST_CASE("surprisal page: every token with its nats, rank and alternatives; none is read as HTML") {
  const SurprisalText text{"<b>source",
                           {{"First", std::nullopt, {}}, scored("<script>\n", 2.5), scored("\x01\xff", 0)}};
  const std::string page = surprisal_page("title", {text});
  const Json alternatives = Json::array({Json::array({"␣x", 0.5}), Json::array({"</td>", 0.25})});
  const Json texts = data_of(page)["texts"];
  REQUIRE(texts.size() == 1);
  CHECK(texts[0]["source"] == "<b>source");
  CHECK(texts[0]["tokens"] == Json{{"First"}, {"<script>↵", 2.5, 3, alternatives}, {"\\x01\\xFF", 0, 3, alternatives}});
  CHECK(count(page, "<script") == count(surprisal_page("title", {}), "<script"));
  CHECK(count(page, "<b>") == 0);
}

TEST_CASE("surprisal page: a text of 5000 odd tokens has a page, one of 50,001 an error") {
  SurprisalText text;
  for (int i = 0; i < 5000; ++i) text.tokens.push_back(scored(i % 2 ? "\xd7\xa9\xe2\x80\xae" : "\xf0\x9f\x98\x80", 1));
  CHECK(data_of(surprisal_page("long", {text}))["texts"][0]["tokens"].size() == 5000);
  while (text.tokens.size() <= 50'000) text.tokens.push_back({"a", std::nullopt, {}});
  CHECK_THROWS_WITH_AS(surprisal_page("long", {text}),
                       "surprisal: expected at most 50000 tokens for a page, got 50001: take a shorter text, or --json",
                       UsageError);
}

TEST_CASE("surprisal page: a browser colours the tokens, and reads the one that is pointed at") {
  if (!has_browser()) return;
  const std::string script = R"(
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
const spans = document.querySelectorAll(".text span"), panel = document.querySelector(".panel");
tell("tokens", spans.length);
tell("colours", [...spans].map((span) => span.style.background).join("|"));
spans[1].dispatchEvent(new MouseEvent("mouseenter"));
tell("read", panel.textContent);
document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft", bubbles: true}));
tell("left", panel.textContent);
tell("chosen", document.querySelectorAll(".chosen").length);
tell("text", JSON.stringify(document.querySelector(".text").textContent));
tell("mean", document.querySelector("h1 + p").textContent);
)";
  const double ln2 = 0.6931471805599453;
  const SurprisalText text{"", {{"Once", std::nullopt, {}}, scored(" upon", 6 * ln2), scored("\n", 20 * ln2)}};
  const std::string dom = opened(with_script(surprisal_page("A title", {text}), script));
  CHECK(told(dom, "tokens") == "3");
  CHECK(told(dom, "colours") == "|rgba(217, 83, 79, 0.424)|rgba(217, 83, 79, 0.85)");  // 6 of 12 bits; 12 and more
  CHECK(told(dom, "read").find("“␣upon”  4.159 nats, 6 bits, probability 0.01563, rank 3") != std::string::npos);
  CHECK(told(dom, "read").find("␣x0.5") != std::string::npos);
  CHECK(told(dom, "left") == "“Once” has nothing before it, and is not scored.");
  CHECK(told(dom, "chosen") == "1");
  CHECK(told(dom, "text") == "\"Once upon↵\\n\"");
  CHECK(told(dom, "mean").find("2 tokens, 9.011 nats each, perplexity 8192. ") != std::string::npos);
}

TEST_CASE("surprisal page: in a low window the details take a third of it, and do not hide the text") {
  if (!has_browser()) return;
  const std::string script = R"(
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
const panel = document.querySelector(".panel"), spans = [...document.querySelectorAll(".text span")];
const height = () => panel.getBoundingClientRect().height;
tell("empty", height() <= innerHeight / 3);
spans[1].dispatchEvent(new MouseEvent("mouseenter"));
tell("full", height() <= innerHeight / 3);
const covered = panel.getBoundingClientRect().top;
tell("lines", new Set(spans.map((span) => span.getBoundingClientRect()).filter((box) => box.bottom <= covered)
  .map((box) => box.top)).size);
)";
  SurprisalText text;
  for (int i = 0; i < 400; ++i) text.tokens.push_back(scored(" token", 1));
  const std::string dom = opened(with_script(surprisal_page("A title", {text}), script), "800,500");
  CHECK(told(dom, "empty") == "true");
  CHECK(told(dom, "full") == "true");
  CHECK(std::stoi(told(dom, "lines")) >= 4);
}
