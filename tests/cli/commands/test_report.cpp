// The page of runs from the command line.
#include <doctest/doctest.h>

#include "tests/cli/sandbox.h"

TEST_CASE("report: train leaves a page of its run, and report lays several runs over each other") {
  const Sandbox box("gpt");
  box.train("a");
  box.train("b", "--model.dim 16");
  CHECK(box.read("a/report.html").find("<title>a – tapeformer</title>") != std::string::npos);
  CHECK(box.run("report a b/checkpoints/latest --out page.html").out == "page.html\n");
  CHECK(box.read("page.html").find("<title>a, b – tapeformer</title>") != std::string::npos);
}

TEST_CASE("report: a folder stands for the runs in it, at any depth") {
  const Sandbox box;
  box.write("all/b/config.toml", "[model]\n");
  box.write("all/b/metrics.jsonl", "");
  box.write("all/deeper/a/config.toml", "[model]\n");
  box.write("all/deeper/a/metrics.jsonl", "");
  box.write("empty/file.txt", "");
  CHECK(box.run("report all --out page.html").out == "page.html\n");
  CHECK(box.read("page.html").find("<title>b, a – tapeformer</title>") != std::string::npos);
  check_error(box, kFailure, "empty is not a run, and has none in it", "report empty --out new.html");
}

TEST_CASE("report: what is no run is one line") {
  const Sandbox box;
  box.write("text.txt", "text");
  check_error(box, kFailure, "none: no such run or checkpoint", "report none --out new.html");
  check_error(box, kUsage, "expected --out, got none (see --help)", "report text.txt");
}
