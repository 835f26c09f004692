// With which options a study trains its runs.
#include <doctest/doctest.h>

#include "cli/study/study_file.h"
#include "cli/study/study_runs.h"
#include "core/error.h"
#include "tests/cli/sandbox.h"

using namespace tapeformer::cli;

TEST_CASE("study: what a variant or the command line gives takes the place of the study's option, a list too") {
  const Sandbox box;
  box.write("lists.toml",
            "title = \"t\"\nclaim = \"c\"\n[options]\ndata.text = [\"a.txt\", \"b.txt\"]\ntrain.steps = 2\n"
            "[[variants]]\nname = \"v\"\ndata.text = \"c.txt\"\ntrain.lora.targets = [\"q\", \"v\"]\n");
  const Study study = load_study(box / "lists.toml");
  const StudyRun run{.variant = 0, .seed = 5, .folder = {}};
  CHECK(run_options(study, run, {}) == TrainOptions{"--train.steps", "2", "--data.text", "c.txt",
                                                    "--train.lora.targets", "q", "v", "--train.seed", "5"});
  CHECK(run_options(study, run, {"--data.text", "d.txt", "e.txt"}) ==
        TrainOptions{"--train.steps", "2", "--train.lora.targets", "q", "v", "--train.seed", "5", "--data.text",
                     "d.txt", "e.txt"});
}

TEST_CASE("study: seeds are different, and a command has words") {
  const Sandbox box;
  const std::string file = (box / "bad.toml").string(), variant = "[[variants]]\nname = \"a\"\n";
  const auto check_refused = [&](const std::string& lines, const std::string& message) {
    box.write("bad.toml", "title = \"t\"\nclaim = \"c\"\n" + lines);
    CHECK_THROWS_WITH_AS(load_study(file), (file + message).c_str(), tapeformer::UsageError);
  };
  check_refused("seeds = [2, 3, 2]\n" + variant, ": seeds: expected a list of different whole numbers of at least 0");
  check_refused(variant + "[[measures]]\nname = \"m\"\nvalue = \"step\"\ncommand = []\n",
                ": measures 1: command: expected a list of words");
}

TEST_CASE("study: --list stands alone") {
  const Sandbox box;
  check_errors(box, kUsage,
               {{"study warmup --list", "study excludes --list (see --help)"},
                {"study --list --out new", "--out excludes --list (see --help)"}});
}
