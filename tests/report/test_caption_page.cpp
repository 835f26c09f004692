// The page of captions: what it holds, and what a reader sees.
#include "report/caption_page.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/report/browser.h"

using namespace tapeformer;

namespace {

WrittenCaption written_caption(std::string caption, std::string reference) {
  WrittenCaption written{
      "<b>.png", {2, 2, {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7}}, std::move(caption), std::move(reference), {}};
  written.attention = {{"red", "square"}, {{0.5, 0.25, 0.125, 0.125}, {0, 0, 0, 1}}, 2};
  return written;
}

}  // namespace

TEST_CASE("caption page: it holds the pixels, the words and the weights, and none is read as HTML") {
  const std::string page = caption_page("title", {written_caption("red square", "<i>blue")}, {});
  const nlohmann::ordered_json caption = data_of(page)["captions"][0];
  CHECK(caption["rgb"] == "ff000000ff000000ff090807");
  CHECK(caption["words"][0]["weights"].dump() == "[[0.5,0.25],[0.125,0.125]]");
  CHECK(caption["reference"] == "<i>blue");
  CHECK(count(page, "<b>") + count(page, "<i>") == 0);
  WrittenCaption spaced = written_caption(" square", "red");
  spaced.attention.words[0] = "";
  const nlohmann::ordered_json words = caption_json(spaced)["words"];
  REQUIRE(words.size() == 1);
  CHECK(words[0]["word"] == "square");
  CHECK(words[0]["weights"][1][1] == 1);
  WrittenCaption large = written_caption("a", "b");
  large.image = {1500, 1400, std::vector<std::uint8_t>(3 * 1500 * 1400)};
  CHECK_THROWS_WITH_AS(caption_page("large", {large}, {}),
                       "caption: expected at most 2000000 pixels for a page, got 2100000: take fewer images, or --json",
                       UsageError);
}

TEST_CASE("caption page: a browser draws each word's image, darker where the model did not look") {
  if (!has_browser()) return;
  const std::string script = R"(
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
const shown = document.querySelectorAll(".words canvas"), words = document.querySelectorAll(".words figcaption");
const pixels = (canvas) => canvas.getContext("2d").getImageData(0, 0, 2, 2).data;
const first = pixels(shown[0]), second = pixels(shown[1]);
const pixel = (data, i) => [...data.slice(4 * i, 4 * i + 3)].join(",");
tell("words", [...words].map((word) => word.textContent).join("|"));
tell("looked", pixel(first, 0));
tell("half", pixel(first, 1));
tell("not", pixel(second, 0));
tell("wrong", document.querySelectorAll(".wrong").length);
tell("summary", document.querySelector("h1 + p").textContent);
)";
  const std::string page = caption_page(
      "A title", {written_caption("red square", "red square"), written_caption("red square", "blue square")},
      {.written = 2, .right = 1});
  const std::string dom = opened(with_script(page, script));
  CHECK(told(dom, "words") == "red|square|red|square");
  CHECK(told(dom, "looked") == "255,0,0");
  CHECK(told(dom, "half") == "0,153,0");  // 1 − 0.8·(1 − 0.5) of 255
  CHECK(told(dom, "not") == "51,0,0");
  CHECK(told(dom, "wrong") == "1");
  CHECK(told(dom, "summary").starts_with("2 captions, 1 of them exactly as given. Beside each image"));
  const std::string mistakes =
      caption_page("Mistakes", {written_caption("red square", "blue square")}, {.written = 9, .right = 8});
  CHECK(told(opened(with_script(mistakes, script)), "summary")
            .starts_with("9 captions, 8 of them exactly as given; the other 1 are below."));
}
