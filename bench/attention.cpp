// Measures the attention kernels alone, forward and backward, for several head sizes and lengths. For each it prints
// one line of JSON: ms, and GFLOP/s (only the products that a causal mask leaves are counted).
#include <iostream>
#include <nlohmann/json.hpp>

#include "autograd/kernels/attention/attention.h"
#include "autograd/tensor/tensor.h"
#include "bench/work.h"
#include "core/parallel.h"

namespace tapeformer::bench {
namespace {

void measure(const Work& work, std::int64_t length, std::int64_t dim) {
  const std::int64_t heads = std::max<std::int64_t>(2, 16384 / length);  // of one batch; their vectors lie side by side
  const Tensor packed = Tensor::full({length, 3, heads, dim}, DType::f32, 0.01), gradient = packed.clone();
  const Tensor o = Tensor::full({length, heads, dim}, DType::f32, 0.01), dout = o.clone();
  const Tensor log_sum_exp = Tensor::empty({heads, length}, DType::f32);
  const kernels::AttentionStrides in{0, 3 * heads * dim, dim}, out{0, heads * dim, dim};
  const kernels::AttentionShape shape{1, heads, length, length, dim, dim, 0.1, true};
  const auto part = [&](const Tensor& tensor, int i) { return tensor.data<float>() + i * heads * dim; };
  const double forward_s = median_seconds(work, [&] {
    kernels::attention_forward(o.data<float>(), out, log_sum_exp.data<float>(), part(packed, 0), in, part(packed, 1),
                               in, part(packed, 2), in, shape);
  });
  const double backward_s = median_seconds(work, [&] {
    kernels::attention_backward<float>({part(gradient, 0), in, 0}, {part(gradient, 1), in, 0},
                                       {part(gradient, 2), in, 0}, dout.data<float>(), out, o.data<float>(), out,
                                       log_sum_exp.data<float>(), part(packed, 0), in, part(packed, 1), in,
                                       part(packed, 2), in, shape);
  });
  const double product = static_cast<double>(heads * length * length * dim);  // FLOP; half of a full product
  std::cout << nlohmann::ordered_json{{"length", length},
                                      {"head_dim", dim},
                                      {"heads", heads},
                                      {"forward_ms", 1e3 * forward_s},
                                      {"backward_ms", 1e3 * backward_s},
                                      {"forward_gflops", 2e-9 * product / forward_s},
                                      {"backward_gflops", 5e-9 * product / backward_s}}
            << '\n';
}

}  // namespace
}  // namespace tapeformer::bench

int main(int argc, char** argv) {
  tapeformer::bench::Work work;
  CLI::App app("Attention forward and backward over head sizes 32 to 128 and lengths 64 to 2048; JSON lines");
  tapeformer::bench::add_work_options(app, work);
  CLI11_PARSE(app, argc, argv);
  tapeformer::set_thread_count(work.threads);
  const tapeformer::kernels::MatmulPrecisionScope precision(work.matmul);
  for (const std::int64_t dim : {32, 64, 128}) {
    for (const std::int64_t length : {64, 128, 256, 512, 1024, 2048}) tapeformer::bench::measure(work, length, dim);
  }
}
