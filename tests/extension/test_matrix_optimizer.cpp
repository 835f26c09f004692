// An optimizer by matrix that only this file knows, with keys of its own: each matrix steps by its momentum divided by
// a norm of it, which is the same for every element. It trains, resumes, and is dealt out to ranks in whole matrices.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "tests/train/thread_ranks.h"
#include "tests/train/toy.h"
#include "train/distributed/make_optimizer.h"

using namespace tapeformer;

namespace {

class UnitStep : public Optimizer {
 public:
  UnitStep(const ParameterSlab& slab, const KeyValues& options)
      : Optimizer(slab, options.number("clip")),
        inertia_(static_cast<float>(options.number("inertia"))),
        largest_(options.text("measure") == "largest"),
        mean_(add_state("mean")) {
    for (const ParameterSlab::Part& part : slab.parts()) {
      if (part.role.kind == ParameterKind::matrix) check(part.sizes.rank() == 2, "unit_step: ", part.name, " is cut");
    }
  }

 private:
  void update(const OptimizerStep& step) override {
    for (const ParameterSlab::Part& part : slab().parts()) {
      const auto own = [&](const Tensor& slab) { return slab.span<float>().subspan(part.begin, part.size); };
      const auto weights = own(slab().values()), gradients = own(slab().gradients()), mean = own(mean_);
      float norm = 0;
      for (std::size_t i = 0; i < mean.size(); ++i) {
        mean[i] = inertia_ * mean[i] + static_cast<float>(step.gradient_scale) * gradients[i];
        norm = largest_ ? std::max(norm, std::abs(mean[i])) : norm + mean[i] * mean[i];
      }
      if (!largest_) norm = std::sqrt(norm / static_cast<float>(mean.size()));
      // What is no matrix may be cut, and steps by its momentum alone.
      const bool matrix = part.role.kind == ParameterKind::matrix;
      for (std::size_t i = 0; i < mean.size() && norm > 0; ++i) {
        const float change = matrix ? mean[i] / norm : mean[i];
        weights[i] -= static_cast<float>(step.lr) * change;
      }
    }
  }

  float inertia_;
  bool largest_;
  Tensor mean_;
};

OptimizerRow unit_step_row() {
  return {.name = "unit_step",
          .help = "momentum divided by the matrix's norm",
          .keys = {{"inertia", 0.8, "share of the last mean that the next one keeps", fraction()},
                   {"measure", std::string("largest"), "the norm", std::vector<std::string>{"largest", "mean"}}},
          .state_slabs = [](const KeyValues&, ParameterKind) { return 1; },
          .make = [](const ParameterSlab& slab, const KeyValues& options) -> std::unique_ptr<Optimizer> {
            return std::make_unique<UnitStep>(slab, options);
          },
          .unit = OptimizerUnit::matrix};
}

const bool unit_step_registered = (register_optimizer(unit_step_row()), true);

Config unit_step_config() {
  Config config = toy_config();
  apply_overrides(config, {{"optimizer.name", {"unit_step"}}});
  config.optimizer.lr = 1e-2;
  config.train.accumulate = 4;
  config.checkpoint.every = 3;
  return config;
}

}  // namespace

TEST_CASE("toy optimizer by matrix: its keys are read, checked, offered and written as those of the library's") {
  REQUIRE(unit_step_registered);
  const Config config =
      parse_config("[optimizer]\ninertia = 0.5\nmeasure = \"mean\"\nname = \"unit_step\"\n", "x.toml");
  const ResolvedConfig resolved = resolve(config);
  CHECK(optimizer_options(resolved).number("inertia") == 0.5);
  CHECK(optimizer_options(resolved).text("measure") == "mean");
  const std::string text = to_toml(resolved);
  CHECK(text.find("inertia = 0.5 ") != std::string::npos);
  CHECK(text.find("beta1") == std::string::npos);
  CHECK(resolve(parse_config(text, "run.toml")) == resolved);
  const auto keys = config_keys();
  const auto inertia = std::ranges::find(keys, "optimizer.inertia", &ConfigKey::name);
  REQUIRE(inertia != keys.end());
  CHECK(inertia->owners == std::vector<std::string>{"unit_step"});

  const auto refused = [](const std::string& lines, const char* message) {
    CHECK_THROWS_WITH_AS(resolve(parse_config("[optimizer]\n" + lines, "x.toml")), message, UsageError);
  };
  refused("name = \"unit_step\"\nmeasure = \"least\"\n",
          "x.toml:3: optimizer.measure: expected auto, largest or mean, got \"least\"");
  refused("name = \"unit_step\"\ninertia = 1.5\n", "x.toml:3: optimizer.inertia: expected 0 <= value < 1, got 1.5");
  refused("name = \"unit_step\"\nbeta1 = 0.5\n",
          "optimizer.beta1: unit_step has no such key; its keys are lr, clip, embedding_lr, head_lr, inertia, measure");
  refused("inertia = 0.5\n",
          "optimizer.inertia: adamw has no such key; its keys are lr, clip, embedding_lr, head_lr, beta1, beta2, eps, "
          "weight_decay, state");
}

TEST_CASE("toy optimizer by matrix: it learns, and a run that was cut in two has the bytes of one that was not") {
  const CacheFolder folder;
  const Config config = unit_step_config();
  Toy toy(config);
  const double first = toy.step(1).loss;
  double last = 0;
  for (int step = 2; step <= 30; ++step) last = toy.step(step).loss;
  CHECK(last < first - 0.3);

  const auto whole = trained<Toy>(config, folder.path / "whole"), cut = trained<Toy>(config, folder.path / "cut", 3);
  CHECK(cut->weights() == whole->weights());
  const auto file = [&](const char* run) {
    return read_all(RunFolder{folder.path / run}.checkpoint(config.train.steps) / "optimizer.safetensors");
  };
  CHECK((file("cut") == file("whole")));
}

TEST_CASE("toy optimizer by matrix: 2 and 4 ranks have whole matrices and train as one process does") {
  const CacheFolder folder;
  const Config config = unit_step_config();
  std::vector<std::vector<float>> weights;
  const std::int64_t model_size = Toy(config).model.parameter_count();
  for (const int count : {1, 2, 4}) {
    std::vector<std::int64_t> shares(count);
    run_ranks(count, [&](Communicator& ranks) {
      Toy toy(config);
      toy.objective.share_with(ranks);
      const auto optimizer = make_optimizer(toy.resolved, toy.slab, ranks);
      for (std::int64_t step = 1; step <= 5; ++step) {
        train_step(toy.objective, toy.slab, *optimizer, toy.resolved, step, 3e-3);
      }
      for (const auto& [name, values] : optimizer->state()) shares[ranks.rank()] += values.numel();
      if (ranks.is_root()) weights.push_back(toy.weights());
    });
    // Some rank may have nothing, where the matrices are few; but every number is kept once.
    CHECK(std::accumulate(shares.begin(), shares.end(), std::int64_t{0}) == model_size);
    CHECK(norm_of_difference(weights.back(), weights.front()) < 1e-4);
  }
}
