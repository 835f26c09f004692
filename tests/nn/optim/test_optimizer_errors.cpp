// What a program that calls optimizers by itself may get wrong.
#include <doctest/doctest.h>

#include "core/error.h"
#include "nn/optim/optimizers.h"
#include "tests/nn/optimizer_support.h"

using namespace tapeformer;

TEST_CASE("optimizer: a step below 1 is refused by every optimizer, and changes no parameter") {
  for (const char* name : {"adamw", "adam", "sgd", "muon"}) {
    CAPTURE(name);
    const ToyModule toy(DType::f32);
    const ParameterSlab slab(toy);
    const auto optimizer = make_optimizer(name, slab, {});
    give_gradients(toy, random_numbers(1, 15), random_numbers(2, 5));
    const std::vector<double> weights = numbers(slab.values());
    CHECK_THROWS_WITH_AS(optimizer->step(0.1, 0), "optimizer: steps are counted from 1, got 0", Error);
    CHECK(numbers(slab.values()) == weights);
  }
}
