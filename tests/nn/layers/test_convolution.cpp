// Convolution and pooling beside PyTorch's (golden/make_convolution_golden.py), and the layer.
#include "autograd/ops/ops.h"
#include "core/parallel.h"
#include "nn/layers/convolution.h"
#include "tests/nn/golden_support.h"

using namespace tapeformer;

namespace {

constexpr WindowOptions2d kGoldenWindows[] = {{3, 1, 0}, {3, 1, 1}, {3, 2, 1}, {5, 2, 2}, {2, 2, 0}, {1, 3, 0}};

}  // namespace

TEST_CASE("convolution: outputs and gradients are those of torch's conv2d and max_pool2d") {
  const Golden all = read_safetensors(TEST_DATA "/golden/convolution.safetensors");
  for (const WindowOptions2d& windows : kGoldenWindows) {
    for (const auto& [dtype, tolerance] : {std::pair{DType::f64, 1e-13}, {DType::f32, 1e-5}}) {
      const std::string name = str_cat(windows.kernel, ".", windows.stride, ".", windows.padding);
      CAPTURE(name);
      const auto tensor = [&, dtype = dtype](const std::string& key) { return all.at(name + "/" + key).to(dtype); };
      const auto expect = [&, tolerance = tolerance](const Tensor& got, const std::string& key) {
        CAPTURE(key);
        CHECK(got.sizes() == tensor(key).sizes());
        CHECK(distance(got, tensor(key)) < tolerance);
      };
      const Conv2d layer(3, 4, windows, dtype);
      layer.load_state_dict({{"weight", tensor("weight")}, {"bias", tensor("bias")}});
      const Variable x = Variable::parameter(tensor("x"));
      {
        Tape tape;
        const Variable y = layer.forward(x.on(tape));
        tape.backward(y, tensor("cotangent"));
        expect(y.value(), "y"), expect(x.grad(), "dx");
        expect(layer.weight.grad(), "dweight"), expect(layer.bias.grad(), "dbias");
      }
      const Variable again = Variable::parameter(tensor("x"));
      Tape tape;
      const Variable pool =
          max_pool2d(again.on(tape), {windows.kernel, windows.stride, std::min(windows.padding, windows.kernel / 2)});
      tape.backward(pool, tensor("pool_cotangent"));
      expect(pool.value(), "pool"), expect(again.grad(), "pool_dx");
    }
  }
}

TEST_CASE("convolution: the bits are the same for any number of threads, and the layer begins as torch's") {
  const int threads = thread_count();
  const auto results = [](int count) {
    set_thread_count(count);
    const Conv2d layer(3, 5, {3, 1, 1}, DType::f32);
    layer.initialize_parameters(7);
    Tape tape;
    const Variable x = Variable::parameter(Tensor::zeros({4, 3, 16, 16}, DType::f32));
    initialize(x.value(), Init::normal(1), {.seed = 3});
    tape.backward(sum(square(max_pool2d(layer.forward(x.on(tape)), {2, 2, 0}))));
    return std::vector{values_of(x.grad()), values_of(layer.weight.grad()), values_of(layer.weight.value()),
                       values_of(layer.bias.value())};
  };
  const auto one = results(1), two = results(2);
  set_thread_count(threads);
  CHECK(one == two);
  for (const std::size_t i : {2, 3}) {
    const double largest = std::ranges::max(one[i], {}, [](double x) { return std::abs(x); });
    CHECK(std::abs(largest) <= 1 / std::sqrt(27.0));
    CHECK(std::abs(largest) > 0.5 / std::sqrt(27.0));
  }
}
