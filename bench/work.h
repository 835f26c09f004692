// The work (model and batch sizes) that the step benchmarks measure, and functions that they share.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "autograd/kernels/gemm/precision.h"
#include "core/error.h"

namespace tapeformer::bench {

struct Work {
  // A model family: gpt, rnn (of LSTM cells, without heads) or transformer, which has `layers` on each side, and
  // sources and targets of one length. Or llama: a gpt of today's blocks.
  std::string arch = "gpt";
  std::int64_t layers = 4, heads = 4, dim = 128, vocab = 65, batch = 12, length = 64;
  int steps = 10, warmup = 3, threads = 2;
  kernels::MatmulPrecision matmul = kernels::MatmulPrecision::highest;
};

// The widths of llama's blocks: two query heads share a head of keys and values, and the feed-forward layer has as many
// parameters as one of 4·dim without a gate.
inline std::int64_t llama_kv_heads(const Work& work) { return std::max<std::int64_t>(work.heads / 2, 1); }
inline std::int64_t llama_ff_dim(const Work& work) { return (8 * work.dim + 95) / 96 * 32; }

inline void add_work_options(CLI::App& app, Work& work) {
  app.add_option("--arch", work.arch)
      ->check(CLI::IsMember({"gpt", "llama", "transformer", "rnn"}))
      ->capture_default_str();
  const auto add = [&](const char* name, auto& value) {
    app.add_option(name, value)->check(CLI::PositiveNumber)->capture_default_str();
  };
  add("--layers", work.layers);
  add("--heads", work.heads);
  add("--dim", work.dim);
  add("--vocab", work.vocab);
  add("--batch", work.batch);
  add("--length", work.length);
  add("--steps", work.steps);
  add("--warmup", work.warmup);
  add("--threads", work.threads);
  app.add_option_function<std::string>(
         "--matmul", [&](const std::string& word) { work.matmul = value_of<kernels::MatmulPrecision>(word); })
      ->check(CLI::IsMember(words_of<kernels::MatmulPrecision>()))
      ->default_str("highest");
}

inline double median(std::vector<double> values) {
  check(!values.empty(), "median: no values");
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

template <class F>
double seconds_of(const F& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The median time of f in seconds over work.steps calls, after work.warmup calls that are not measured.
template <class F>
double median_seconds(const Work& work, const F& f) {
  std::vector<double> seconds;
  for (int i = 0; i < work.warmup + work.steps; ++i) {
    const double taken = seconds_of(f);
    if (i >= work.warmup) seconds.push_back(taken);
  }
  return median(seconds);
}

}  // namespace tapeformer::bench
