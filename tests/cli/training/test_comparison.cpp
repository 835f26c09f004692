// The comparison of a training with simple models: its time, and what ends it.
#include "cli/training/comparison.h"

#include <doctest/doctest.h>

#include <csignal>

#include "cli/terminal/stop_signal.h"
#include "core/error.h"
#include "tests/train/loop/scripted_run.h"

using namespace tapeformer;

namespace {

struct ComparedObjective : ScriptedObjective {
  std::function<void(const ProgressCallback&)> work = [](const ProgressCallback&) {};
  double seconds = 0;
  ValidationFacts validation() const override { return facts; }
  ValidationFacts facts = ScriptedObjective::validation();
  std::optional<Baselines> baselines(double given, const ProgressCallback& progress) override {
    seconds = given;
    work(progress);
    return Baselines{.ngrams = {.order = 5, .evaluation = {.tokens = 2, .nats = 3}, .tokens = 8, .of = 9},
                     .xz = std::nullopt};
  }
};

}  // namespace

TEST_CASE("comparison: it takes a thirtieth of the training's time, 0.2 seconds to two minutes") {
  const TempFolder folder;
  const RunFolder run{folder.path};
  ComparedObjective objective;
  for (const auto& [elapsed, expected] : {std::pair{0.5, 0.2}, {60.0, 2.0}, {600.0, 20.0}, {86400.0, 120.0}}) {
    const auto baselines = cli::find_baselines(objective, elapsed);
    CHECK(objective.seconds == doctest::Approx(expected));
    REQUIRE(baselines.has_value());
    cli::write_comparison(*baselines, objective, {.step = 7, .best_loss = 1.25, .best_step = 5}, run);
  }
  const Json json = Json::parse(read_all(run.comparison()));
  CHECK(json == Json({{"step", 7},
                      {"tokens", 2},
                      {"model", {{"step", 5}, {"loss", 1.25}}},
                      {"kneser_ney", {{"loss", 1.5}, {"order", 5}, {"tokens", 8}, {"of", 9}}}}));
}

TEST_CASE("comparison: a signal ends it") {
  ComparedObjective objective;
  bool ended = false;
  const StopSignal stop;
  objective.work = [&](const ProgressCallback& progress) {
    progress(0.1);
    ::raise(SIGTERM);
    progress(0.2);
    ended = true;
  };
  CHECK_FALSE(cli::find_baselines(objective, 1).has_value());
  CHECK_FALSE(ended);
  objective.work = [&](const ProgressCallback&) { ended = true; };
  CHECK_FALSE(cli::find_baselines(objective, 1).has_value());  // is not begun any more
  CHECK_FALSE(ended);
}

TEST_CASE("comparison: what goes wrong is no more than a warning, and without validation data there is none") {
  ComparedObjective objective;
  objective.work = [](const ProgressCallback&) { fail("no memory"); };
  CHECK_FALSE(cli::find_baselines(objective, 1).has_value());
  objective.work = [](const ProgressCallback&) { FAIL("nothing is compared"); };
  objective.facts.missing = "no validation text";
  CHECK_FALSE(cli::find_baselines(objective, 1).has_value());
}
