// The page of runs: what it shows, how large it is, and that no text of a run is read as HTML.
#include "report/run_report.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/report/browser.h"

using namespace tapeformer;
using Json = nlohmann::ordered_json;

namespace {

// A run of `steps` lines, with an evaluation after each hundredth.
RunFolder write_run(const TempFolder& folder, const std::string& name, int steps,
                    const std::string& config = "[model]\ndim = 8\n") {
  std::string lines;
  for (int step = 1; step <= steps; ++step) {
    const double loss = 4 / std::sqrt(double(step));
    lines += Json{{"step", step},
                  {"tokens", 768 * step},
                  {"loss", loss},
                  {"lr", 0.001},
                  {"grad_norm", 1.2345678901},
                  {"tokens_per_s", 12345.678},
                  {"elapsed_s", step / 7.0}}
                 .dump() +
             '\n';
    if (step % 100 == 0) {
      lines +=
          Json{{"step", step}, {"tokens", 768 * step}, {"eval_loss", loss + 0.1}, {"elapsed_s", step / 7.0}}.dump() +
          '\n';
    }
  }
  folder.write(name + "/config.toml", config);
  folder.write(name + "/metrics.jsonl", lines);
  return {folder.path / name};
}

}  // namespace

TEST_CASE("report: the curves are the numbers of metrics.jsonl, training and evaluation apart") {
  const TempFolder folder;
  folder.write("a/config.toml", "[model]\n");
  folder.write(
      "a/metrics.jsonl",
      "{\"step\":1,\"loss\":2.123456789,\"lr\":0.5}\n{\"step\":2,\"loss\":null}\n"
      "{\"step\":2,\"eval_loss\":1.5,\"eval_bleu\":33}\n{\"step\":3,\"loss\":1.25,\"lr\":0.25}\n{\"step\":4,\"lo");
  const RunFolder run{folder.path / "a"};
  const Json data = run_report_data({&run, 1});
  CHECK(data["per_point"] == 1);
  CHECK(data["runs"][0] ==
        Json{{"name", "a"},
             {"config", "[model]\n"},
             {"train", {{"step", {1, 2, 3}}, {"loss", {2.12346, nullptr, 1.25}}, {"lr", {0.5, nullptr, 0.25}}}},
             {"eval", {{"step", {2}}, {"eval_loss", {1.5}}, {"eval_bleu", {33}}}}});
}

TEST_CASE("report: a run that has no step yet has a page, and a folder that is no run an error") {
  const TempFolder folder;
  folder.write("new/config.toml", "[model]\n");
  const RunFolder run{folder.path / "new"}, none{folder.path / "none"};
  CHECK(run_report_data({&run, 1})["runs"][0]["train"].empty());
  CHECK_THROWS_AS(run_report({&none, 1}), Error);
}

TEST_CASE("report: a page of 10,000 steps is below 1 MB, and one of 100,000 too, of means") {
  const TempFolder folder;
  const RunFolder long_run = write_run(folder, "long", 10'000), longer = write_run(folder, "longer", 100'000);
  CHECK(run_report({&long_run, 1}).size() < 1'000'000);
  CHECK(run_report({&longer, 1}).size() < 1'000'000);
  const Json data = run_report_data({&longer, 1});
  const Json& train = data["runs"][0]["train"];
  const int per_point = data["per_point"].get<int>();
  REQUIRE(per_point == 13);  // 100,000 lines on at most 8000 points
  CHECK(train["step"].size() == 7693);
  CHECK(train["step"][0] == 7);  // the mean of 1 to 13
  double sum = 0;
  for (int step = 14; step <= 26; ++step) sum += 4 / std::sqrt(double(step));
  CHECK(train["loss"][1].get<double>() == doctest::Approx(sum / 13).epsilon(1e-5));
  CHECK(data["runs"][0]["eval"]["step"].size() == 1000);  // evaluations are kept, each
  // Runs share the number of points.
  const RunFolder both[] = {longer, long_run};
  CHECK(run_report_data(both)["per_point"] == 14);
}

TEST_CASE("report: no text of a run is read as HTML") {
  const TempFolder folder;
  const std::string hostile = "<img src=x onerror=alert(1)>&\"'";
  const RunFolder run =
      write_run(folder, hostile, 3, "[data]\ntext = \"</script><script>alert(2)</script>\xe2\x80\xae <!--\"\n");
  const std::string page = run_report({&run, 1});
  const RunFolder plain_run = write_run(folder, "plain", 3);
  const std::string plain = run_report({&plain_run, 1});
  for (const std::string_view part : {"<script", "</script", "<img", "<!--"}) {
    CAPTURE(part);
    CHECK(count(page, part) == count(plain, part));
  }
  CHECK(page.find("<title>&lt;img src=x onerror=alert(1)>&amp;\"' ") != page.npos);
  // What the scripts read is what the run has.
  const std::size_t begin = page.find("id=\"data\">") + 10;
  const Json data = Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  CHECK(data["runs"][0]["name"] == hostile);
  CHECK(data["runs"][0]["config"].get<std::string>().find("</script><script>alert(2)</script>") != std::string::npos);
  CHECK(page.find("http://") == page.npos);  // nothing comes from a network
}

// Uses the page as a reader does, and writes what it then shows.
constexpr const char* kReader = R"(
const canvas = document.querySelectorAll(".chart canvas")[1], box = canvas.getBoundingClientRect();
const mouse = (type, x) => canvas.dispatchEvent(
  new MouseEvent(type, {bubbles: true, detail: 1, view: window, clientX: box.left + x, clientY: box.top + 60}));
const labels = () => [...document.querySelectorAll(".dygraph-axis-label-x")].map((e) => e.textContent);
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
mouse("mousemove", 300);
tell("hover", document.querySelector(".reading").textContent);
const before = labels().join();
mouse("mousedown", 200); mouse("mousemove", 320); mouse("mouseup", 320);
tell("zoomed", labels().join() !== before);
document.querySelector("button").click();
tell("all again", labels().join() === before);
const axis = document.querySelector("select");
axis.value = "time"; axis.dispatchEvent(new Event("change"));
tell("axis", document.querySelector(".dygraph-xlabel").textContent);
document.querySelector("input[type=checkbox]").click();
const shown = document.querySelectorAll(".chart canvas")[1].getBoundingClientRect();
document.querySelectorAll(".chart canvas")[1].dispatchEvent(
  new MouseEvent("mousemove", {bubbles: true, view: window, clientX: shown.left + 300, clientY: shown.top + 60}));
tell("one hidden", document.querySelector(".reading").textContent);
)";

TEST_CASE("report: a browser draws the curves without an error, and reads, zooms, and hides them") {
  if (!has_browser()) return;
  const TempFolder folder;
  const RunFolder runs[] = {write_run(folder, "first", 300),
                            write_run(folder, "<b>second", 400, "[model]\ndim = 16\n")};
  const std::string dom = opened(with_script(run_report(runs), kReader));
  CHECK(count(dom, "class=\"chart") == 4);
  CHECK(count(dom, "<canvas") == 2 * 4);
  CHECK(dom.find("<td>&lt;b&gt;second #2</td>") != dom.npos);
  CHECK(dom.find("<td>model.dim</td><td>8</td><td>16</td>") != dom.npos);  // what differs
  CHECK(told(dom, "hover").find("optimizer steps 1") != std::string::npos);
  CHECK(told(dom, "hover").find("first #1, training 0.") != std::string::npos);
  CHECK(told(dom, "zoomed") == "true");
  CHECK(told(dom, "all again") == "true");
  CHECK(told(dom, "axis") == "seconds of training");
  CHECK(told(dom, "one hidden").find("first #1") == std::string::npos);
  CHECK(told(dom, "one hidden").find("second #2, training 0.") != std::string::npos);
}
