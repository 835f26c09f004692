// What the benchmarks of whole models share: the configuration of the model, and the JSON that both sides of a
// comparison print.
#pragma once

#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "autograd/tensor/allocator.h"
#include "bench/work.h"
#include "nn/models/gpt.h"
#include "nn/models/rnn.h"
#include "nn/models/transformer.h"

namespace tapeformer::bench {

inline GptConfig gpt_config(const Work& work) {
  GptConfig config{.vocab = work.vocab,
                   .context = work.length,
                   .layers = work.layers,
                   .block = {.dim = work.dim, .heads = work.heads, .ff_dim = 4 * work.dim}};
  if (work.arch == "llama") {
    BlockConfig& block = config.block;
    config.position = Rotary{};
    block.kv_heads = llama_kv_heads(work), block.ff_dim = llama_ff_dim(work);
    block.norm_kind = NormKind::rms, block.activation = ActivationKind::swiglu;
    block.qk_norm = true, block.bias = false;
  }
  return config;
}

inline TransformerConfig transformer_config(const Work& work) {
  return {.source_vocab = work.vocab,
          .target_vocab = work.vocab,
          .context = work.length,
          .layers = work.layers,
          .block = {.dim = work.dim,
                    .heads = work.heads,
                    .ff_dim = 4 * work.dim,
                    .dropout = 0.1,
                    .attention_dropout = 0.1,
                    .norm = NormPlace::post,
                    .activation = ActivationKind::relu,
                    .init = Init::xavier_uniform(),
                    .residual_init = Init::xavier_uniform()}};
}

// A language model of LSTM layers whose embedding is as wide as their states.
inline RnnConfig rnn_config(const Work& work) {
  return {.vocab = work.vocab, .stack = {.layers = work.layers, .input_dim = work.dim, .dim = work.dim}};
}

// One line of JSON: the work, then `results`, then the memory of the process.
inline nlohmann::ordered_json report(const Work& work, const Module& model, const nlohmann::ordered_json& results) {
  nlohmann::ordered_json json{{"peer", "tapeformer"},  {"arch", work.arch},       {"matmul", word_of(work.matmul)},
                              {"layers", work.layers}, {"heads", work.heads},     {"dim", work.dim},
                              {"vocab", work.vocab},   {"batch", work.batch},     {"length", work.length},
                              {"steps", work.steps},   {"threads", work.threads}, {"params", model.parameter_count()}};
  json.update(results);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  json["peak_rss_mib"] = static_cast<double>(usage.ru_maxrss) / 1024;
  json["peak_tensor_mib"] = static_cast<double>(memory_stats().peak) / (1 << 20);
  return json;
}

}  // namespace tapeformer::bench
