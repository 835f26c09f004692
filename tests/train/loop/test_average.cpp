// The average of the last checkpoints, which ends a run.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/error.h"
#include "nn/formats/safetensors.h"
#include "tests/train/loop/scripted_run.h"

using namespace tapeformer;
namespace fs = std::filesystem;

namespace {

void check_mean(const RunFolder& run, const Steps& steps) {
  const auto average = read_safetensors(run.average() / "model.safetensors");
  CHECK(average.size() == 2);
  for (const auto& entry : average) {
    const std::string& name = entry.first;  // no structured binding: CAPTURE is a lambda
    const Tensor& tensor = entry.second;
    CAPTURE(name);
    CHECK(tensor.dtype() == DType::f32);
    std::vector<double> sums(tensor.numel());
    for (const std::int64_t step : steps) {
      const auto values =
          read_safetensors(run.checkpoint(step) / "model.safetensors").at(name).to(DType::f64).to_vector<double>();
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
    }
    const std::vector<float> means = tensor.to_vector<float>();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      CHECK(means[i] == static_cast<float>(sums[i] / static_cast<double>(steps.size())));
    }
  }
}

}  // namespace

TEST_CASE("average: the mean of the last checkpoints, when the run has ended") {
  Config config = short_config();
  config.eval.every = 0;
  config.checkpoint.average = 3;
  for (const std::int64_t keep : {0, 3}) {
    CAPTURE(keep);
    config.checkpoint.keep = keep;
    ScriptedRun run(config);
    Steps averaged;
    CHECK(run.train({.averaged = [&](std::span<const std::int64_t> steps) {
      averaged.assign(steps.begin(), steps.end());
    }}) == TrainEnd::finished);
    CHECK(averaged == Steps{10, 15, 20});
    check_mean(run.run, averaged);
    CHECK_FALSE(verify_checkpoint(run.run.average()).has_value());
    const Json state = read_checkpoint_state(run.run.average());
    CHECK(state["step"] == 20);
    CHECK(state["averaged"] == Json(averaged));
    CHECK(state["files"].size() == 2);  // the weights, and the configuration
    CHECK(read_all(run.run.average() / "config.toml") == read_all(run.run.checkpoint(20) / "config.toml"));
    CHECK(latest_step(run.run) == 20);
    CHECK(newest_valid_checkpoint(run.run).step == 20);
    CHECK(list_checkpoints(run.run).back() == 20);
    CHECK(find_run(run.run.average()).average);
    CHECK_FALSE(find_run(run.run.root).average);

    const std::string bytes = read_all(run.run.average() / "state.json");
    remove_average(run.run);
    CHECK_FALSE(fs::exists(run.run.average()));
    CHECK_NOTHROW(remove_average(run.run));
    CHECK(run.train() == TrainEnd::finished);  // nothing is left to train: the same average again
    CHECK(read_all(run.run.average() / "state.json") == bytes);
  }
}

TEST_CASE("average: it is evaluated as the checkpoints are, and a run's folder means it only where it is better") {
  Config config = bleu_config(20);
  config.checkpoint.average = 3;
  for (const bool better : {false, true}) {
    CAPTURE(better);
    ScriptedRun run(config);
    // The weights shrink: the smallest are the last, and the mean of the last three is near those of step 15.
    double wanted = 0;
    if (better) {
      ScriptedRun before(config);
      before.train();
      wanted = read_safetensors(before.run.average() / "model.safetensors").at("w").to_vector<float>()[0];
    }
    run.objective.loss_of_weights = [&] {
      return std::abs(run.objective.module.w.value().to_vector<float>()[0] - wanted);
    };
    std::optional<double> told;
    CHECK(run.train({.average_evaluated = [&](const Evaluation& evaluation, std::optional<double> bleu) {
      told = evaluation.loss();
      CHECK(bleu == 30.0);
    }}) == TrainEnd::finished);

    const auto mean = read_safetensors(run.run.average() / "model.safetensors").at("w").to_vector<float>();
    const Json line = read_metrics(run.run.metrics()).back();
    CHECK(line["step"] == 20);
    CHECK(line["averaged"] == Json(Steps{10, 15, 20}));
    CHECK(line["average_loss"] == std::abs(mean[0] - wanted));
    CHECK(line["average_bleu"] == 30.0);
    CHECK(told == line["average_loss"].get<double>());
    const Json state = read_checkpoint_state(run.run.average());
    CHECK(state["cost"] == line["average_loss"]);
    CHECK((state["cost"].get<double>() < run.state.best_loss) == better);

    // The training goes on with the weights of the last step.
    const auto last = read_safetensors(run.run.checkpoint(20) / "model.safetensors");
    CHECK(run.objective.module.w.value().to_vector<float>() == last.at("w").to_vector<float>());
    CHECK(run.objective.module.v.value().to_vector<float>() == last.at("v").to_vector<float>());
    const UsableCheckpoint found = find_checkpoint(run.run.root);
    CHECK(found.averaged == better);
    CHECK(found.step == (better ? 20 : run.state.best_step));

    truncate_metrics(run.run.metrics(), 20);  // as a resume does: it is not the average of a run that goes on
    CHECK_FALSE(read_metrics(run.run.metrics()).back().contains("averaged"));
    CHECK(run.train() == TrainEnd::finished);
    CHECK(read_metrics(run.run.metrics()).back() == line);
  }
}

TEST_CASE("average: one whose loss is not finite is never meant by the run's folder") {
  Config config = short_config();
  config.checkpoint.average = 3;
  ScriptedRun run(config);
  int evaluations = 0;
  run.objective.loss_of_weights = [&] { return ++evaluations > 10 ? NAN : 1.0 / evaluations; };
  CHECK(run.train() == TrainEnd::finished);
  CHECK(evaluations == 11);
  CHECK(read_metrics(run.run.metrics()).back()["average_loss"].is_null());
  CHECK(find_checkpoint(run.run.root).step == 20);
  CHECK_FALSE(find_checkpoint(run.run.root).averaged);
}

TEST_CASE("average: of fewer checkpoints than asked for, and of one") {
  Config config = short_config();
  config.eval.every = 0;
  config.checkpoint.every = 0;
  config.checkpoint.average = 9;
  ScriptedRun one(config);
  CHECK(one.train() == TrainEnd::finished);
  check_mean(one.run, {20});
  one.config.train.steps = 30;
  one.config.checkpoint.average = 2;
  CHECK(one.train() == TrainEnd::finished);
  CHECK(read_checkpoint_state(one.run.average())["averaged"] == Json(Steps{30}));  // as with 30 steps from the start
  check_mean(one.run, {30});
}

TEST_CASE("average: also of a run that patience has ended, not of one that was stopped") {
  Config config = short_config();
  config.checkpoint.average = 2;
  config.eval.patience = 2;
  ScriptedRun run(config);
  run.objective.loss = [](std::int64_t) { return 1; };
  bool stop = true;
  const TrainHooks hooks{.stop_requested = [&] { return stop && run.state.step == 6; }};
  CHECK(run.train(hooks) == TrainEnd::stopped);  // as patience ends it, too
  CHECK_FALSE(fs::exists(run.run.average()));
  stop = false;
  CHECK(run.train(hooks) == TrainEnd::early_stopped);
  CHECK(run.state.step == 6);
  check_mean(run.run, {5, 6});

  config.eval.patience = 0;
  config.train.max_minutes = 1e-9;
  ScriptedRun late(config);
  CHECK(late.train() == TrainEnd::out_of_time);
  CHECK_FALSE(fs::exists(late.run.average()));
}

TEST_CASE("average: checkpoints that were saved beside the schedule change neither it nor what is kept for it") {
  Config config = short_config();
  config.eval.every = 0;
  config.checkpoint.average = 3;
  for (const std::int64_t keep : {0, 3}) {
    config.checkpoint.keep = keep;
    ScriptedRun straight(config), stopped(config);
    straight.train();
    std::int64_t stops = 0;  // after the steps 12, 16, 17 and 19
    const TrainHooks hooks{.stop_requested = [&] {
      const Steps wanted{12, 16, 17, 19};
      return std::ranges::count(wanted, stopped.state.step) > 0 && ++stops > 0;
    }};
    for (TrainEnd end = TrainEnd::stopped; end == TrainEnd::stopped;) end = stopped.train(hooks);
    CHECK(stops == 4);
    CHECK(read_checkpoint_state(stopped.run.average())["averaged"] == Json(Steps{10, 15, 20}));
    const bool same =
        read_all(stopped.run.average() / "model.safetensors") == read_all(straight.run.average() / "model.safetensors");
    CHECK(same);
    CHECK(read_checkpoint_state(stopped.run.checkpoint(20))["regular"] == true);
    CHECK(read_checkpoint_state(stopped.run.checkpoint(19))["regular"] == false);
  }
}

TEST_CASE(
    "average: the end of a run that is given more steps is no part of it, as in a run with all steps from the start") {
  Config config = short_config();
  config.eval.every = 0;
  config.checkpoint.average = 2;
  config.train.steps = 12;
  ScriptedRun run(config);
  run.train();
  check_mean(run.run, {10, 12});
  run.config.train.steps = 15;
  run.train();
  check_mean(run.run, {10, 15});
}

TEST_CASE("average: a checkpoint that is damaged is told, and no average is made") {
  Config config = short_config();
  config.eval.every = 0;
  ScriptedRun run(config);
  CHECK(run.train() == TrainEnd::finished);
  CHECK_FALSE(fs::exists(run.run.average()));
  const fs::path file = run.run.checkpoint(15) / "model.safetensors";
  std::string bytes = read_all(file);
  bytes.back() ^= 1;
  std::ofstream(file, std::ios::binary) << bytes;
  CHECK(stage_average(run.run, 1).steps == Steps{20});
  CHECK_THROWS_WITH_AS(
      stage_average(run.run, 2),
      ("cannot average " + run.run.checkpoint(15).string() + ": model.safetensors is damaged: its checksum differs")
          .c_str(),
      Error);
  CHECK_FALSE(fs::exists(run.run.average()));
  for (const std::int64_t step : {5, 10, 15, 20}) fs::remove_all(run.run.checkpoint(step));
  CHECK_THROWS_WITH_AS(stage_average(run.run, 2), (run.run.root.string() + ": no checkpoints to average").c_str(),
                       Error);
}

TEST_CASE("average: leftovers of a killed process are cleared away or put back") {
  Config config = short_config();
  config.checkpoint.average = 2;
  ScriptedRun run(config);
  run.train();
  const fs::path folder = run.run.checkpoints(), partial = folder / ".average.partial",
                 replaced = folder / ".average.replaced";
  fs::copy(run.run.average(), partial);
  fs::copy(run.run.average(), replaced);
  remove_leftovers(run.run);
  CHECK_FALSE(fs::exists(partial));
  CHECK_FALSE(fs::exists(replaced));
  CHECK(fs::exists(run.run.average()));
  fs::rename(run.run.average(), replaced);
  remove_leftovers(run.run);
  CHECK_FALSE(verify_checkpoint(run.run.average()).has_value());
}
