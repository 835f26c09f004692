// Which checkpoint of a run is meant.
#include "train/run/chosen_checkpoint.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/temp_folder.h"

using namespace tapeformer;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

struct ChosenFixture {
  TempFolder folder;
  RunFolder run = create_run(folder.path / "run", "config", {"{}", ""});

  static void write_weights(const fs::path& staging) { std::ofstream(staging / "weights") << "weights"; }
  void save(std::int64_t step) { StagedCheckpoint(run, step, Json::object(), write_weights).publish(); }
  void average(const Json& fields) {
    const auto average = StagedCheckpoint::average(run, 300, {{"averaged", {200, 300}}}, write_weights);
    average->add_fields(fields);
    average->publish();
  }
  void damage(const fs::path& checkpoint) { std::ofstream(checkpoint / "weights") << "Weights"; }
  std::string chosen(const std::string& word = "") { return find_checkpoint({run.root, word}).text; }
  std::string refused(const RunSelection& source) {
    try {
      find_checkpoint(source);
    } catch (const Error& error) {
      return error.what();
    }
    return "not refused";
  }
};

const std::string kAverage = "average of the last checkpoints up to step 300";

}  // namespace

TEST_CASE("chosen checkpoint: a run's folder means the best one; the average where it is better; else the newest") {
  ChosenFixture f;
  for (const std::int64_t step : {100, 200, 300}) f.save(step);
  CHECK(f.chosen() == "step 300 (latest)");  // nothing was evaluated
  f.average(Json::object());
  CHECK(f.chosen() == "step 300 (latest)");
  mark_best(f.run, 200);
  CHECK(f.chosen() == "step 200 (best)");  // the average was not evaluated
  f.average({{"cost", 1.5}, {"best_loss", 1.5}});
  CHECK(f.chosen() == "step 200 (best)");
  f.average({{"cost", 1.25}, {"best_loss", 1.5}});
  CHECK(f.chosen() == kAverage);
  mark_best(f.run, 300);
  remove_average(f.run);
  CHECK(f.chosen() == "step 300 (best, latest)");
}

TEST_CASE("chosen checkpoint: one that is damaged is skipped and told, unless it is named") {
  ChosenFixture f;
  for (const std::int64_t step : {100, 200, 300}) f.save(step);
  f.average({{"cost", 1.25}, {"best_loss", 1.5}});
  mark_best(f.run, 200);
  const std::string why = ": weights is damaged: its checksum differs";
  const std::string average = f.run.average().string() + why, best = f.run.checkpoint(200).string() + why;
  f.damage(f.run.average());
  CHECK(f.chosen() == "step 200 (best)");
  CHECK(find_checkpoint(f.run.root).warnings == std::vector{"damaged average skipped: " + average});
  CHECK(f.refused({f.run.root, "average"}) == average);
  f.damage(f.run.checkpoint(200));
  CHECK(f.chosen() == "step 300 (latest)");
  CHECK(find_checkpoint(f.run.root).warnings ==
        std::vector{"damaged average skipped: " + average, "damaged best checkpoint skipped: " + best});
  CHECK(f.refused({f.run.root, "best"}) == best);
}

TEST_CASE("chosen checkpoint: one can be named, by its folder or beside the run's; what is not there is refused") {
  ChosenFixture f;
  for (const std::int64_t step : {100, 200, 300}) f.save(step);
  const std::string missing = f.run.root.string() + " has no such checkpoint; it has ";
  CHECK(f.refused({f.run.root, "best"}) == "--checkpoint best: " + missing + "step 100, step 200, step 300 (latest)");
  mark_best(f.run, 200);
  CHECK(f.chosen("latest") == "step 300 (latest)");
  CHECK(f.chosen("best") == "step 200 (best)");
  CHECK(f.chosen("100") == "step 100");
  CHECK(find_checkpoint(f.run.checkpoint(100)).text == "step 100");
  CHECK(f.refused({f.run.root, "average"}) ==
        "--checkpoint average: " + missing + "step 100, step 200 (best), step 300 (latest)");
  f.average(Json::object());
  CHECK(f.chosen("average") == kAverage);
  CHECK(find_checkpoint(f.run.average()).text == kAverage);
  CHECK(f.refused({f.run.root, "150"}) ==
        "--checkpoint 150: " + missing + "step 100, step 200 (best), step 300 (latest) and the average");
  for (const std::string word : {"first", "-1", "100x", "step-000100"}) {
    CHECK(f.refused({f.run.root, word}) == "--checkpoint: expected latest, best, average or a step, got " + word);
  }
  const std::string named = f.run.best().string();
  CHECK(f.refused({named, "100"}) ==
        "--checkpoint: expected none, since " + named + " names a checkpoint itself, got 100");
  for (std::int64_t step = 301; step <= 310; ++step) f.save(step);
  CHECK(f.refused({f.run.root, "150"}) ==
        "--checkpoint 150: " + missing +
            "13 checkpoints, among them step 200 (best), step 310 (latest) and the average");
}
