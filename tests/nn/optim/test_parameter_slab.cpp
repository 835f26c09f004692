// All parameters in one piece of memory, and all gradients in another.
#include <doctest/doctest.h>

#include "core/error.h"
#include "nn/optim/parameter_slab.h"
#include "tests/nn/optimizer_support.h"

using namespace tapeformer;

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
    CHECK((part.role.kind == ParameterKind::matrix) == matrices[i]);
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
