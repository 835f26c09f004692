// How a run ends: early when nothing gets better, with BLEU, and when its numbers are no longer finite.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "core/error.h"
#include "tests/train/loop/scripted_run.h"

using namespace tapeformer;
namespace fs = std::filesystem;

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

TEST_CASE("patience: a very large one ends no run early") {
  ScriptedRun run;
  run.objective.loss = [](std::int64_t) { return 1; };
  for (const std::int64_t patience : {std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 62}) {
    run.config.eval.patience = patience;
    CHECK_FALSE(patience_is_out(resolve(run.config), 4, 2));
  }
  CHECK(run.train() == TrainEnd::finished);
  CHECK(run.state.step == 20);
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
  const auto error_of = [](const std::function<void(ScriptedRun&)>& spoil, const std::string& state = "f32") {
    Config config = short_config();
    config.optimizer.options["state"] = state;
    ScriptedRun run(config);
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
  CHECK(error_of([](ScriptedRun& run) { run.optimizer.state()[0].second.data<kernels::Bf16>()[2] = 0x7F80; }, "bf16") ==
        "step 10: the optimizer's state m.w is not finite");
  CHECK(error_of([](ScriptedRun& run) { run.optimizer.state()[1].second.data<float>()[0] = INFINITY; }, "int8") ==
        "step 10: the optimizer's state m_scale.v is not finite");
  // Finite, and too large for a forward pass.
  CHECK(error_of([](ScriptedRun& run) { run.objective.module.w.value().fill(3e38); }) ==
        "step 10: the loss after the update is inf");
}

TEST_CASE("BLEU: with the first evaluation from each multiple of eval.bleu_every on, and the last") {
  const auto scored = [](std::int64_t eval_every, std::int64_t bleu_every) {
    ScriptedRun run(bleu_config(bleu_every));
    run.config.eval.every = eval_every;
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
  ScriptedRun run(bleu_config(8));
  run.train();
  CHECK(run.evaluations("at_end") == std::map<std::int64_t, Json>{{20, "eval_bleu"}});
  truncate_metrics(run.run.metrics(), 20);
  CHECK(steps_of(run.evaluations("eval_bleu")) == Steps{8, 16, 20});
  truncate_metrics(run.run.metrics(), 20, true);
  CHECK(steps_of(run.evaluations("eval_bleu")) == Steps{8, 16});
  CHECK(run.evaluations("at_end").empty());
  CHECK(run.evaluations("eval_loss").contains(20));
}

TEST_CASE("patience: the evaluation at the first end of a run counts no more when the run is given more steps") {
  // The loss is lowest after step 6, where the first run ends and the schedule asks for no evaluation.
  const auto loss = [](std::int64_t step) { return step == 6 ? 1.0 : step == 4 ? 5.0 : step == 8 ? 4.0 : 4.5; };
  for (const ScheduleKind kind : {ScheduleKind::constant, ScheduleKind::plateau}) {
    Config config = bleu_config(16);
    config.schedule.kind = kind;
    config.train.log_every = 2;
    config.eval.every = 4;
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

TEST_CASE("plateau: evaluations during warm-up leave the peak as it is") {
  Config config = short_config();
  config.schedule.kind = ScheduleKind::plateau;
  config.schedule.warmup = 7;
  ScriptedRun run(config);
  run.objective.loss = [](std::int64_t step) { return step == 10 ? 1 : 2; };  // not better after 4, 6, 8, 12, …
  CHECK(run.train() == TrainEnd::finished);
  const auto rates = run.evaluations("lr");
  const double peak = config.optimizer.lr;
  CHECK(rates.at(7) == peak);
  CHECK(rates.at(8) == peak);
  CHECK(rates.at(9) == peak / 2);
  CHECK(rates.at(12) == peak / 2);
  CHECK(rates.at(13) == peak / 4);
  CHECK(rates.at(20) == peak / 32);
}

TEST_CASE("last step: a run that goes on from a step without an evaluation, and ends there, is evaluated once") {
  Config config = short_config();
  config.eval.every = 10;
  ScriptedRun run(config);
  run.train();
  const auto resume_at_5 = [&] {  // what the command does in a new process
    run.state = load_checkpoint(run.run, 5, run.objective.module, run.optimizer);
    truncate_metrics(run.run.metrics(), 5);
    remove_checkpoints_after(run.run, 5);
    run.config.train.steps = 5;
    CHECK(run.train() == TrainEnd::finished);
  };
  resume_at_5();
  CHECK(steps_of(run.evaluations("eval_loss")) == Steps{5});
  CHECK(run.evaluations("at_end").at(5) == true);
  CHECK(read_training_state(run.run, 5).best_step == 5);
  CHECK(best_step(run.run) == 5);
  const std::string metrics = read_all(run.run.metrics());
  resume_at_5();
  CHECK(read_all(run.run.metrics()) == metrics);
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
