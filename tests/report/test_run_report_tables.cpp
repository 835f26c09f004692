// The page of runs that have not trained, or were killed, and what it says of their configurations.
#include "report/run_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "core/error.h"
#include "tests/report/browser.h"

using namespace tapeformer;

TEST_CASE("report: a run that has no step yet has a page, and a folder that is no run an error") {
  const TempFolder folder;
  folder.write("new/config.toml", "[model]\n");
  const RunFolder run{folder.path / "new"}, none{folder.path / "none"};
  CHECK(run_report_data({&run, 1})["runs"][0]["train"].empty());
  CHECK_THROWS_AS(run_report({&none, 1}), Error);
}

TEST_CASE("report: the best loss is of weights that a killed run has not lost") {
  const TempFolder folder;
  folder.write("a/config.toml", "[model]\n");
  folder.write("a/metrics.jsonl", "{\"step\":2,\"eval_loss\":2}\n{\"step\":5,\"eval_loss\":1}\n");
  const RunFolder run{folder.path / "a"};
  const auto kept_until = [&] { return run_report_data({&run, 1})["runs"][0]["kept_until"]; };
  CHECK(kept_until().is_null());  // no checkpoint was written yet
  folder.write("a/checkpoints/step-000003/state.json", "{}");
  folder.write("a/checkpoints/latest", "step-000003\n");
  CHECK(kept_until() == 3);
  if (has_browser()) {
    CHECK(opened(run_report({&run, 1})).find("<td>2</td><td>2</td></tr>") != std::string::npos);
  }
  const RunLock training(run);
  CHECK(kept_until().is_null());  // what it logs now is of weights that it has
}

TEST_CASE("report: the metric that chooses a run's best checkpoint says which of its evaluations is the best") {
  const TempFolder folder;
  folder.write("a/config.toml", "[model]\ntype = \"bert\"\n[task]\nkind = \"tag\"\n[data]\nlabels = \"a.tsv\"\n");
  folder.write("a/metrics.jsonl",
               "{\"step\":2,\"eval_loss\":0.5,\"eval_span_f1\":0.75}\n"
               "{\"step\":4,\"eval_loss\":0.625,\"eval_span_f1\":0.875}\n");
  const RunFolder run{folder.path / "a"};
  const auto data = run_report_data({&run, 1})["runs"][0];
  CHECK(data["metric"] == "span_f1");
  CHECK(data["smaller_is_better"] == false);
  if (!has_browser()) return;
  const std::string dom = opened(run_report({&run, 1}));
  CHECK(dom.find("<th>validation loss</th><th>span f1, best</th><th>at step</th>") != dom.npos);
  CHECK(dom.find("<td>0.625</td><td>0.875</td><td>4</td></tr>") != dom.npos);
}

TEST_CASE("report: what differs between configurations is values, of all keys, and no comments") {
  const TempFolder folder;
  folder.write("first/config.toml",
               "[train]\nsteps = 3   # optimizer steps\nlora.rank = 2   # rank\n"
               "sample_prompt = \"a \\\" # b\"   # text\n");
  folder.write("second/config.toml",
               "[train]\nsteps = 3    # steps\nlora.rank = 4   # rank\n"
               "sample_prompt = \"a \\\" # c\"   # text\n");
  const RunFolder runs[] = {{folder.path / "first"}, {folder.path / "second"}};
  if (!has_browser()) return;
  const std::string dom = opened(run_report(runs));
  CHECK(dom.find("<td>train.lora.rank</td><td>2</td><td>4</td>") != dom.npos);
  CHECK(dom.find("<td>train.sample_prompt</td><td>\"a \\\" # b\"</td><td>\"a \\\" # c\"</td>") != dom.npos);
  CHECK(dom.find("<td>train.steps</td>") == dom.npos);
}

TEST_CASE("report: the ticks of an axis differ, and none is longer than its place") {
  if (!has_browser()) return;
  const TempFolder folder;
  folder.write("near/config.toml", "[model]\n");
  folder.write("near/metrics.jsonl",
               "{\"step\":1,\"tokens\":1000000000,\"loss\":0.49531,\"grad_norm\":1e30}\n"
               "{\"step\":2,\"tokens\":20000000000,\"loss\":0.49535,\"grad_norm\":2e-30}\n"
               "{\"step\":2,\"tokens\":20000000000,\"eval_loss\":0.49535,\"eval_perplexity\":1.25e130}\n");
  const RunFolder run{folder.path / "near"};
  const std::string dom = opened(with_script(run_report({&run, 1}), R"(
const axis = document.querySelector("select");
axis.value = "tokens", axis.dispatchEvent(new Event("change"));
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
const ticks = (name) => [...document.querySelectorAll(name)];
const charts = [...document.querySelectorAll(".chart")];
const texts = (chart, axis) => [...chart.querySelectorAll(".dygraph-axis-label-" + axis)].map((tick) => tick.textContent);
tell("losses", texts(charts[0], "y").join(" "));
tell("norms", texts(charts[1], "y").join(" "));
tell("tokens", texts(charts[0], "x").slice(0, 2).join(" "));
tell("cut", ticks(".dygraph-axis-label").filter((tick) => tick.scrollWidth > tick.clientWidth).length);
tell("ticks", [[0.30000000000000004, 0.1], [5.6e-17, 0.2], [-1500, 500], [1234567, 10], [2.5e-7, 1e-7], [3.1623e-300, 1e-300],
  [7, Infinity]].map(([value, step]) => tapeformer.tick(value, step)).join(" "));
)"));
  CHECK(told(dom, "losses") == "0.49531 0.49532 0.49533 0.49534 0.49535");
  CHECK(told(dom, "norms") == "0 5e29 1e30");
  CHECK(told(dom, "tokens") == "2e9 4e9");
  CHECK(told(dom, "cut") == "0");
  CHECK(told(dom, "ticks") == "0.3 0 -1500 1,234,567 2.5e-7 3.162e-300 7");
  CHECK(dom.find("<td>1.25e130</td>") != dom.npos);
}

TEST_CASE("report: all charts have the same x axis, also those of a single evaluation, before and after zooming") {
  if (!has_browser()) return;
  const TempFolder folder;
  folder.write("a/config.toml", "[model]\n");
  folder.write("a/metrics.jsonl",
               "{\"step\":1,\"loss\":3,\"lr\":0.5}\n{\"step\":9,\"loss\":2,\"lr\":0.25}\n"
               "{\"step\":9,\"eval_loss\":2.5,\"eval_perplexity\":12.18}\n");
  const RunFolder run{folder.path / "a"};
  const std::string dom = opened(with_script(run_report({&run, 1}), R"(
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
const ticks = (chart) => [...chart.querySelectorAll(".dygraph-axis-label-x")].map((tick) => tick.textContent).join(" ");
const all = () => [...new Set([...document.querySelectorAll(".chart")].map(ticks))].join("|");
const canvas = document.querySelectorAll(".chart canvas")[1], box = canvas.getBoundingClientRect();
const mouse = (type, x) => canvas.dispatchEvent(
  new MouseEvent(type, {bubbles: true, detail: 1, view: window, clientX: box.left + x, clientY: box.top + 60}));
const before = all();
tell("axis", before);
mouse("mousedown", 300), mouse("mousemove", 600), mouse("mouseup", 600);
tell("zoomed", all() !== before && !all().includes("|"));
mouse("mousedown", 300), mouse("mouseup", 300), mouse("dblclick", 300);
tell("back", all());
)"));
  CHECK(told(dom, "axis") == "1 2 3 4 5 6 7 8 9");
  CHECK(told(dom, "zoomed") == "true");
  CHECK(told(dom, "back") == "1 2 3 4 5 6 7 8 9");
}

TEST_CASE("report: runs that share a colour differ in their dashes, and the losses of tasks are logarithmic, too") {
  if (!has_browser()) return;
  const TempFolder folder;
  std::vector<RunFolder> runs;
  for (const char* const name : {"a", "b", "c", "d", "e", "f", "g", "h", "i"}) {
    folder.write(std::string(name) + "/config.toml", "[model]\n");
    folder.write(std::string(name) + "/metrics.jsonl",
                 "{\"step\":1,\"loss\":4,\"lr\":0.5,\"task\":\"tags\"}\n{\"step\":2,\"eval_loss\":2}\n");
    runs.push_back({folder.path / name});
  }
  const std::string dom = opened(with_script(run_report(runs), R"(
const Chart = Dygraph, made = [];
const tell = (name, text) => document.body.append(tapeformer.element("p", {}, name + ": " + text));
Dygraph = Object.assign(function(place, rows, options) { return made.push(options), new Chart(place, rows, options); }, Chart);
[...document.querySelectorAll("label")].find((label) => label.textContent === "logarithmic loss").querySelector("input").click();
tell("logarithmic", made.map((options) => options.logscale).join(" "));
tell("dashes", Object.values(made[0].series).map((one) => one.strokePattern === null ? "-" : one.strokePattern.join("+")).join(" "));
)"));
  CHECK(told(dom, "logarithmic") == "true false true");  // the loss, the rate, the loss of tags
  CHECK(told(dom, "dashes") == "- - - - - - - - 6+4");
  CHECK(count(dom, "class=\"swatch dashed\"") == 1);
}
