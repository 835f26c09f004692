// The page of runs that have not trained, or were killed, and what it says of their configurations.
#include "report/run_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

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
