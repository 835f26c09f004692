#include "nn/layers/scalar_mix.h"

#include "autograd/ops/activations.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"

namespace tapeformer {

ScalarMix::ScalarMix(std::int64_t layers, DType dtype)
    : weight(register_parameter("weight", {layers}, dtype, Init::zeros())),
      gamma(register_parameter("gamma", {1}, dtype, Init::ones())) {}

Variable ScalarMix::forward(std::span<const Variable> layers) const {
  const auto count = static_cast<std::int64_t>(layers.size());
  check(count == weight.size(0), "scalar mix: got ", count, " layers, expected ", weight.size(0));
  return call([&] {
    const Variable shares = mul(softmax(weight.on(*layers[0].tape())), gamma);
    Variable sum;
    for (std::int64_t j = 0; j < count; ++j) {
      check(layers[j].sizes() == layers[0].sizes(), "scalar mix: layer ", j, " is ", layers[j].sizes(), ", layer 0 is ",
            layers[0].sizes(), ": expected the same sizes");
      const Variable part = mul(layers[j], slice(shares, 0, j, j + 1));
      sum = j == 0 ? part : add(sum, part);
    }
    return sum;
  });
}

std::vector<double> ScalarMix::shares() const {
  Tape tape(no_grad);
  return softmax(weight.on(tape)).value().to(DType::f64).to_vector<double>();
}

}  // namespace tapeformer
