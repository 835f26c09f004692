// A lower bound for the time of a training step: all its matrix products alone, plus one pass of AdamW over all
// parameters. Nothing else is counted: no activation, norm, softmax, loss, clipping or copy. Under --matmul highest the
// products are OpenBLAS's own (one call with all threads), else those of the step, which round and pack their operands.
// Prints one JSON line; shared_products_ms is the time of the products when our own threads share
// them.
//
// The products of a step, with N = batch·length rows of sources and of targets: each linear layer (in → out) has the
// forward product (N, in)·(in, out), the input's gradient (N, out)·(out, in) and the weight's (out, N)·(N, in).
// Attention has, in each head, two products (T, d_k, T) forward and four backward; none is recomputed, and the causal
// mask skips none. A recurrent layer has a linear layer of its inputs, and of its states the weight's product and, at
// each time step, the forward product and the states' gradient, which cannot be joined.
#include <iostream>
#include <nlohmann/json.hpp>

#include "autograd/kernels/gemm/gemm.h"
#include "autograd/kernels/gemm/int8/int8_gemm.h"
#include "autograd/kernels/optim/adamw.h"
#include "autograd/tensor/tensor.h"
#include "bench/work.h"
#include "core/parallel.h"

namespace tapeformer::bench {
namespace {

struct Limit {
  double products_s = 0, shared_products_s = 0, attention_s = 0, adamw_s = 0, gflop = 0;
};

// Adds `count` products c (m, n) = a (m, k)·b (k, n) with transposed operands as the step has them. `in_8_bits`: where
// the precision is low.
void add_products(const Work& work, std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed,
                  bool b_transposed, std::int64_t count, Limit& limit, bool in_8_bits = false) {
  if (count == 0) return;
  const Tensor a = Tensor::full({m, k}, DType::f32, 0.5), b = Tensor::full({k, n}, DType::f32, 0.5);
  const Tensor c = Tensor::full({m, n}, DType::f32, 0);
  const kernels::MatrixView<float> a_view{a.data<float>(), a_transposed ? m : k, a_transposed};
  const kernels::MatrixView<float> b_view{b.data<float>(), b_transposed ? k : n, b_transposed};
  if (in_8_bits && work.matmul == kernels::MatmulPrecision::low) {
    const double seconds = static_cast<double>(count) * median_seconds(work, [&] {
                             kernels::int8_gemm(c.data<float>(), n, a_view.data, a_view.ld, b_view, m, n, k, 0);
                           });
    limit.products_s += seconds;
    limit.shared_products_s += seconds;
    limit.gflop += 2e-9 * static_cast<double>(count * m * n * k);
    return;
  }
  limit.products_s += static_cast<double>(count) * median_seconds(work, [&] {
                        const auto product = work.matmul == kernels::MatmulPrecision::highest
                                                 ? kernels::gemm_by_blas_threads<float>
                                                 : kernels::gemm<float>;
                        product(c.data<float>(), n, a_view, b_view, m, n, k, 1.0f, 0.0f);
                      });
  limit.shared_products_s += static_cast<double>(count) * median_seconds(work, [&] {
                               kernels::gemm(c.data<float>(), n, a_view, b_view, m, n, k, 1.0f, 0.0f);
                             });
  limit.gflop += 2e-9 * static_cast<double>(count * m * n * k);
}

// The three products of one linear layer.
void add_linear(const Work& work, std::int64_t in, std::int64_t out, std::int64_t count, Limit& limit,
                bool is_head = false) {
  const std::int64_t rows = work.batch * work.length;
  add_products(work, rows, out, in, false, true, count, limit, !is_head);
  add_products(work, rows, in, out, false, false, count, limit, !is_head);
  add_products(work, out, in, rows, true, false, count, limit);
}

// The six products of attention in every head of one layer; each thread takes whole heads.
void add_attention(const Work& work, Limit& limit) {
  const std::int64_t t = work.length, d = work.dim / work.heads, heads = work.batch * work.heads;
  const Tensor rows = Tensor::full({heads, t, d}, DType::f32, 0.5),
               scores = Tensor::full({heads, t, t}, DType::f32, 0.5);
  const Tensor out = Tensor::full({heads, t, d}, DType::f32, 0);
  const double seconds = median_seconds(work, [&] {
    parallel_for(0, heads, 1, [&](std::int64_t head, std::int64_t) {
      const kernels::MatmulPrecisionScope precision(work.matmul);
      float *x = rows.data<float>() + head * t * d, *s = scores.data<float>() + head * t * t;
      float* y = out.data<float>() + head * t * d;
      for (int i = 0; i < 2; ++i) kernels::gemm(s, t, {x, d}, {x, d, true}, t, t, d, 1.0f, 0.0f);  // Q Kᵀ, dO Vᵀ
      for (int i = 0; i < 2; ++i) kernels::gemm(y, d, {s, t}, {x, d}, t, d, t, 1.0f, 0.0f);        // P V, dS K
      for (int i = 0; i < 2; ++i) kernels::gemm(y, d, {s, t, true}, {x, d}, t, d, t, 1.0f, 0.0f);  // Pᵀ dO, dSᵀ Q
    });
  });
  limit.attention_s += static_cast<double>(work.layers) * seconds;
  limit.gflop += 12e-9 * static_cast<double>(work.layers * heads * t * t * d);
}

void add_adamw(const Work& work, std::int64_t parameters, Limit& limit) {
  const auto slab = [&] { return Tensor::full({parameters}, DType::f32, 0.01); };
  const Tensor w = slab(), m = slab(), v = slab(), g = slab();
  const kernels::AdamWStep step{3e-4, 0.9, 0.95, 1e-8, 1, 10};
  const kernels::DecayPart all{parameters, 0.1};
  limit.adamw_s = median_seconds(work, [&] {
    kernels::adamw(w.data<float>(), m.data<float>(), v.data<float>(), g.data<float>(), step, {&all, 1});
  });
}

// A Transformer, with or without an encoder.
void add_transformer(const Work& work, Limit& limit) {
  const std::int64_t d = work.dim;
  const bool encoder_decoder = work.arch == "transformer";
  const std::int64_t stacks = encoder_decoder ? 2 : 1, cross = encoder_decoder ? work.layers : 0;
  add_linear(work, d, 3 * d, stacks * work.layers, limit);
  add_linear(work, d, d, stacks * work.layers + 2 * cross,
             limit);  // outputs of attention, and cross-attention's queries
  add_linear(work, d, 2 * d, cross, limit);
  add_linear(work, d, 4 * d, stacks * work.layers, limit);
  add_linear(work, 4 * d, d, stacks * work.layers, limit);
  add_linear(work, d, work.vocab, 1, limit, /*is_head=*/true);
  for (std::int64_t stack = 0; stack < stacks + (cross > 0); ++stack) add_attention(work, limit);
  const std::int64_t block = 12 * d * d + 13 * d, cross_part = 4 * d * d + 6 * d;
  const std::int64_t outside = encoder_decoder ? work.vocab * d : (work.vocab + work.length + 2) * d;
  add_adamw(work, stacks * work.layers * block + cross * cross_part + outside, limit);
}

// A gpt of today's blocks.
void add_llama(const Work& work, Limit& limit) {
  const std::int64_t d = work.dim, head_dim = d / work.heads, qkv = d + 2 * llama_kv_heads(work) * head_dim;
  const std::int64_t ff_dim = llama_ff_dim(work);
  add_linear(work, d, qkv, work.layers, limit);
  add_linear(work, d, d, work.layers, limit);
  add_linear(work, d, 2 * ff_dim, work.layers, limit);
  add_linear(work, ff_dim, d, work.layers, limit);
  add_linear(work, d, work.vocab, 1, limit, /*is_head=*/true);
  add_attention(work, limit);
  const std::int64_t block = d * (qkv + d + 3 * ff_dim + 2) + 2 * head_dim;
  add_adamw(work, work.layers * block + (work.vocab + 1) * d, limit);
}

// LSTM layers between an embedding and a head that is not tied.
void add_recurrent_model(const Work& work, Limit& limit) {
  const std::int64_t d = work.dim, gates = 4 * d, rows = work.batch * work.length;
  const std::int64_t steps = work.layers * work.length;
  add_linear(work, d, gates, work.layers, limit);
  add_products(work, work.batch, gates, d, false, true, steps, limit);
  add_products(work, work.batch, d, gates, false, false, steps, limit);
  add_products(work, gates, d, rows, true, false, work.layers, limit);
  add_linear(work, d, work.vocab, 1, limit, /*is_head=*/true);
  add_adamw(work, work.layers * (2 * gates * d + 2 * gates) + 2 * work.vocab * d + work.vocab, limit);
}

void measure(const Work& work) {
  set_thread_count(work.threads);
  const kernels::MatmulPrecisionScope precision(work.matmul);
  Limit limit;
  if (work.arch == "rnn") {
    add_recurrent_model(work, limit);
  } else if (work.arch == "llama") {
    add_llama(work, limit);
  } else {
    add_transformer(work, limit);
  }
  const double seconds = limit.products_s + limit.attention_s + limit.adamw_s;
  std::cout << nlohmann::ordered_json{{"matmul", word_of(work.matmul)},
                                      {"limit_ms", 1e3 * seconds},
                                      {"products_ms", 1e3 * limit.products_s},
                                      {"shared_products_ms", 1e3 * limit.shared_products_s},
                                      {"attention_ms", 1e3 * limit.attention_s},
                                      {"adamw_ms", 1e3 * limit.adamw_s},
                                      {"gflop", limit.gflop},
                                      {"gflops_per_s", limit.gflop / (limit.products_s + limit.attention_s)},
                                      {"blas", kernels::blas_description()}}
            << '\n';
}

}  // namespace
}  // namespace tapeformer::bench

int main(int argc, char** argv) {
  tapeformer::bench::Work work;
  CLI::App app("The least time of a training step; one JSON line");
  tapeformer::bench::add_work_options(app, work);
  CLI11_PARSE(app, argc, argv);
  try {
    tapeformer::bench::measure(work);
  } catch (const std::exception& error) {
    std::cerr << "limit: " << error.what() << '\n';
    return 1;
  }
}
