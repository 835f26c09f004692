// The norms of layers that train.watch writes.
#include "train/loop/layer_watch.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/train/toy.h"

using namespace tapeformer;

namespace {

double squares(const Tensor& x) {
  double sum = 0;
  for (const double value : x.to(DType::f64).to_vector<double>()) sum += value * value;
  return sum;
}

}  // namespace

TEST_CASE("watch: a parameter belongs to the layer up to its first number, else to its module") {
  CHECK(layer_of_parameter("blocks.0.attention.qkv.weight") == "blocks.0");
  CHECK(layer_of_parameter("encoder.blocks.12.feed_forward.up.bias") == "encoder.blocks.12");
  CHECK(layer_of_parameter("encoder.layers.0.forward.weight_ih") == "encoder.layers.0");
  CHECK(layer_of_parameter("final_norm.weight") == "final_norm");
  CHECK(layer_of_parameter("head.norm.bias") == "head.norm");
  CHECK(layer_of_parameter("w2") == "w2");
}

TEST_CASE("watch: the norms of each layer are those of its gradients, weights and outputs, and training is the same") {
  const CacheFolder folder;
  for (const bool recompute : {false, true}) {
    Config config = toy_config();
    config.train.recompute = recompute;
    config.train.accumulate = 2;
    Toy plain(config), toy(config);
    plain.step(1), toy.step(1);
    plain.step(2);
    nlohmann::ordered_json norms;
    StepResult result;
    double output_squares = 0;
    std::int64_t outputs = 0;
    {
      const HookHandle hook = toy.model.module("blocks.0").register_forward_hook([&](const Module&, const Variable& y) {
        output_squares += squares(y.value());
        outputs += y.value().numel();
        return Variable();
      });
      LayerWatch watch(toy.model, toy.slab);
      result = train_step(toy.objective, toy.slab, toy.optimizer, toy.resolved, 2,
                          learning_rate(schedule_spec(toy.resolved), 2), {.watch = &watch});
      norms = watch.norms();
    }
    std::vector<std::string> layers;
    for (const auto& entry : norms.items()) layers.push_back(entry.key());
    CHECK(layers ==
          std::vector<std::string>{"token_embedding", "position_embedding", "blocks.0", "blocks.1", "final_norm"});
    double all = 0;
    for (const std::string& layer : layers) {
      CAPTURE(layer);
      double gradient = 0, weight = 0;
      for (const NamedParameter& parameter : toy.model.named_parameters()) {
        if (!parameter.name.starts_with(layer + ".")) continue;
        gradient += squares(parameter.variable.grad());
        weight += squares(parameter.variable.value());
      }
      CHECK(norms[layer]["grad"].get<double>() == doctest::Approx(std::sqrt(gradient)).epsilon(1e-6));
      CHECK(norms[layer]["weight"].get<double>() == doctest::Approx(std::sqrt(weight)).epsilon(1e-6));
      CHECK(norms[layer].contains("activation") == layer.starts_with("blocks"));
      all += gradient;
    }
    CHECK(result.grad_norm == doctest::Approx(std::sqrt(all)).epsilon(1e-6));
    const double rms = std::sqrt(output_squares / static_cast<double>(outputs));
    CHECK(norms["blocks.0"]["activation"].get<double>() == doctest::Approx(rms).epsilon(1e-6));
    CHECK(!toy.model.module("blocks.0").has_hooks());
    CHECK(toy.weights() == plain.weights());
  }
}

TEST_CASE("watch: the layers of a recurrent model, and of one whose embeddings do not learn") {
  const CacheFolder folder;
  Config config = toy_config();
  config.model.type = "rnn";
  config.model.options = {{"layers", std::int64_t{2}}, {"dim", std::int64_t{12}}};
  Toy toy(config);
  const ParameterSlab slab(toy.model, [](std::string_view name) { return name.starts_with("token") ? 0.0 : 1.0; });
  const auto optimizer = make_optimizer(toy.resolved, slab);
  LayerWatch watch(toy.model, slab);
  train_step(toy.objective, slab, *optimizer, toy.resolved, 1, 1e-3, {.watch = &watch});
  const nlohmann::ordered_json norms = watch.norms();
  std::vector<std::string> layers;
  for (const auto& entry : norms.items()) layers.push_back(entry.key());
  CHECK(layers == std::vector<std::string>{"layers.0", "layers.1", "head"});
  CHECK(norms["layers.1"]["activation"].get<double>() > 0);
  CHECK(!norms["head"].contains("activation"));
}

TEST_CASE("watch: a run of rare communication tells the norms of its gradients, also in the step that shares changes") {
  const CacheFolder folder;
  Config config = toy_config();
  nlohmann::ordered_json norms[2];
  for (const std::int64_t sync_every : {0, 1}) {
    config.train.sync_every = sync_every;
    Toy toy(config);
    const auto optimizer = make_optimizer(toy.resolved, toy.slab, Communicator::alone());
    LayerWatch watch(toy.model, toy.slab);
    train_step(toy.objective, toy.slab, *optimizer, toy.resolved, 1, 1e-3, {.watch = &watch});
    norms[sync_every] = watch.norms();
  }
  REQUIRE(norms[0].size() == norms[1].size());
  for (const auto& entry : norms[0].items()) {
    const std::string layer = entry.key();
    CAPTURE(layer);
    CHECK(norms[1][layer]["grad"] == norms[0][layer]["grad"]);
  }
}
