// An optimizer that only this file knows: it trains, saves and resumes like those that come with the library.
#include <doctest/doctest.h>

#include "core/error.h"
#include "tests/train/toy.h"

using namespace tapeformer;

namespace {

// The sign of a running mean of the gradients (signSGD with momentum, Bernstein et al. 2018).
class SignSgd : public Optimizer {
 public:
  SignSgd(const ParameterSlab& slab, const KeyValues& options)
      : Optimizer(slab, options.number("clip")),
        momentum_(static_cast<float>(options.number("momentum"))),
        mean_(add_state("mean")) {}

 private:
  void update(const OptimizerStep& step) override {
    const auto weights = slab().values().span<float>(), gradients = slab().gradients().span<float>(),
               mean = mean_.span<float>();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      mean[i] = momentum_ * mean[i] + static_cast<float>(step.gradient_scale) * gradients[i];
      weights[i] -= static_cast<float>(step.lr) * static_cast<float>((mean[i] > 0) - (mean[i] < 0));
    }
  }

  float momentum_;
  Tensor mean_;
};

OptimizerRow sign_sgd_row() {
  return {.name = "sign_sgd",
          .help = "the sign of a running mean of the gradients",
          .keys = {{"momentum", 0.9, "share of the last mean that the next one keeps", fraction()}},
          .state_slabs = [](const KeyValues&, ParameterKind) { return 1; },
          .make = [](const ParameterSlab& slab, const KeyValues& options) -> std::unique_ptr<Optimizer> {
            return std::make_unique<SignSgd>(slab, options);
          }};
}

// Before main(), so that a configuration may name it from the start.
const bool sign_sgd_registered = (register_optimizer(sign_sgd_row()), true);

// The configuration goes through its file's text: the name must be one that a file may hold.
Config sign_sgd_config() {
  Config config = toy_config();
  config.optimizer.lr = 3e-3;
  config.checkpoint.every = 3;
  apply_overrides(config, {{"optimizer.name", {"sign_sgd"}}});
  return parse_config(to_toml(resolve(config)), "config.toml");
}

TrainEnd train(Toy& toy, const RunFolder& run, TrainingState& state) {
  return train(toy.objective, toy.slab, toy.optimizer, toy.resolved, run, state, {});
}

}  // namespace

TEST_CASE("toy optimizer: learns") {
  REQUIRE(sign_sgd_registered);
  const CacheFolder folder;
  Toy toy(sign_sgd_config());
  const double first = toy.step(1).loss;
  double last = 0;
  for (int step = 2; step <= 40; ++step) last = toy.step(step).loss;
  CHECK(last < first - 0.3);
}

TEST_CASE("toy optimizer: 6 steps straight and 3 + 3 with a checkpoint between give the same bytes") {
  const CacheFolder folder;
  const Config config = sign_sgd_config();
  const auto new_run = [&](const char* name, const Toy& toy) {
    return create_run(folder.path / name, to_toml(resolve(config)), {toy.data.tokenizer->to_json(), ""});
  };
  Toy straight(config);
  const RunFolder whole = new_run("whole", straight);
  TrainingState state;
  CHECK(train(straight, whole, state) == TrainEnd::finished);

  Config half = config;
  half.train.steps = 3;
  half.schedule = config.schedule;
  Toy begun(half);
  const RunFolder run = new_run("run", begun);
  TrainingState begun_state;
  train(begun, run, begun_state);

  Toy resumed(config);
  TrainingState resumed_state = load_checkpoint(run, 3, resumed.model, resumed.optimizer);
  CHECK(train(resumed, run, resumed_state) == TrainEnd::finished);
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    CAPTURE(file);
    CHECK((read_all(run.checkpoint(6) / file) == read_all(whole.checkpoint(6) / file)));
  }
  const auto saved = read_safetensors(run.checkpoint(6) / "optimizer.safetensors");
  CHECK(saved.size() == resumed.slab.parts().size());
  CHECK(saved.contains("mean.token_embedding.weight"));

  SUBCASE("another optimizer refuses its checkpoint") {
    Config other_config = config;
    other_config.optimizer.name = "adamw";
    other_config.optimizer.options.clear();
    Toy other(other_config);
    CHECK_THROWS_WITH_AS(load_checkpoint(run, 3, other.model, other.optimizer),
                         doctest::Contains("optimizer state: m.token_embedding.weight: expected"), Error);
  }
}
