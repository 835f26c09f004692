// The page of vectors: its numbers, and how a reader uses it.
#include "report/embedding_page.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "report/principal_components.h"
#include "tests/report/browser.h"

using namespace tapeformer;
using Json = nlohmann::ordered_json;

namespace {

Tensor matrix(const std::vector<float>& values, std::int64_t rows) {
  return Tensor::from(std::span(values), {rows, std::ssize(values) / rows});
}

}  // namespace

TEST_CASE("principal components: points of a plane keep their distances, and the larger spread comes first") {
  // 40 points (4 cos, sin) in the plane of two directions at right angles in R^5, moved by a constant.
  const std::array<double, 5> u{0.5, 0.5, 0.5, 0.5, 0}, v{0.5, -0.5, 0.5, -0.5, 0};
  std::vector<float> values;
  std::vector<std::array<double, 2>> points;
  for (int i = 0; i < 40; ++i) {
    const double angle = 2 * M_PI * i / 40;
    points.push_back({4 * std::cos(angle), std::sin(angle)});
    for (int j = 0; j < 5; ++j) values.push_back(static_cast<float>(points[i][0] * u[j] + points[i][1] * v[j] + j));
  }
  const PrincipalComponents found = principal_components(matrix(values, 40));
  for (int i = 0; i < 40; ++i) {
    for (int axis = 0; axis < 2; ++axis)
      CHECK(std::abs(found.coordinates[i][axis]) == doctest::Approx(std::abs(points[i][axis])).epsilon(1e-5));
    for (int j = 0; j < i; ++j) {
      const auto distance = [](const auto& a, const auto& b) { return std::hypot(a[0] - b[0], a[1] - b[1]); };
      CHECK(distance(found.coordinates[i], found.coordinates[j]) ==
            doctest::Approx(distance(points[i], points[j])).epsilon(1e-5));
    }
  }
  CHECK(found.coordinates[0][0] > 0);
  CHECK(found.shares[0] == doctest::Approx(16.0 / 17).epsilon(1e-5));
  CHECK(found.shares[1] == doctest::Approx(1.0 / 17).epsilon(1e-4));

  const PrincipalComponents one = principal_components(matrix({1, 2, 3}, 1));
  CHECK(one.coordinates == std::vector<std::array<double, 2>>{{0, 0}});
  CHECK(one.shares[0] == 0);
  const PrincipalComponents same = principal_components(matrix({1, 2, 1, 2}, 2));
  CHECK(same.coordinates[0] == same.coordinates[1]);
}

TEST_CASE("embedding page: places, cosines and positions; no label is read as HTML") {
  const Tensor vectors = matrix({3, 0, 0, 2, 0, 0, 3, 4}, 4),
               positions = matrix(std::vector<float>(200 * 600, 0.25f), 200);
  const std::vector<std::string> labels{"<script>", " b", "zero", "\x1b\xe2\x80\xae"};
  const std::string page = embedding_page("<b>title", labels, vectors, positions);
  const Json data = data_of(page);
  CHECK(data["labels"] == Json{"<script>", " b", "zero", "\\x1B\\u202E"});
  CHECK(data["cosines"] == Json::parse("[[1.0],[0.0,1.0],[null,null,null],[0.6,0.8,null,1.0]]"));
  CHECK(data["places"].size() == 4);
  CHECK(data["positions"]["length"] == 200);
  CHECK(data["positions"]["dim"] == 600);
  CHECK(data["positions"]["values"].size() == 128);
  CHECK(data["positions"]["values"][0].size() == 512);
  CHECK(count(page, "<b>") == 0);
  CHECK(count(page, "<script") == count(embedding_page("", {"a"}, matrix({1, 2}, 1), {}), "<script"));
  CHECK_FALSE(data_of(embedding_page("", {"a"}, matrix({1, 2}, 1), {})).contains("positions"));
  CHECK_THROWS_WITH_AS(embedding_page("", {}, matrix(std::vector<float>(602, 1), 301), {}),
                       "embed: expected at most 300 vectors for a page, got 301: take fewer, or --format npy",
                       UsageError);
}

TEST_CASE("embedding page: a browser chooses texts, reads squares, hides labels and zooms") {
  if (!has_browser()) return;
  const std::string script = R"(
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
const svg = document.querySelector(".map"), canvases = document.querySelectorAll("canvas");
const chosen = () => svg.querySelector(".chosen text").textContent;
tell("points", svg.querySelectorAll("g").length);
tell("first", chosen());
svg.querySelectorAll("g")[0].dispatchEvent(new MouseEvent("mouseenter"));
svg.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
tell("next", chosen());
tell("nearest", document.querySelector(".both table").textContent);
document.querySelector("input").click();
tell("bare", svg.classList.contains("bare"));
const before = svg.querySelector("g").getAttribute("transform");
svg.dispatchEvent(new WheelEvent("wheel", {deltaY: -1, clientX: 5, clientY: 5}));
tell("zoomed", before !== svg.querySelector("g").getAttribute("transform"));
svg.dispatchEvent(new MouseEvent("dblclick"));
tell("back", before === svg.querySelector("g").getAttribute("transform"));
const point = (canvas, x, y) => {
  const box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new MouseEvent("mousemove", {clientX: box.left + x * box.width, clientY: box.top + y * box.height}));
};
point(canvases[0], .9, .1);
point(canvases[1], .75, .75);
tell("squares", [...document.querySelectorAll(".reading")].map((one) => one.textContent).join("|"));
)";
  const Tensor vectors = matrix({3, 0, 0, 2, 3, 4}, 3), positions = matrix({0, 1, -1, 0.5f}, 2);
  const std::string dom = opened(with_script(embedding_page("Vectors", {"a", "b", "c"}, vectors, positions), script));
  CHECK(told(dom, "points") == "3");
  CHECK(told(dom, "first") == "a");
  CHECK(told(dom, "nearest").find("cosine") != std::string::npos);
  CHECK(told(dom, "next") != told(dom, "first"));
  CHECK(told(dom, "bare") == "true");
  CHECK(told(dom, "zoomed") == "true");
  CHECK(told(dom, "back") == "true");
  CHECK(told(dom, "squares") == "“a” and “c”: 0.6|position 1, dimension 1: 0.5");
}

TEST_CASE("embedding page: the map follows the pointer, also in a window that shows it smaller") {
  if (!has_browser()) return;
  const std::string script = R"(
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
const svg = document.querySelector(".map"), left = () => svg.querySelector("circle").getBoundingClientRect().left;
const before = left();
svg.dispatchEvent(new PointerEvent("pointermove", {buttons: 1, movementX: 40, movementY: 0}));
tell("small", svg.getBoundingClientRect().width < 600);
tell("moved", Math.round(left() - before));
)";
  const std::string page = embedding_page("Vectors", {"a", "b"}, matrix({1, 2, 2, 1}, 2), {});
  const std::string dom = opened(with_script(page, script), "500,900");
  CHECK(told(dom, "small") == "true");
  CHECK(told(dom, "moved") == "40");
}

TEST_CASE("embedding page: no label lies on another one or on a point, also where points are near to each other") {
  if (!has_browser()) return;
  const std::string script = R"(
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
const svg = document.querySelector(".map");
const visible = () => [...svg.querySelectorAll("text")].filter((text) => getComputedStyle(text).visibility === "visible");
function overlaps() {
  const boxes = [...visible(), ...svg.querySelectorAll("circle")].map((one) => one.getBoundingClientRect());
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  const labels = visible().length;
  return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => i < labels && !apart(a, b))).length;
}
const outside = () => {
  const map = svg.getBoundingClientRect();
  return visible().map((text) => text.getBoundingClientRect())
    .filter((box) => box.left < map.left || box.right > map.right || box.top < map.top || box.bottom > map.bottom).length;
};
tell("shown", visible().length);
tell("overlaps", overlaps());
svg.querySelectorAll("g")[2].dispatchEvent(new MouseEvent("mouseenter"));
tell("chosen", overlaps());
const map = svg.getBoundingClientRect();
for (let i = 0; i < 4; ++i) svg.dispatchEvent(new WheelEvent("wheel", {deltaY: -1, clientX: map.left + 600, clientY: map.top + 40}));
tell("zoomed", overlaps() + outside());
)";
  // Colours and animals, each nearly at one place, and some words apart.
  const std::vector<std::string> labels{"red",    "blue", "green", "yellow", "bear",
                                        "rabbit", "fox",  "was",   "found",  "had"};
  const Tensor vectors =
      matrix({5, 5, 5.001f, 5, 5, 5.001f, 5.002f, 5, -5, 1, -5, 1.001f, -5, 1.002f, 0, 0, 4, -3, 1, -5}, 10);
  const std::string dom = opened(with_script(embedding_page("Vectors", labels, vectors, {}), script));
  CHECK(told(dom, "shown") == "10");
  CHECK(told(dom, "overlaps") == "0");
  CHECK(told(dom, "chosen") == "0");
  CHECK(told(dom, "zoomed") == "0");

  // More labels at one place than there is room for: those without a place are hidden.
  const std::vector<std::string> many(200, "the same place");
  const std::string crowded =
      opened(with_script(embedding_page("Vectors", many, matrix(std::vector<float>(400, 1), 200), {}), script));
  CHECK(told(crowded, "overlaps") == "0");
  const int shown = std::stoi(told(crowded, "shown"));
  CHECK(shown >= 10);
  CHECK(shown < 200);
}
