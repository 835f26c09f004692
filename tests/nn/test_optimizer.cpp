#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "autograd/ops/ops.h"
#include "autograd/tape/tape.h"
#include "core/error.h"
#include "nn/optim/optimizer.h"
#include "tests/temp_folder.h"

using namespace tapeformer;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A matrix, a vector, and a parameter that no loss uses.
struct ToyModule : Module {
  explicit ToyModule(DType dtype)
      : matrix(register_parameter("matrix", {3, 5}, dtype, Init::normal(1))),
        vector(register_parameter("vector", {5}, dtype, Init::normal(1))),
        unused(register_parameter("unused", {2, 2}, dtype, Init::normal(1))) {
    initialize_parameters(1);
  }
  Variable matrix, vector, unused;
};

std::vector<double> numbers(const Tensor& tensor) { return tensor.to(DType::f64).to_vector<double>(); }

std::vector<double> random_numbers(std::uint64_t seed, std::size_t count) {
  RandomStream random({.seed = seed});
  std::vector<double> values(count);
  for (double& value : values) value = random.normal();
  return values;
}

// Runs a backward whose gradients of matrix and vector are these numbers.
void give_gradients(const ToyModule& toy, const std::vector<double>& matrix, const std::vector<double>& vector) {
  Tape tape;
  const auto dot = [&](const Variable& parameter, const std::vector<double>& gradient) {
    const Tensor tensor = Tensor::from(std::span<const double>(gradient), parameter.sizes()).to(parameter.dtype());
    return sum(mul(parameter, Variable::constant(tape, tensor)));
  };
  tape.backward(add(dot(toy.matrix, matrix), dot(toy.vector, vector)));
}

// AdamW as SPEC and Loshchilov & Hutter write it, one parameter after another in double.
struct PlainAdamW {
  OptimizerSpec spec;
  std::vector<double> w, m = std::vector<double>(w.size()), v = m;

  void update(const std::vector<double>& gradients, double clip_factor, double lr, double decay, int step) {
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double g = gradients[i] * clip_factor;
      m[i] = spec.beta1 * m[i] + (1 - spec.beta1) * g;
      v[i] = spec.beta2 * v[i] + (1 - spec.beta2) * g * g;
      const double m_hat = m[i] / (1 - std::pow(spec.beta1, step)), v_hat = v[i] / (1 - std::pow(spec.beta2, step));
      w[i] -= lr * (m_hat / (std::sqrt(v_hat) + spec.eps) + decay * w[i]);
    }
  }
};

void check_close(const Tensor& tensor, const std::vector<double>& expected, double tolerance) {
  const std::vector<double> values = numbers(tensor);
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(std::abs(values[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i])));
  }
}

}  // namespace

TEST_CASE("parameter slab: keeps the values, in order and on cache lines") {
  const ToyModule toy(DType::f32);
  std::vector<std::vector<double>> before;
  for (const NamedParameter& parameter : toy.named_parameters()) before.push_back(numbers(parameter.variable.value()));
  const ParameterSlab slab(toy);

  REQUIRE(slab.parts().size() == 3);
  const char* names[] = {"matrix", "vector", "unused"};
  const bool matrices[] = {true, false, true};
  std::int64_t end = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const ParameterSlab::Part& part = slab.parts()[i];
    CHECK(part.name == names[i]);
    CHECK(part.matrix == matrices[i]);
    CHECK(part.begin >= end);
    CHECK(part.size == part.variable.value().numel());
    CHECK(reinterpret_cast<std::uintptr_t>(part.variable.value().data<float>()) % 64 == 0);
    CHECK(part.variable.value().shares_storage_with(slab.values()));
    CHECK(part.variable.value().data<float>() == slab.values().data<float>() + part.begin);
    CHECK(numbers(part.variable.value()) == before[i]);
    for (std::int64_t gap = end; gap < part.begin; ++gap) CHECK(slab.values().data<float>()[gap] == 0);
    end = part.begin + part.size;
  }
  CHECK(toy.matrix.value().shares_storage_with(slab.values()));  // the module's own handle sees the slab as well
}

TEST_CASE("parameter slab: gradients are gathered in it, and zero where no backward wrote") {
  const ToyModule toy(DType::f64);
  const ParameterSlab slab(toy);
  slab.gradients().fill(7);  // left from before
  slab.zero_grad();
  const auto g = random_numbers(1, 15), h = random_numbers(2, 5);
  give_gradients(toy, g, h);
  give_gradients(toy, g, h);
  slab.complete_gradients();
  const std::vector<double> gathered = numbers(slab.gradients());
  for (const ParameterSlab::Part& part : slab.parts()) {
    for (std::int64_t i = 0; i < part.size; ++i) {
      const double expected = part.name == "matrix" ? 2 * g[i] : part.name == "vector" ? 2 * h[i] : 0;
      CHECK(gathered[part.begin + i] == expected);
    }
  }
}

TEST_CASE("parameter slab: refuses a module without parameters, or of two dtypes") {
  struct Empty : Module {
  } empty;
  CHECK_THROWS_WITH_AS(ParameterSlab{empty}, "parameter slab: the model has no parameters", Error);
  struct Mixed : Module {
    Mixed() {
      register_parameter("a", {2}, DType::f32, Init::normal(1));
      register_parameter("b", {2}, DType::f64, Init::normal(1));
    }
  } mixed;
  CHECK_THROWS_AS(ParameterSlab{mixed}, Error);
}

TEST_CASE("optimizer: AdamW on the slab is the formulas in double, with clipping and decay of matrices") {
  for (const DType dtype : {DType::f64, DType::f32}) {
    for (const double clip : {0.0, 2.0}) {
      CAPTURE(dtype);
      CAPTURE(clip);
      const OptimizerSpec spec{.beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .weight_decay = 0.1, .clip = clip};
      const ToyModule toy(dtype);
      const ParameterSlab slab(toy);
      AdamW optimizer(slab, spec);
      PlainAdamW matrix{spec, numbers(toy.matrix.value())}, vector{spec, numbers(toy.vector.value())},
          unused{spec, numbers(toy.unused.value())};
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
        CHECK(optimizer.update(lr, step) == doctest::Approx(norm).epsilon(dtype == DType::f64 ? 1e-13 : 1e-6));
        matrix.update(g, factor, lr, 0.1, step);
        vector.update(h, factor, lr, 0, step);
        unused.update(std::vector<double>(4), factor, lr, 0.1, step);
        check_close(toy.matrix.value(), matrix.w, tolerance);
        check_close(toy.vector.value(), vector.w, tolerance);
        check_close(toy.unused.value(), unused.w, tolerance);
      }
      CHECK(unclipped);
      CHECK(clipped == (clip > 0));

      const NamedTensors state = optimizer.state();
      REQUIRE(state.size() == 6);
      const std::vector<std::vector<double>> moments{matrix.m, vector.m, unused.m, matrix.v, vector.v, unused.v};
      const char* names[] = {"m.matrix", "m.vector", "m.unused", "v.matrix", "v.vector", "v.unused"};
      for (std::size_t i = 0; i < 6; ++i) {
        CHECK(state[i].first == names[i]);
        check_close(state[i].second, moments[i], tolerance);
      }
    }
  }
}

TEST_CASE("optimizer: a gradient that is not finite updates nothing") {
  for (const double bad : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    const ToyModule toy(DType::f32);
    const ParameterSlab slab(toy);
    AdamW optimizer(slab, {.weight_decay = 0.1, .clip = 1});
    auto g = random_numbers(1, 15), h = random_numbers(2, 5);
    give_gradients(toy, g, h);
    optimizer.update(0.1, 1);
    const auto weights = numbers(slab.values());
    std::vector<std::vector<double>> moments;
    for (const auto& [name, tensor] : optimizer.state()) moments.push_back(numbers(tensor));

    h[3] = bad;
    slab.zero_grad();
    give_gradients(toy, g, h);
    CHECK_FALSE(std::isfinite(optimizer.update(0.1, 2)));
    CHECK(numbers(slab.values()) == weights);
    std::size_t i = 0;
    for (const auto& [name, tensor] : optimizer.state()) CHECK(numbers(tensor) == moments[i++]);
  }
}

TEST_CASE("optimizer: the state goes through a file and on to the same bits") {
  const TempFolder folder;
  const ToyModule toy(DType::f32), other(DType::f32);
  const ParameterSlab slab(toy), other_slab(other);
  AdamW optimizer(slab, {.weight_decay = 0.1}), other_optimizer(other_slab, {.weight_decay = 0.1});
  give_gradients(toy, random_numbers(1, 15), random_numbers(2, 5));
  optimizer.update(0.1, 1);

  write_safetensors(folder.path / "state", optimizer.state());
  other_optimizer.load_state(read_safetensors(folder.path / "state"));
  other.load_state_dict(toy.state_dict());
  for (const ToyModule* module : {&toy, &other}) {
    module->zero_grad();
    give_gradients(*module, random_numbers(3, 15), random_numbers(4, 5));
  }
  CHECK(optimizer.update(0.1, 2) == other_optimizer.update(0.1, 2));
  CHECK(numbers(slab.values()) == numbers(other_slab.values()));

  SUBCASE("a state that does not fit changes nothing") {
    const auto before = numbers(other_optimizer.state()[0].second);
    auto state = read_safetensors(folder.path / "state");
    state.erase("v.unused");
    CHECK_THROWS_WITH_AS(other_optimizer.load_state(state),
                         "optimizer state: v.unused: expected (2, 2) f32, which is missing", Error);
    state.emplace("v.unused", Tensor::zeros({4}, DType::f32));
    CHECK_THROWS_WITH_AS(other_optimizer.load_state(state),
                         "optimizer state: v.unused: expected (2, 2) f32, got (4) f32", Error);
    state.at("v.unused") = Tensor::zeros({2, 2}, DType::f64);
    CHECK_THROWS_WITH_AS(other_optimizer.load_state(state),
                         "optimizer state: v.unused: expected (2, 2) f32, got (2, 2) f64", Error);
    CHECK(numbers(other_optimizer.state()[0].second) == before);
  }
}
