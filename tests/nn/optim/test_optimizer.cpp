#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/error.h"
#include "nn/optim/optimizers.h"
#include "tests/largest_difference.h"
#include "tests/nn/optimizer_support.h"
#include "tests/temp_folder.h"

using namespace tapeformer;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The state of one parameter in double: its values and the slabs m and v beside them.
struct Plain {
  std::vector<double> w, m = std::vector<double>(w.size()), v = m;
};
// One update of a single value in double, as the papers and PyTorch write it. `g` is the gradient after clipping.
using Rule = std::function<void(double& w, double& m, double& v, double g, double lr, double decay, int step)>;

struct RuleCase {
  const char* name;
  OptimizerSettings options;
  std::vector<std::string> state;  // the prefixes of its state slabs
  Rule rule;
};

void adam(double& w, double& m, double& v, double g, double lr, int step) {
  m = 0.9 * m + (1 - 0.9) * g;
  v = 0.98 * v + (1 - 0.98) * g * g;
  const double m_hat = m / (1 - std::pow(0.9, step)), v_hat = v / (1 - std::pow(0.98, step));
  w -= lr * m_hat / (std::sqrt(v_hat) + 1e-8);
}

std::vector<RuleCase> rule_cases() {
  const OptimizerSettings adam_options{{"beta1", 0.9}, {"beta2", 0.98}, {"eps", 1e-8}, {"weight_decay", 0.1}};
  const OptimizerSettings options{{"weight_decay", 0.1}, {"momentum", 0.8}};
  OptimizerSettings nesterov = options, plain = options;
  nesterov["nesterov"] = true;
  plain["momentum"] = 0.0;
  return {{"adamw",
           adam_options,
           {"m", "v"},
           [](double& w, double& m, double& v, double g, double lr, double decay, int step) {
             const double before = w;
             adam(w, m, v, g, lr, step);
             w -= lr * decay * before;
           }},
          {"adam",
           adam_options,
           {"m", "v"},
           [](double& w, double& m, double& v, double g, double lr, double decay, int step) {
             adam(w, m, v, g + decay * w, lr, step);
           }},
          {"sgd",
           options,
           {"v"},
           [](double& w, double&, double& v, double g, double lr, double decay, int) {
             v = 0.8 * v + g + decay * w;
             w -= lr * v;
           }},
          {"sgd",
           nesterov,
           {"v"},
           [](double& w, double&, double& v, double g, double lr, double decay, int) {
             g += decay * w;
             v = 0.8 * v + g;
             w -= lr * (g + 0.8 * v);
           }},
          {"sgd", plain, {}, [](double& w, double&, double&, double g, double lr, double decay, int) {
             w -= lr * (g + decay * w);
           }}};
}

void update(Plain& plain, const RuleCase& c, const std::vector<double>& gradients, double clip_factor, double lr,
            double decay, int step) {
  for (std::size_t i = 0; i < plain.w.size(); ++i) {
    c.rule(plain.w[i], plain.m[i], plain.v[i], gradients[i] * clip_factor, lr, decay, step);
  }
}

void check_close(const Tensor& tensor, const std::vector<double>& expected, double tolerance) {
  const std::vector<double> values = numbers(tensor);
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(std::abs(values[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i])));
  }
}

}  // namespace

TEST_CASE("optimizer: every rule on the slab equals its formula in double, with clipping and decay of matrices") {
  for (RuleCase c : rule_cases()) {
    for (const DType dtype : {DType::f64, DType::f32}) {
      for (const double clip : {0.0, 2.0}) {
        CAPTURE(c.name);
        CAPTURE(c.state.size());
        CAPTURE(dtype);
        CAPTURE(clip);
        c.options["clip"] = clip;
        const ToyModule toy(dtype);
        const ParameterSlab slab(toy);
        const auto optimizer = make_optimizer(c.name, slab, c.options);
        Plain matrix{numbers(toy.matrix.value())}, vector{numbers(toy.vector.value())},
            unused{numbers(toy.unused.value())};
        const double tolerance = dtype == DType::f64 ? 1e-13 : 1e-6;
        bool clipped = false, unclipped = false;

        for (int step = 1; step <= 5; ++step) {
          // Gradients shrink from step to step, so that clipping ends.
          auto g = random_numbers(step, 15), h = random_numbers(100 + step, 5);
          for (auto* values : {&g, &h}) {
            for (double& value : *values) value /= step;
          }
          double squares = 0;
          for (double value : g) squares += value * value;
          for (double value : h) squares += value * value;
          const double norm = std::sqrt(squares);
          const double factor = clip > 0 && norm > clip ? clip / norm : 1;
          (factor < 1 ? clipped : unclipped) = true;

          const double lr = 0.01 * step;
          slab.zero_grad();
          give_gradients(toy, g, h);
          CHECK(optimizer->step(lr, step) == doctest::Approx(norm).epsilon(dtype == DType::f64 ? 1e-13 : 1e-6));
          update(matrix, c, g, factor, lr, 0.1, step);
          update(vector, c, h, factor, lr, 0, step);
          update(unused, c, std::vector<double>(4), factor, lr, 0.1, step);
          check_close(toy.matrix.value(), matrix.w, tolerance);
          check_close(toy.vector.value(), vector.w, tolerance);
          check_close(toy.unused.value(), unused.w, tolerance);
        }
        CHECK(unclipped);
        CHECK(clipped == (clip > 0));

        const NamedTensors state = optimizer->state();
        REQUIRE(state.size() == 3 * c.state.size());
        const OptimizerRow& row = *find_optimizer_row(c.name);
        CHECK(row.state_slabs(optimizer_options(row, c.options), ParameterKind::matrix) ==
              static_cast<int>(c.state.size()));
        for (std::size_t i = 0; i < c.state.size(); ++i) {
          const auto check_state = [&](std::size_t k, const char* name, const Plain& plain) {
            CHECK(state[3 * i + k].first == c.state[i] + "." + name);
            check_close(state[3 * i + k].second, c.state[i] == "m" ? plain.m : plain.v, tolerance);
          };
          check_state(0, "matrix", matrix);
          check_state(1, "vector", vector);
          check_state(2, "unused", unused);
        }
      }
    }
  }
}

TEST_CASE("optimizer: two steps worked out by hand") {
  // A matrix of one value, 1, whose gradient is 0.5; lr 0.1, weight decay 0.1, momentum 0.9.
  struct OneValue : Module {
    Variable w = register_parameter("w", {1, 1}, DType::f64, Init::ones(), ParameterKind::matrix);
  };
  const auto train = [](const char* name, const OptimizerSettings& options) {
    const OneValue model;
    model.initialize_parameters(1);
    const ParameterSlab slab(model);
    const auto optimizer = make_optimizer(name, slab, options);
    std::vector<double> values;
    for (int step = 1; step <= 2; ++step) {
      slab.zero_grad();
      Tape tape;
      tape.backward(sum(mul(model.w.on(tape), Variable::constant(tape, Tensor::full({1, 1}, DType::f64, 0.5)))));
      CHECK(optimizer->step(0.1, step) == 0.5);
      values.push_back(model.w.value().item());
    }
    return values;
  };
  const auto check_values = [](const std::vector<double>& values, double first, double second) {
    CHECK(values[0] == doctest::Approx(first).epsilon(1e-12));
    CHECK(values[1] == doctest::Approx(second).epsilon(1e-12));
  };
  // v = 0.6, then v = 0.9·0.6 + 0.5 + 0.094 = 1.134.
  check_values(train("sgd", {{"weight_decay", 0.1}, {"momentum", 0.9}}), 0.94, 0.8266);
  // 0.6 + 0.9·0.6 = 1.14, then g = 0.5886, v = 1.1286, g + 0.9·v = 1.60434.
  check_values(train("sgd", {{"weight_decay", 0.1}, {"momentum", 0.9}, {"nesterov", true}}), 0.886, 0.725566);
  check_values(train("sgd", {{"momentum", 0.0}}), 0.95, 0.9);
  // The norm 0.5 is clipped to 0.25; the decay is added afterwards: 0.35, then 0.25 + 0.0965.
  check_values(train("sgd", {{"weight_decay", 0.1}, {"momentum", 0.0}, {"clip", 0.25}}), 0.965, 0.93035);
  // β₁ = β₂ = 0.5 and ε = 1: g = 0.6, m̂ = 0.6, √v̂ = 0.6: 1 − 0.06/1.6 = 0.9625. Then g = 0.59625,
  // m̂ = (0.15 + 0.298125)/0.75 = 0.5975, v̂ = (0.09 + 0.17775703125)/0.75 = 0.357009375.
  const double adam_second = 0.9625 - 0.05975 / (std::sqrt(0.357009375) + 1);
  check_values(train("adam", {{"beta1", 0.5}, {"beta2", 0.5}, {"eps", 1.0}, {"weight_decay", 0.1}}), 0.9625,
               adam_second);
  // Decoupled: g = 0.5 both times, so m̂ = √v̂ = 0.5, and w loses 0.01·w + 0.05/1.5.
  check_values(train("adamw", {{"beta1", 0.5}, {"beta2", 0.5}, {"eps", 1.0}, {"weight_decay", 0.1}}), 0.99 - 0.1 / 3,
               0.99 * (0.99 - 0.1 / 3) - 0.1 / 3);
}

TEST_CASE("optimizer: without decay adam and adamw are the same to the bit") {
  std::vector<std::vector<double>> weights;
  for (const char* name : {"adam", "adamw"}) {
    const ToyModule toy(DType::f32);
    const ParameterSlab slab(toy);
    const auto optimizer = make_optimizer(name, slab, {{"weight_decay", 0.0}, {"clip", 1.0}});
    for (int step = 1; step <= 3; ++step) {
      slab.zero_grad();
      give_gradients(toy, random_numbers(step, 15), random_numbers(10 + step, 5));
      optimizer->step(0.1, step);
    }
    weights.push_back(numbers(slab.values()));
  }
  CHECK(weights[0] == weights[1]);
}

TEST_CASE("optimizer: the table") {
  const std::vector<std::string> names = optimizer_names();
  REQUIRE(names.size() >= 4);
  CHECK(std::vector(names.begin(), names.begin() + 4) == std::vector<std::string>{"adamw", "adam", "sgd", "muon"});
  const auto option = [](const char* name, const char* key, const OptimizerSettings& given = {}) {
    return optimizer_options(*find_optimizer_row(name), given).number(key);
  };
  CHECK(option("adamw", "weight_decay") == 0.1);
  CHECK(option("adam", "weight_decay") == 0);
  CHECK(option("sgd", "weight_decay") == 0);
  CHECK(option("adamw", "weight_decay", {{"weight_decay", 0.5}}) == 0.5);
  CHECK(option("sgd", "clip", {{"clip", 2.0}}) == 2);
  CHECK(find_optimizer_row("lion") == nullptr);
  CHECK_THROWS_WITH_AS(register_optimizer(*find_optimizer_row("sgd")),
                       "register_optimizer: there is an optimizer sgd already", Error);
  const ToyModule toy(DType::f32);
  const ParameterSlab slab(toy);
  CHECK_THROWS_WITH_AS(make_optimizer("lion", slab, {}),
                       doctest::Contains("make_optimizer: expected one of adamw, adam, sgd, muon"), Error);
  CHECK_THROWS_WITH_AS(
      make_optimizer("sgd", slab, {{"beta1", 0.5}}),
      "optimizer.beta1: sgd has no such key; its keys are lr, clip, weight_decay, momentum, nesterov, state",
      UsageError);
  CHECK_THROWS_WITH_AS(make_optimizer("sgd", slab, {{"momentum", 0.0}, {"nesterov", true}}),
                       "sgd: nesterov: expected a momentum above 0 beside it, got 0", UsageError);
}

TEST_CASE("optimizer: a gradient that is not finite updates nothing") {
  for (const double bad : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    const ToyModule toy(DType::f32);
    const ParameterSlab slab(toy);
    const auto optimizer = make_optimizer("adamw", slab, {{"weight_decay", 0.1}, {"clip", 1.0}});
    auto g = random_numbers(1, 15), h = random_numbers(2, 5);
    give_gradients(toy, g, h);
    optimizer->step(0.1, 1);
    const auto weights = numbers(slab.values());
    std::vector<std::vector<double>> moments;
    for (const auto& [name, tensor] : optimizer->state()) moments.push_back(numbers(tensor));

    h[3] = bad;
    slab.zero_grad();
    give_gradients(toy, g, h);
    CHECK_FALSE(std::isfinite(optimizer->step(0.1, 2)));
    CHECK(numbers(slab.values()) == weights);
    std::size_t i = 0;
    for (const auto& [name, tensor] : optimizer->state()) CHECK(numbers(tensor) == moments[i++]);
  }
}

TEST_CASE("optimizer: the state goes through a file and on to the same bits") {
  const TempFolder folder;
  const ToyModule toy(DType::f32), other(DType::f32);
  const ParameterSlab slab(toy), other_slab(other);
  const auto optimizer = make_optimizer("adamw", slab, {{"weight_decay", 0.1}});
  const auto other_optimizer = make_optimizer("adamw", other_slab, {{"weight_decay", 0.1}});
  give_gradients(toy, random_numbers(1, 15), random_numbers(2, 5));
  optimizer->step(0.1, 1);

  write_safetensors(folder.path / "state", optimizer->state());
  other_optimizer->load_state(read_safetensors(folder.path / "state"));
  other.load_state_dict(toy.state_dict());
  for (const ToyModule* module : {&toy, &other}) {
    module->zero_grad();
    give_gradients(*module, random_numbers(3, 15), random_numbers(4, 5));
  }
  CHECK(optimizer->step(0.1, 2) == other_optimizer->step(0.1, 2));
  CHECK(numbers(slab.values()) == numbers(other_slab.values()));

  SUBCASE("a state that does not fit changes nothing") {
    const auto before = numbers(other_optimizer->state()[0].second);
    auto state = read_safetensors(folder.path / "state");
    state.erase("v.unused");
    CHECK_THROWS_WITH_AS(other_optimizer->load_state(state),
                         "optimizer state: v.unused: expected (2, 2) f32, which is missing", Error);
    state.emplace("v.unused", Tensor::zeros({4}, DType::f32));
    CHECK_THROWS_WITH_AS(other_optimizer->load_state(state),
                         "optimizer state: v.unused: expected (2, 2) f32, got (4) f32", Error);
    state.at("v.unused") = Tensor::zeros({2, 2}, DType::f64);
    CHECK_THROWS_WITH_AS(other_optimizer->load_state(state),
                         "optimizer state: v.unused: expected (2, 2) f32, got (2, 2) f64", Error);
    CHECK(numbers(other_optimizer->state()[0].second) == before);

    const auto sgd = make_optimizer("sgd", slab, {{"momentum", 0.9}});
    CHECK_THROWS_WITH_AS(sgd->load_state(read_safetensors(folder.path / "state")),
                         "optimizer state: m.matrix is unknown to this optimizer or model", Error);
  }
}

TEST_CASE("optimizer: a moving average in f32 is as large as the weights that it averages") {
  constexpr double kDecay = 0.9998;
  const ToyModule toy(DType::f32);
  const ParameterSlab slab(toy);
  const auto optimizer = make_optimizer("sgd", slab, {{"momentum", 0.0}});
  optimizer->keep_moving_average(kDecay);
  RandomStream random({.seed = 3});
  std::vector<double> expected(slab.values().numel());
  for (std::int64_t step = 1; step <= 20000; ++step) {
    const double decay = std::min(kDecay, 1 - 1 / static_cast<double>(step));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto weight = static_cast<float>(0.5 + random.uniform());
      slab.values().data<float>()[i] = weight;
      expected[i] = decay * expected[i] + (1 - decay) * weight;
    }
    optimizer->add_to_average(step);
  }
  double largest = 0;
  for (const ParameterSlab::Part& part : slab.parts()) {
    for (const auto& [name, tensor] : optimizer->state()) {
      if (name != "ema." + part.name) continue;
      const std::vector<double> average = numbers(tensor);
      const auto begin = expected.begin() + part.begin;
      largest = std::max(largest, largest_difference(average, std::vector<double>(begin, begin + std::ssize(average))));
    }
  }
  CHECK(largest > 0);
  CHECK(largest < 3e-5);  // with two rounded shares it was 1.3e-4
}

TEST_CASE("optimizer: an empty state goes through a file as well") {
  const TempFolder folder;
  const ToyModule toy(DType::f32);
  const ParameterSlab slab(toy);
  const auto optimizer = make_optimizer("sgd", slab, {{"momentum", 0.0}});
  write_safetensors(folder.path / "state", optimizer->state());
  CHECK_NOTHROW(optimizer->load_state(read_safetensors(folder.path / "state")));
}
