// The page of runs: what it shows, how large it is, and that no text of a run is read as HTML.
#include "report/run_report.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tests/long_test.h"
#include "tests/report/browser.h"

using namespace tapeformer;
using Json = nlohmann::ordered_json;

namespace {

// A run of `steps` lines, with an evaluation after each hundredth.
RunFolder write_run(const TempFolder& folder, const std::string& name, int steps,
                    const std::string& config = "[model]\ndim = 8\n") {
  std::string lines;
  char line[300];
  for (int step = 1; step <= steps; ++step) {
    const double loss = 4 / std::sqrt(double(step)), eval_loss = loss + 0.1;
    std::snprintf(line, sizeof line,
                  R"({"step":%d,"tokens":%d,"loss":%.17g,"lr":0.001,"grad_norm":1.2345678901,"tokens_per_s":12345.678,)"
                  R"("elapsed_s":%.17g})"
                  "\n",
                  step, 768 * step, loss, step / 7.0);
    lines += line;
    if (step % 100 != 0) continue;
    std::snprintf(line, sizeof line,
                  R"({"step":%d,"tokens":%d,"eval_loss":%.17g,"eval_perplexity":%.17g,"eval_bits_per_byte":%.17g,)"
                  R"("elapsed_s":%.17g})"
                  "\n",
                  step, 768 * step, eval_loss, std::exp(eval_loss), 0.5 * loss, step / 7.0);
    lines += line;
  }
  folder.write(name + "/config.toml", config);
  folder.write(name + "/metrics.jsonl", lines);
  return {folder.path / name};
}

}  // namespace

TEST_CASE("report: the curves are the numbers of metrics.jsonl, training and evaluation apart") {
  const TempFolder folder;
  folder.write("a/config.toml", "[model]\n");
  folder.write("a/metrics.jsonl",
               "{\"step\":1,\"loss\":2.123456789,\"lr\":0.5}\n{\"step\":2,\"loss\":null}\n"
               "{\"step\":2,\"eval_loss\":1.5,\"eval_bleu\":33}\n{\"step\":3,\"loss\":1.25,\"lr\":0.25}\n"
               "{\"step\":3,\"averaged\":[2,3],\"average_loss\":1.4}\n{\"step\":4,\"lo");
  const RunFolder run{folder.path / "a"};
  const Json data = run_report_data({&run, 1});
  CHECK(data["per_point"] == 1);
  CHECK(data["runs"][0] ==
        Json{{"name", "a"},
             {"config", "[model]\n"},
             {"unit", "nats per token"},
             {"train", {{"step", {1, 2, 3}}, {"loss", {2.12346, nullptr, 1.25}}, {"lr", {0.5, nullptr, 0.25}}}},
             {"last", {{"step", 3}, {"loss", 1.25}}},
             {"eval", {{"step", {2}}, {"eval_loss", {1.5}}, {"eval_bleu", {33}}}},
             {"metric", "loss"},
             {"smaller_is_better", true},
             {"terms_since", 0},
             {"kept_until", nullptr},
             {"watch", Json::object()},
             {"samples", Json::array()},
             {"machines", Json::array()}});
}

TEST_CASE("report: steps and tokens above a million have all their digits, which say what evaluations count") {
  const TempFolder folder;
  folder.write("a/config.toml", "[model]\n");
  folder.write("a/metrics.jsonl",
               "{\"step\":1000001,\"tokens\":98765432101,\"loss\":2.5}\n{\"step\":1000001,\"eval_loss\":1.5}\n");
  const RunFolder run{folder.path / "a"};
  const Json data = run_report_data({&run, 1})["runs"][0];
  CHECK(data["train"]["step"][0] == 1000001);
  CHECK(data["train"]["tokens"][0] == 98765432101);
  CHECK(data["eval"]["step"][0] == 1000001);
}

TEST_CASE("report: the loss has the unit of the run's family; none if the configuration is of another version") {
  const TempFolder folder;
  const RunFolder vectors = write_run(folder, "vectors", 100, "[model]\ntype = \"glove\"\n"),
                  other = write_run(folder, "other", 100, "[model]\nwings = 2\n");
  const RunFolder both[] = {vectors, other};
  const Json data = run_report_data(both);
  CHECK(data["runs"][0]["unit"] == "weighted squared error per pair");
  CHECK(data["runs"][1]["unit"] == "");
  if (!has_browser()) return;
  CHECK(opened(run_report({&vectors, 1})).find("<h2>Loss, weighted squared error per pair</h2>") != std::string::npos);
  CHECK(opened(run_report({&other, 1})).find("<h2>Loss</h2>") != std::string::npos);
}

TEST_CASE("report: the training losses of several tasks are curves of their own") {
  const TempFolder folder;
  folder.write("a/config.toml", "[model]\n");
  folder.write("a/metrics.jsonl",
               "{\"step\":1,\"loss\":2,\"task\":\"tags\"}\n"
               "{\"step\":2,\"loss\":4,\"unsmoothed_loss\":3,\"task\":\"text\"}\n");
  const RunFolder run{folder.path / "a"};
  const Json data = run_report_data({&run, 1});
  const Json& train = data["runs"][0]["train"];
  CHECK(!train.contains("loss"));
  CHECK(train["loss of tags"] == Json{2, nullptr});
  CHECK(train["loss of text"] == Json{nullptr, 3});
}

TEST_CASE("report: a page of 10,000 steps is below 1 MB, and one of 100,000 too, of means" * long_test()) {
  const TempFolder folder;
  const RunFolder long_run = write_run(folder, "long", 10'000), longer = write_run(folder, "longer", 100'000);
  CHECK(run_report({&long_run, 1}).size() < 1'000'000);
  // Runs share the number of points.
  const RunFolder both[] = {longer, long_run};
  const std::string page = run_report(both);
  CHECK(page.size() < 1'000'000);
  const Json data = data_of(page);
  const Json& train = data["runs"][0]["train"];
  REQUIRE(data["per_point"] == 14);  // 110,000 lines on at most 8000 points
  CHECK(train["step"].size() == 7143);
  CHECK(train["step"][0] == 7.5);  // the mean of 1 to 14
  CHECK(data["runs"][0]["last"]["step"] == 100'000);
  double sum = 0;
  for (int step = 15; step <= 28; ++step) sum += 4 / std::sqrt(double(step));
  CHECK(train["loss"][1].get<double>() == doctest::Approx(sum / 14).epsilon(1e-5));
  CHECK(data["runs"][0]["eval"]["step"].size() == 1000);  // evaluations are kept, each
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
  const Json data = data_of(page);
  CHECK(data["runs"][0]["name"] == hostile);
  CHECK(data["runs"][0]["config"].get<std::string>().find("</script><script>alert(2)</script>") != std::string::npos);
  // Nothing comes from a network: the one address is the name that SVG has in every browser.
  CHECK(count(page, "http://") == count(page, "createElementNS(\"http://www.w3.org/2000/svg\""));
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
  std::string page = run_report(runs);
  const std::string_view since = "\"terms_since\":0";
  page.replace(page.rfind(since), since.size(), "\"terms_since\":400");  // of the second
  const std::string dom = opened(with_script(page, kReader));
  CHECK(count(dom, "class=\"chart") == 6);
  CHECK(count(dom, "<td>–</td><td>–</td><td>–</td><td>–</td>") == 1);  // no evaluation of the second is the best
  CHECK(count(dom, "<canvas") == 2 * 6);
  CHECK(dom.find("<h2>Validation: perplexity</h2>") != dom.npos);
  CHECK(dom.find("<h2>Validation: bits per byte</h2>") != dom.npos);
  CHECK(dom.find("<th>perplexity</th><th>bits per byte</th><th>at step</th>") != dom.npos);
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

TEST_CASE("report: the mean of several points is that of the training loss alone, not of the learning rate") {
  if (!has_browser()) return;
  const TempFolder folder;
  folder.write("a/config.toml", "[model]\n");
  folder.write("a/metrics.jsonl", "{\"step\":1,\"loss\":4,\"lr\":0.5}\n{\"step\":2,\"loss\":2,\"lr\":0.25}\n");
  const RunFolder run{folder.path / "a"};
  const std::string dom = opened(with_script(run_report({&run, 1}), R"(
const Chart = Dygraph;
const tell = (place, rows) => document.body.append(tapeformer.element("p", {},
  place.parentNode.querySelector("h2").textContent + ": " + rows.map((row) => row[1]).join(" ")));
Dygraph = Object.assign(function(place, rows, options) { return tell(place, rows), new Chart(place, rows, options); }, Chart);
const means = document.querySelector("input[type=number]");
means.value = 2, means.dispatchEvent(new Event("change"));
)"));
  CHECK(told(dom, "Loss, nats per token") == "4 3");
  CHECK(told(dom, "Learning rate") == "0.5 0.25");
}

namespace {

// A run of two layers whose norms are watched, with samples and a machine, after each hundredth step.
RunFolder write_watched_run(const TempFolder& folder, const std::string& name, int steps, int layers = 2) {
  const RunFolder run = write_run(folder, name, steps);
  std::string lines = read_all(run.metrics());
  for (int step = 100; step <= steps; step += 100) {
    Json watch;
    for (int layer = 0; layer < layers; ++layer) {
      watch["blocks." + std::to_string(layer)] = {
          {"grad", (layer + 1) * 0.5}, {"weight", 10.0 + layer}, {"activation", 1.25}};
    }
    watch["final_norm"] = {{"grad", 0.125}, {"weight", 4}};
    lines +=
        Json{{"step", step}, {"tokens", 768 * step}, {"loss", 1}, {"elapsed_s", step / 7.0}, {"watch", watch}}.dump() +
        '\n';
    const Json sample{{"input", "<b>Once"},
                      {"output", "</td><script>alert(1)</script>\xd7\xa9 \xe2\x80\xae"},
                      {"reference", "step " + std::to_string(step)}};
    lines += Json{{"step", step}, {"samples", Json::array({sample})}}.dump() + '\n';
  }
  folder.write(name + "/metrics.jsonl", lines);
  folder.write(
      name + "/machine.json",
      R"([{"step": 0, "cpu": "<i>Xeon", "memory_gib": 15.5}, {"step": 200, "cpu": "Other", "memory_gib": 8}])");
  return run;
}

}  // namespace

TEST_CASE("report: the norms of layers, the samples and the machines of a run") {
  const TempFolder folder;
  const RunFolder run = write_watched_run(folder, "watched", 300);
  const Json data = run_report_data({&run, 1})["runs"][0];
  CHECK(data["watch"]["step"] == Json{100, 200, 300});
  CHECK(data["watch"]["grad blocks.1"] == Json{1, 1, 1});
  CHECK(data["watch"]["weight final_norm"] == Json{4, 4, 4});
  CHECK(!data["watch"].contains("activation final_norm"));
  CHECK(!data["train"].contains("watch"));
  CHECK(data["train"]["step"].size() == 303);
  CHECK(data["samples"].size() == 3);
  CHECK(data["samples"][1]["step"] == 200);
  CHECK(data["machines"][1]["cpu"] == "Other");
}

TEST_CASE("report: a page of 10,000 watched steps of 30 layers and long samples stays below 1 MB" * long_test()) {
  const TempFolder folder;
  const RunFolder run = write_watched_run(folder, "long", 10'000, 30);
  std::string lines = read_all(run.metrics());
  const std::string text(5000, 'a');
  std::string accents;
  for (int i = 0; i < 3000; ++i) accents += "\xc3\xa9";
  for (int step = 5; step <= 10'000; step += 5) {
    lines += str_cat("{\"step\":", step, ",\"watch\":{");
    for (int layer = 0; layer < 30; ++layer) {
      char norms[150];
      std::snprintf(norms, sizeof norms, R"(%s"blocks.%d":{"grad":%.9g,"weight":%.9g,"activation":1.23456789})",
                    layer ? "," : "", layer, 0.123456789 / step, 1234.56789 / step);
      lines += norms;
    }
    lines += "}}\n";
    if (step % 10 == 0) {
      lines += str_cat("{\"step\":", step, R"(,"samples":[{"input":")", accents, R"(","output":")", text, "\"}]}\n");
    }
  }
  folder.write("long/metrics.jsonl", lines);
  const std::string page = run_report({&run, 1});
  CHECK(page.size() < 1'000'000);
  const Json data = data_of(page)["runs"][0];
  CHECK(data["watch"]["grad blocks.29"].size() > 200);
  REQUIRE(data["samples"].size() == 40);
  CHECK(data["samples"].back()["step"] == 10'000);
  CHECK(data["samples"].back()["samples"][0]["output"].get<std::string>().size() < 2010);
  CHECK(data["samples"].back()["samples"][0]["input"].get<std::string>().ends_with("\xc3\xa9…"));
}

// Uses what a watched run's page has.
constexpr const char* kWatcher = R"(
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
const titles = [...document.querySelectorAll("h2")].map((head) => head.textContent);
tell("titles", titles.join("|"));
const section = [...document.querySelectorAll("section")].find((part) => part.textContent.startsWith("Norm of each layer's gradient"));
const point = (chart) => {
  const canvas = chart.querySelectorAll("canvas")[1], box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new MouseEvent("mousemove", {bubbles: true, view: window, clientX: box.left + 500, clientY: box.top + 60}));
  return chart.querySelector(".reading").textContent;
};
tell("layers", point(section));
tell("legend", section.querySelector(".legend").textContent);
section.querySelectorAll(".legend input")[0].click();
const again = [...document.querySelectorAll("section")].find((part) => part.textContent.startsWith("Norm of each layer's gradient"));
tell("one hidden", point(again));
const cells = [...document.querySelectorAll("td .sample")].map((cell) => cell.textContent);
tell("samples", JSON.stringify(cells.slice(0, 3)));
tell("machines", JSON.stringify(cells.slice(-4)));
tell("scripts", document.querySelectorAll("td script, td b, td i").length);
const details = document.querySelector("details"), wide = document.querySelector(".chart").getBoundingClientRect().width;
dispatchEvent(new Event("beforeprint"));
tell("printing", details.open + " " + (document.querySelector(".chart canvas").getBoundingClientRect().width < 700) + " " + (wide > 800));
dispatchEvent(new Event("afterprint"));
tell("after", details.open + " " + (document.querySelector(".chart canvas").getBoundingClientRect().width > 800));
)";

TEST_CASE("report: a browser draws a line for each layer, lists samples and machines, and fits them to paper") {
  if (!has_browser()) return;
  const TempFolder folder;
  const RunFolder run = write_watched_run(folder, "watched", 300);
  const std::string dom = opened(with_script(run_report({&run, 1}), kWatcher));
  CHECK(told(dom, "titles") ==
        "Loss, nats per token|Learning rate|Norm of the gradient|Tokens a second|Validation: perplexity|"
        "Validation: bits per byte|Norm of each layer's gradient|Norm of each layer's weights|Root mean square of each "
        "layer's output|Samples|Machine and version");
  CHECK(told(dom, "layers").find("blocks.0 0.5") != std::string::npos);
  CHECK(told(dom, "layers").find("final_norm 0.125") != std::string::npos);
  CHECK(told(dom, "legend") == "blocks.0blocks.1final_norm");
  CHECK(told(dom, "one hidden").find("blocks.0") == std::string::npos);
  CHECK(told(dom, "one hidden").find("blocks.1 1") != std::string::npos);
  CHECK(told(dom, "samples").starts_with("[\"&lt;b&gt;Once\",\"&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;"));
  CHECK(told(dom, "samples").ends_with("\"step 100\"]"));
  CHECK(told(dom, "machines") == "[\"&lt;i&gt;Xeon\",\"Other\",\"15.5\",\"8\"]");
  CHECK(told(dom, "scripts") == "0");
  CHECK(told(dom, "printing") == "true true true");
  CHECK(told(dom, "after") == "false true");
}
