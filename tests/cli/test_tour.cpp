// docs/tour.md and scripts/tour.sh, which runs its commands and compares what they print with what the page says.
#include <doctest/doctest.h>

#include "core/text/lines.h"
#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

namespace fs = std::filesystem;

namespace {

const fs::path kTourRoot = PROJECT_ROOT;

// Runs the script with the program of this build; its folders are in the sandbox.
Outcome tour(const Sandbox& box, const std::string& options) {
  const std::string command = "TAPEFORMER=" TAPEFORMER_BINARY " " + (kTourRoot / "scripts/tour.sh").string() +
                              " --out " + (box / "tour").string() + " " + options;
  return Process(box / ".", {"/bin/sh", "-c", command}, "").wait();
}

// A page whose only block writes a page and prints two lines of JSON; `says` is the line after it.
std::string tour_page(const std::string& says) {
  return "# A page\n\n```sh quick\necho '<p>of\n two lines' > page.html\necho '{\"a\": 1}'\n"
         "echo '{\"a\": [1.5, {\"b\": true}]}'\n```\n" +
         says + "\n";
}

}  // namespace

TEST_CASE("tour: what its quick commands print is what the page says" * long_test()) {
  const Sandbox box;
  const Outcome outcome = tour(box, "--quick");
  INFO(outcome.out);
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.find("FAILED") == std::string::npos);
  CHECK(outcome.out.find("ok ") != std::string::npos);
}

TEST_CASE("tour: the script says which number of the page is wrong, and refuses blocks without one") {
  const Sandbox box;
  box.write("good.md", tour_page("→ `a/0` = 1.5; `a/0` = 1.6 ± 0.11; `a/0` < 2; `a/0` > 1, and `a/1/b` = 1, `\"a\": "
                                 "1}`, `page.html: of two`"));
  box.write("bad.md",
            tour_page("→ `a/0` = 1.6 ± 0.05; `a/0` = 1.50001; `a/0` > 2; `a/2` = 1; `c`; `page.html: a line`; "
                      "`other.html: of`"));
  box.write("fails.md", "```sh\necho text; false\n```\n→ `text`\n");
  box.write("none.md", tour_page("It prints 1."));
  box.write("last.md", "```sh\ntrue\n```\n");
  const auto with = [&](const std::string& name) { return tour(box, "--page " + (box / name).string()); };
  const Outcome good = with("good.md");
  INFO(good.out);
  CHECK(good.exit_code == 0);
  const Outcome bad = with("bad.md");
  CHECK(bad.exit_code == 1);
  const std::string where = (box / "bad.md").string() + ":9: expected `";
  for (const char* wrong :
       {"a/0` = 1.6 ± 0.05, got 1.5\n", "a/0` = 1.50001, got 1.5\n", "a/0` > 2, got 1.5\n", "a/2` = 1, got none\n",
        "c`, which is not in the output\n", "page.html: a line`, which is not in the page\n",
        "other.html: of`, but there is no such page\n"}) {
    CHECK_MESSAGE(bad.out.find(where + wrong) != std::string::npos, wrong);
  }
  CHECK(with("fails.md").out.find("fails.md:1: failed: without a message") != std::string::npos);
  for (const char* name : {"none.md", "last.md"}) {
    const Outcome refused = with(name);
    CHECK(refused.exit_code != 0);
    CHECK(refused.tells("expected a line that begins with → after the block"));
  }
  CHECK(tour(box, "--nonsense").exit_code == 2);
}

TEST_CASE("tour: its links lead to code that has the name which they say") {
  const std::string text = read_all(kTourRoot / "docs/tour.md");
  int links = 0;
  for (std::size_t at = text.find("[`"); at != text.npos; at = text.find("[`", at + 1)) {
    const std::size_t end = text.find("`](", at), close = text.find(')', end);
    const std::string name = text.substr(at + 2, end - at - 2), path = text.substr(end + 3, close - end - 3);
    CAPTURE(path);
    CHECK_MESSAGE(read_all(kTourRoot / "docs" / path).find(name) != std::string::npos, name);
    ++links;
  }
  CHECK(links >= 10);
}

TEST_CASE("tour: its trainings begin" * long_test()) {
  const Sandbox box;
  fs::create_symlink(kTourRoot / "configs", box / "configs");
  for (const char* file : {"train.tsv", "valid.tsv"})  // which multi-tales.toml names
    box.write(file, result_of(box, "corpus tales --labels --lines 20"));
  int trainings = 0;
  const std::string text = read_all(kTourRoot / "docs/tour.md");
  for (const std::string_view line : tapeformer::split_lines(text)) {
    const std::string_view program = "tapeformer ";
    if (!line.starts_with("tapeformer train configs/") || line.find("init_from") != line.npos) continue;
    box.succeed(std::string(line.substr(program.size(), line.find(" > ") - program.size())) +
                " --train.steps 2 --train.threads 1 --data.lines 100 --eval.every 0");
    ++trainings;
  }
  CHECK(trainings >= 5);
}
