// The page of a worked example, in a browser.
#include "report/explain/worked_example.h"
#include "tests/report/browser.h"

using namespace tapeformer;
using namespace tapeformer::explain;

TEST_CASE("explain page: every part of an example, with shapes, squares and curves; no text is read as HTML") {
  WorkedExample example{"topic", "A <title>"};
  example.heading("Head");
  example.say("A <b>sentence.");
  example.formula("y = x");
  example.show(Values{"scalar", Tensor::scalar(0.000123456, DType::f64)});
  example.show(Values{"matrix", Tensor::from({1.0, -2.0, 0.5, 4.0}, {2, 2}), {"q1", "q2"}, {"k1", "k2"}, true});
  example.show(Values{"wide", Tensor::zeros({2, 20}, DType::f32)});
  example.show(CellTable{"counts", {"part", "count"}, {{"W_Q", std::int64_t{262144}}}});
  example.show(Curves{"rates", "step", {1, 2, 3}, {{"one", {1, 2, 3}}, {"two", {3, 2, NAN}}}});
  example.show(Tree{"tree", {{-1, "a", {{"log P", -0.5}}, "kept"}, {0, "b", {{"log P", -1.5}}, "dropped"}}});
  const std::string page = example_page(example);
  CHECK(data_of(page) == example_json(example));
  CHECK(data_of(page)["parts"][4]["values"] == nlohmann::ordered_json{{1, -2}, {0.5, 4}});
  CHECK(data_of(page)["parts"][7]["curves"]["two"][2] == nullptr);
  CHECK(count(page, "A <b>sentence") == 0);
  if (!has_browser()) return;
  const std::string script = R"(
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
tell("head", document.querySelector("h2").textContent);
tell("names", [...document.querySelectorAll(".name")].map((name) => name.textContent).join("|"));
tell("scalar", document.querySelectorAll(".values")[0].lastChild.textContent);
tell("matrix", [...document.querySelectorAll(".values")[1].querySelectorAll("td")].map((cell) => cell.textContent).join(" "));
tell("wide", document.querySelectorAll(".values")[2].querySelector("tr").textContent);
tell("counts", document.querySelectorAll(".values")[3].querySelectorAll("td")[1].textContent);
const square = document.querySelectorAll("canvas")[0], box = square.getBoundingClientRect();
square.dispatchEvent(new MouseEvent("mousemove", {clientX: box.left + box.width * .75, clientY: box.top + 3}));
tell("read", document.querySelector(".squares + .reading").textContent);
tell("tree", document.querySelector(".tree .tree").textContent);
tell("chart", document.querySelector(".chart canvas") !== null);
tell("fits", document.documentElement.scrollWidth <= innerWidth);
)";
  const std::string dom = opened(with_script(page, script), "500,900");
  CHECK(told(dom, "head") == "Head");
  CHECK(told(dom, "names") == "scalar|matrix  (2, 2)|wide  (2, 20)|counts|rates|tree");
  CHECK(told(dom, "scalar") == "1.235e-4");
  CHECK(told(dom, "matrix") == "q1 1 -2 q2 0.5 4");
  CHECK(told(dom, "wide") == "0000000000000000…");
  CHECK(told(dom, "counts") == "262,144");
  CHECK(told(dom, "read") == "q1 (0), k2 (1): -2");
  CHECK(told(dom, "tree") == "b log P -1.5 dropped");
  CHECK(told(dom, "chart") == "true");
  CHECK(told(dom, "fits") == "true");
}
