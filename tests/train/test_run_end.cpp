// How a run ends: early when nothing gets better, and with the average of its last checkpoints.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "autograd/ops/ops.h"
#include "core/error.h"
#include "nn/formats/safetensors.h"
#include "tests/temp_folder.h"
#include "train/distributed/optim_config.h"
#include "train/loop/trainer.h"
#include "train/run/chosen_checkpoint.h"
#include "train/run/metrics.h"

using namespace tapeformer;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Steps = std::vector<std::int64_t>;

namespace {

// Some weights that shrink, and whatever validation losses and BLEU a test wants after each step.
struct ScriptedObjective : Objective {
  struct Weights : Module {
    Variable w = register_parameter("w", {3}, DType::f32, Init::normal(1));
    Variable v = register_parameter("v", {2, 2}, DType::f32, Init::normal(1), ParameterKind::matrix);
  } module;
  std::function<double(std::int64_t step)> loss = [](std::int64_t step) { return 1.0 / static_cast<double>(step); };
  std::function<double()> loss_of_weights;  // in place of the other, where it is set
  std::int64_t step = 0;

  ScriptedObjective() : Objective(resolve(Config())) {}
  const Module& model() const override { return module; }
  DataFacts facts() const override { return {}; }
  StepSize step_size(std::int64_t, MicroSteps) override { return {1, 1}; }
  Variable micro_loss(Tape& tape, std::int64_t number, std::int64_t, const MeanOver&) override {
    step = number;
    const Variable w = module.w.on(tape), v = module.v.on(tape);
    return add(sum(mul(w, w)), sum(mul(v, v)));
  }
  ValidationFacts validation() const override { return {.tokens = 1, .bytes = 1}; }
  Evaluation evaluate(const ProgressCallback&) override {
    return {.tokens = 1, .nats = loss_of_weights ? loss_of_weights() : loss(step)};
  }
  std::optional<double> bleu() override { return 10.0 + static_cast<double>(step); }
  std::function<void()> before_samples = [] {};
  std::vector<TextSample> samples() override {
    before_samples();
    return {{"a", "b"}};
  }
};

Config short_config() {
  Config config;
  config.train.steps = 20;
  config.train.log_every = 1;
  config.schedule.warmup = 1;
  config.eval.every = 2;
  config.eval.bleu_every = 0;
  config.checkpoint.every = 5;
  config.checkpoint.keep = 0;
  return config;
}

// A run, begun or gone on with by each call of train().
struct ScriptedRun {
  explicit ScriptedRun(const Config& with = short_config()) : config(with) {
    objective.module.initialize_parameters(1);
  }
  TrainEnd train(const TrainHooks& hooks = {}) {
    return tapeformer::train(objective, slab, optimizer, resolve(config), run, state, hooks);
  }
  // What each evaluation wrote of a key: nothing where it did not.
  std::map<std::int64_t, Json> evaluations(const char* key) const {
    std::map<std::int64_t, Json> values;
    for (const Json& line : read_metrics(run.metrics())) {
      if (line.contains(key)) CHECK(values.emplace(line["step"].get<std::int64_t>(), line[key]).second);
    }
    return values;
  }

  TempFolder folder;
  Config config;
  ScriptedObjective objective;
  ParameterSlab slab{objective.module};
  std::unique_ptr<Optimizer> owned_optimizer = make_optimizer(resolve(config), slab);
  Optimizer& optimizer = *owned_optimizer;
  RunFolder run = create_run(folder.path / "run", to_toml(resolve(config)), {"{}", ""});
  TrainingState state;
};

Steps steps_of(const std::map<std::int64_t, Json>& values) {
  Steps steps;
  for (const auto& [step, value] : values) steps.push_back(step);
  return steps;
}

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

TEST_CASE("patience: training ends when so many evaluations in a row were not below the best") {
  ScriptedRun run;
  run.config.eval.patience = 3;
  // Better at 2, 4 and 8; equal to the best is no better.
  run.objective.loss = [](std::int64_t step) { return step < 4 ? 5 : step == 6 ? 7 : step < 8 ? 4 : 3; };
  CHECK(run.train() == TrainEnd::early_stopped);
  CHECK(run.state.step == 14);
  CHECK(run.state.best_step == 8);
  CHECK(run.state.best_loss == 3);
  CHECK(steps_of(run.evaluations("loss")).back() == 14);
  CHECK(steps_of(run.evaluations("eval_loss")) == Steps{2, 4, 6, 8, 10, 12, 14});
  CHECK(run.evaluations("eval_loss").at(6) == 7);
  CHECK(latest_step(run.run) == 14);
  CHECK(best_step(run.run) == 8);

  const std::string metrics = read_all(run.run.metrics());
  CHECK(run.train() == TrainEnd::early_stopped);  // it stays so when it is resumed
  CHECK(run.state.step == 14);
  CHECK(read_all(run.run.metrics()) == metrics);
  run.config.eval.patience = 4;
  CHECK(run.train() == TrainEnd::early_stopped);
  CHECK(run.state.step == 16);
  run.config.eval.patience = 0;
  CHECK(run.train() == TrainEnd::finished);
  CHECK(run.state.step == 20);
}

TEST_CASE("patience: a lower loss at the end counts") {
  ScriptedRun whole;
  whole.config.eval.patience = 10;
  whole.objective.loss = [](std::int64_t) { return 1; };
  CHECK(whole.train() == TrainEnd::finished);
  CHECK(whole.state.step == 20);
}

TEST_CASE(
    "numbers: a validation loss that is not finite ends the training, and the checkpoint before it stays latest") {
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    ScriptedRun run;
    run.objective.loss = [=](std::int64_t step) { return step == 6 ? bad : 1 / static_cast<double>(step); };
    const std::string message =
        str_cat("step 6: the validation loss is ", bad, "; a lower optimizer.lr or a longer schedule.warmup may help");
    CHECK_THROWS_WITH_AS(run.train(), message.c_str(), Error);
    CHECK(latest_step(run.run) == 5);
    CHECK(run.state.best_step == 4);
    CHECK(steps_of(run.evaluations("eval_loss")) == Steps{2, 4});
  }
}

TEST_CASE("numbers: weights or moments that are not finite are found before they are saved, and named") {
  const auto error_of = [](const std::function<void(ScriptedRun&)>& spoil) {
    ScriptedRun run;
    run.config.eval.every = 0;
    const TrainHooks hooks{.progress = [&](const ProgressState& now) {
      if (now.step == 10) spoil(run);
    }};
    std::string message = "none";
    try {
      run.train(hooks);
    } catch (const Error& error) {
      message = error.what();
    }
    CHECK(latest_step(run.run) == 5);
    CHECK(list_checkpoints(run.run) == Steps{5});
    return message.substr(0, message.find(';'));
  };
  CHECK(error_of([](ScriptedRun& run) { run.objective.module.v.value().data<float>()[3] = NAN; }) ==
        "step 10: the weights v are not finite numbers");
  CHECK(error_of([](ScriptedRun& run) { run.objective.module.w.value().data<float>()[0] = -INFINITY; }) ==
        "step 10: the weights w are not finite numbers");
  CHECK(error_of([](ScriptedRun& run) { run.optimizer.state()[1].second.data<float>()[0] = INFINITY; }) ==
        "step 10: the optimizer's state m.v is not finite");
  // Finite, and too large for a forward pass.
  CHECK(error_of([](ScriptedRun& run) { run.objective.module.w.value().fill(3e38); }) ==
        "step 10: the loss after the update is inf");
}

TEST_CASE("BLEU: with the first evaluation from each multiple of eval.bleu_every on, and the last") {
  const auto scored = [](std::int64_t eval_every, std::int64_t bleu_every) {
    ScriptedRun run;
    run.config.eval.every = eval_every;
    run.config.eval.bleu_every = bleu_every;
    std::map<std::int64_t, double> told;
    run.train({.evaluated = [&](std::int64_t step, const Evaluation&, std::optional<double> bleu) {
      if (bleu) told[step] = *bleu;
    }});
    const auto written = run.evaluations("eval_bleu");
    CHECK(written.size() == told.size());
    for (const auto& [step, bleu] : written) {
      CHECK(bleu == 10.0 + static_cast<double>(step));
      CHECK(told.at(step) == bleu);
    }
    return steps_of(written);
  };
  CHECK(scored(2, 0) == Steps{});
  CHECK(scored(2, 8) == Steps{8, 16, 20});
  CHECK(scored(3, 8) == Steps{9, 18, 20});
  CHECK(scored(6, 2) == Steps{6, 12, 18, 20});
  CHECK(scored(0, 5) == Steps{20});
}

TEST_CASE("BLEU: a score that is there because the run ended is taken away when it is given more steps") {
  ScriptedRun run;
  run.config.eval.bleu_every = 8;
  run.train();
  CHECK(run.evaluations("at_end") == std::map<std::int64_t, Json>{{20, "eval_bleu"}});
  truncate_metrics(run.run.metrics(), 20);
  CHECK(steps_of(run.evaluations("eval_bleu")) == Steps{8, 16, 20});
  truncate_metrics(run.run.metrics(), 20, true);
  CHECK(steps_of(run.evaluations("eval_bleu")) == Steps{8, 16});
  CHECK(run.evaluations("at_end").empty());
  CHECK(run.evaluations("eval_loss").contains(20));
}

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
  Config config = short_config();
  config.checkpoint.average = 3;
  config.eval.bleu_every = 20;
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

TEST_CASE("patience: the evaluation at the first end of a run counts no more when the run is given more steps") {
  // The loss is lowest after step 6, where the first run ends and the schedule asks for no evaluation.
  const auto loss = [](std::int64_t step) { return step == 6 ? 1.0 : step == 4 ? 5.0 : step == 8 ? 4.0 : 4.5; };
  for (const ScheduleKind kind : {ScheduleKind::constant, ScheduleKind::plateau}) {
    Config config = short_config();
    config.schedule.kind = kind;
    config.train.log_every = 2;
    config.eval.every = 4;
    config.eval.bleu_every = 16;
    config.eval.patience = 2;
    config.checkpoint.keep = 1;
    ScriptedRun straight(config), extended(config);
    straight.objective.loss = extended.objective.loss = loss;
    CHECK(straight.train() == TrainEnd::early_stopped);
    CHECK(straight.state.step == 16);
    extended.config.train.steps = 6;
    CHECK(extended.train() == TrainEnd::finished);
    CHECK(extended.state.best_step == 6);  // the best that the first run has
    CHECK(best_step(extended.run) == 6);
    CHECK(list_checkpoints(extended.run) == Steps{4, 6});  // the best that is left when the run goes on
    CHECK(extended.evaluations("at_end").size() == 1);

    // What the command does in a new process.
    extended.state = load_checkpoint(extended.run, 6, extended.objective.module, extended.optimizer);
    truncate_metrics(extended.run.metrics(), 6, true);
    extended.config.train.steps = 20;
    CHECK(extended.train() == TrainEnd::early_stopped);
    CHECK(extended.state.step == 16);
    CHECK(extended.state.best_step == 8);
    CHECK(extended.state.num_bad_epochs == straight.state.num_bad_epochs);
    CHECK(best_step(extended.run) == 8);
    for (const char* key : {"loss", "eval_loss", "eval_bleu", "lr"}) {
      CAPTURE(key);
      CHECK(extended.evaluations(key) == straight.evaluations(key));
    }
  }
}

TEST_CASE("samples: they are written before the checkpoint of their step, which a killed run goes on behind") {
  Config config = short_config();
  config.train.sample_every = 2;
  ScriptedRun run(config);  // every evaluation is the best so far
  int asked = 0;
  run.objective.before_samples = [&] {
    ++asked;
    CHECK_FALSE(fs::exists(run.run.checkpoint(run.state.step)));
    CHECK_FALSE(fs::exists(run.run.staging(run.state.step)));
  };
  CHECK(run.train() == TrainEnd::finished);
  CHECK(asked == 10);
  CHECK(best_step(run.run) == 20);
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
