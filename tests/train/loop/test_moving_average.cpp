// The moving average of the weights (train.ema).
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "tests/largest_difference.h"
#include "tests/train/config/config_support.h"
#include "tests/train/toy.h"
#include "train/config/matmul_config.h"
#include "train/config/run_config.h"
#include "train/run/chosen_checkpoint.h"
#include "train/run/metrics.h"

using namespace tapeformer;

namespace {

Config averaged_config(double decay, const std::string& optimizer = "adamw") {
  Config config = toy_config();
  apply_overrides(config, {{"optimizer.name", {optimizer}}});
  config.optimizer.lr = 0.01;
  config.train.ema = decay;
  return config;
}

// The moving average of every parameter, one after another in the order of the slab.
std::vector<float> average_of(const Toy& toy) {
  std::map<std::string, Tensor> state;
  for (const auto& [name, tensor] : toy.optimizer.state()) state.emplace(name, tensor);
  std::vector<float> values;
  for (const ParameterSlab::Part& part : toy.slab.parts()) {
    REQUIRE(state.contains("ema." + part.name));
    for (const float value : state.at("ema." + part.name).to_vector<float>()) values.push_back(value);
  }
  return values;
}

std::vector<float> weights_of(const Toy& toy) {
  std::vector<float> values;
  for (const ParameterSlab::Part& part : toy.slab.parts()) {
    for (const float value : part.variable.value().to_vector<float>()) values.push_back(value);
  }
  return values;
}

}  // namespace

TEST_CASE(
    "moving average: the mean of the first steps, then each step's share decays; no bit of the training changes") {
  const CacheFolder folder;
  for (const std::string optimizer : {"adamw", "sgd", "muon"}) {
    CAPTURE(optimizer);
    Toy without(averaged_config(0, optimizer)), toy(averaged_config(0.75, optimizer));
    std::vector<double> expected(weights_of(toy).size());
    for (std::int64_t step = 1; step <= 8; ++step) {
      without.step(step), toy.step(step);
      CHECK(toy.weights() == without.weights());
      const double decay = std::min(0.75, 1 - 1.0 / static_cast<double>(step));  // 0, 1/2, 2/3, 3/4, 3/4, …
      const std::vector<float> weights = weights_of(toy), average = average_of(toy);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        expected[i] = decay * expected[i] + (1 - decay) * weights[i];
      }
      CHECK(largest_difference(expected, average) < 1e-6);
      if (step == 1) CHECK(average == weights);
    }
    CHECK(toy.optimizer.state().size() == without.optimizer.state().size() + toy.slab.parts().size());
  }
}

TEST_CASE("moving average: it is evaluated at the end of a run, and a run that was cut ends with the same bytes") {
  const CacheFolder folder;
  Config config = averaged_config(0.8);
  config.train.steps = 12;
  config.eval.every = 6;
  config.checkpoint.every = 5;
  const RunFolder whole{folder.path / "whole"}, cut{folder.path / "cut"};
  const auto toy = trained<Toy>(config, whole.root);
  trained<Toy>(config, cut.root, 7);
  for (const std::string file : {"step-000012/model.safetensors", "step-000012/optimizer.safetensors",
                                 "average/model.safetensors", "average/config.toml"}) {
    CAPTURE(file);
    CHECK(read_file(whole.root / "checkpoints" / file) == read_file(cut.root / "checkpoints" / file));
  }

  const auto stored = read_safetensors(whole.checkpoint(12) / "optimizer.safetensors");
  for (const auto& [name, tensor] : read_safetensors(whole.average() / "model.safetensors")) {
    CHECK(tensor.to_vector<float>() == stored.at("ema." + name).to_vector<float>());
  }
  const UsableCheckpoint found = find_checkpoint({whole.root, "average"});
  CHECK(found.averaged);
  CHECK(found.text == "moving average of the weights up to step 12");

  const auto line = read_metrics(whole.metrics()).back();
  CHECK(line["averaged"] == nlohmann::ordered_json({12}));
  load_weights(whole, whole.average(), toy->model);
  const kernels::MatmulPrecisionScope precision(matmul_precision(toy->resolved));  // of the training
  CHECK(line["average_loss"] == toy->objective.evaluate({}).loss());
}

TEST_CASE("moving average: a run that is given more steps goes on with it") {
  const CacheFolder folder;
  Config config = averaged_config(0.8);
  config.schedule.kind = ScheduleKind::constant;
  config.train.steps = 12;
  const RunFolder straight{folder.path / "straight"}, longer{folder.path / "longer"};
  trained<Toy>(config, straight.root);
  config.train.steps = 8;
  trained<Toy>(config, longer.root);
  config.train.steps = 12;
  Toy toy(config);
  TrainingState state = load_checkpoint(longer, 8, toy.model, toy.optimizer);
  train(toy.objective, toy.slab, toy.optimizer, toy.resolved, longer, state, {});
  CHECK(read_file(straight.average() / "model.safetensors") == read_file(longer.average() / "model.safetensors"));
}

TEST_CASE("moving average: parameters that are not trained have their own values in it") {
  const CacheFolder folder;
  const Toy toy(averaged_config(0));
  const auto frozen = [](std::string_view name) { return name == "token_embedding.weight" ? 0.0 : 1.0; };
  const ParameterSlab slab(toy.model, frozen);
  const ResolvedConfig config = resolve(averaged_config(0.5));
  const auto optimizer = make_optimizer(config, slab);
  const RunFolder run{folder.path / "run"};
  create_run(run.root, to_toml(config), toy.objective.facts().tokenizers);
  for (const std::int64_t step : {1, 2}) {
    slab.zero_grad();
    optimizer->step(0.1, step);  // by weight decay alone
  }
  const std::string text = to_toml(config);
  stage_checkpoint(run, toy.model, *optimizer, {.step = 2}, {.config_toml = text})->publish();
  stage_moving_average(run).checkpoint->publish();
  const auto average = read_safetensors(run.average() / "model.safetensors");
  const auto last = read_safetensors(run.checkpoint(2) / "model.safetensors");
  for (const auto& [name, tensor] : average) {
    const bool same = tensor.to_vector<float>() == last.at(name).to_vector<float>();
    if (name == "token_embedding.weight") CHECK(same);
    if (name == "blocks.0.attention.qkv.weight") CHECK_FALSE(same);
  }
}

TEST_CASE("moving average: batch norm's running statistics are averaged as the weights are") {
  const CacheFolder folder;
  Config config = averaged_config(0.75);
  config.model.options["norm_kind"] = std::string("batch");
  config.train.steps = 6;
  config.eval.every = 3;
  Toy toy(config);
  std::map<std::string, std::vector<double>> expected;
  for (std::int64_t step = 1; step <= 6; ++step) {
    toy.step(step);
    const double decay = std::min(0.75, 1 - 1.0 / static_cast<double>(step));
    for (const auto& buffer : toy.model.named_buffers()) {
      const std::vector<float> values = buffer.second.to_vector<float>();
      std::vector<double>& average = expected[buffer.first];
      average.resize(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) average[i] = decay * average[i] + (1 - decay) * values[i];
    }
  }
  CHECK(expected.size() == toy.model.named_buffers().size());
  std::map<std::string, Tensor> state;
  for (const auto& entry : toy.optimizer.state()) state.emplace(entry.first, entry.second);
  for (const auto& average : expected) {
    CAPTURE(average.first);
    REQUIRE(state.contains("ema." + average.first));
    const std::vector<float> kept = state.at("ema." + average.first).to_vector<float>();
    for (std::size_t i = 0; i < kept.size(); ++i) CHECK(std::abs(kept[i] - average.second[i]) < 1e-5);
  }

  // They are part of the checkpoints and of the average.
  const RunFolder whole{folder.path / "whole"}, cut{folder.path / "cut"};
  trained<Toy>(config, whole.root);
  trained<Toy>(config, cut.root, 4);
  CHECK(read_file(whole.average() / "model.safetensors") == read_file(cut.average() / "model.safetensors"));
  const auto stored = read_safetensors(whole.checkpoint(6) / "optimizer.safetensors");
  for (const auto& weight : read_safetensors(whole.average() / "model.safetensors")) {
    CHECK(weight.second.to_vector<float>() == stored.at("ema." + weight.first).to_vector<float>());
  }

  // In a checkpoint of an older version there are none of them: they begin with the next step.
  NamedTensors older;
  for (const auto& entry : stored) {
    if (entry.first.find("running_") == entry.first.npos) older.emplace_back(entry.first, entry.second);
  }
  write_safetensors(folder.path / "older", older);
  toy.optimizer.load_state(SafetensorsFile(folder.path / "older"));
  toy.step(7);
  for (const auto& buffer : toy.model.named_buffers()) {
    CHECK(state.at("ema." + buffer.first).to_vector<float>() == buffer.second.to_vector<float>());
  }
}

TEST_CASE("moving average: a small share of weights that hardly move is not lost in rounding") {
  const CacheFolder folder;
  constexpr double kDecay = 0.99999;
  constexpr std::int64_t kSteps = 200'000;
  const Toy toy(averaged_config(kDecay, "sgd"));
  toy.optimizer.add_to_average(1);  // the average is that of the weights
  const std::vector<float> before = average_of(toy);
  for (float& weight : toy.slab.values().span<float>()) weight *= 1.01F;
  const std::vector<float> after = weights_of(toy);
  for (std::int64_t step = kSteps + 1; step <= 2 * kSteps; ++step) toy.optimizer.add_to_average(step);
  const std::vector<float> average = average_of(toy);
  double largest = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double expected = after[i] + std::pow(kDecay, kSteps) * (double{before[i]} - after[i]);
    if (before[i] != 0) largest = std::max(largest, std::abs(average[i] / expected - 1));
  }
  CHECK(largest < 1e-3);  // with each step by itself the average stopped 0.005 before
}

TEST_CASE("moving average: its decay may follow the number of steps, and it begins with the run") {
  CHECK(resolved({"train.ema=-1", "train.steps=1000"}).train.ema == doctest::Approx(0.99));
  CHECK(resolved({"train.ema=-1", "train.steps=5"}).train.ema == 0.5);
  CHECK(resolve(resolved({"train.ema=-1", "train.steps=1000"}).values()).train.ema == doctest::Approx(0.99));
  Config longer = parse_config(to_toml(resolved({"train.ema=-1", "train.steps=1000"})), "x.toml");
  apply_override(longer, "train.steps", "2000");
  CHECK(resolve(longer).train.ema == doctest::Approx(0.995));
  Config given = parse_config(to_toml(resolved({"train.ema=0.9", "train.steps=1000"})), "x.toml");
  apply_override(given, "train.steps", "2000");
  CHECK(resolve(given).train.ema == 0.9);
  check_invalid({"train.ema=-1", "train.minutes=1", "schedule.kind=wsd"},
                "train.ema: expected a decay beside train.minutes, which has no number of steps beforehand, got -1");
  check_invalid({"train.ema=-0.5"}, "train.ema: expected -1 or 0 <= value < 1, got -0.5");
  check_invalid({"train.ema=0.5", "checkpoint.average=3"},
                "train.ema: expected 0 beside checkpoint.average, since a run has one average, got 0.5");
  check_invalid({"train.ema=0.5", "train.sync_every=10"},
                "train.ema: expected 0 beside train.sync_every, with which each rank has weights of its own, got 0.5");
  CHECK_THROWS_AS(resolved({"train.ema=1"}), UsageError);

  const ResolvedConfig off = resolved({}), on = resolved({"train.ema=0.5"});
  CHECK_THROWS_WITH_AS(check_resume(off, on),
                       "train.ema: the run has 0, got 0.5: a moving average begins with the run and goes on to its end",
                       UsageError);
  CHECK(check_resume(on, resolved({"train.ema=0.25"})) == std::vector<std::string>{"train.ema is now 0.25"});
  CHECK(optimizer_bytes(on, ParameterKind::matrix, 10) == optimizer_bytes(off, ParameterKind::matrix, 10) + 40);
}
