// The tables of the page of runs: their best evaluations, and what differs between their configurations.
#include "report/run_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/report/browser.h"

using namespace tapeformer;

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
