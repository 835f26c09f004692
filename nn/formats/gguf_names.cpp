#include "nn/formats/gguf.h"

namespace tapeformer {

TensorMap gguf_gpt2_map(const TransformerShape& shape) {
  const std::int64_t dim = shape.dim;
  TensorMap map{.rows = {
                    {"token_embedding.weight", {{"token_embd.weight"}}},
                    {"position_embedding.weight", {{"position_embd.weight"}}},
                    {"blocks.#.attention_norm.weight", {{"blk.#.attn_norm.weight"}}},
                    {"blocks.#.attention_norm.bias", {{"blk.#.attn_norm.bias"}}, false, {dim}},
                    {"blocks.#.attention.qkv.weight", {{"blk.#.attn_qkv.weight"}}},
                    {"blocks.#.attention.qkv.bias", {{"blk.#.attn_qkv.bias"}}, false, {3 * dim}},
                    {"blocks.#.attention.out.weight", {{"blk.#.attn_output.weight"}}},
                    {"blocks.#.attention.out.bias", {{"blk.#.attn_output.bias"}}, false, {dim}},
                    {"blocks.#.feed_forward_norm.weight", {{"blk.#.ffn_norm.weight"}}},
                    {"blocks.#.feed_forward_norm.bias", {{"blk.#.ffn_norm.bias"}}, false, {dim}},
                    {"blocks.#.feed_forward.up.weight", {{"blk.#.ffn_up.weight"}}},
                    {"blocks.#.feed_forward.up.bias", {{"blk.#.ffn_up.bias"}}, false, {shape.ff_dim}},
                    {"blocks.#.feed_forward.down.weight", {{"blk.#.ffn_down.weight"}}},
                    {"blocks.#.feed_forward.down.bias", {{"blk.#.ffn_down.bias"}}, false, {dim}},
                    {"final_norm.weight", {{"output_norm.weight"}}},
                    {"final_norm.bias", {{"output_norm.bias"}}, false, {dim}},
                }};
  if (!shape.tied) map.rows.push_back({"head.weight", {{"output.weight"}}});
  return for_each_layer(map, shape.layers);
}

TensorMap gguf_llama_map(const TransformerShape& shape, bool interleaved) {
  const std::int64_t queries = shape.heads * shape.head_dim, keys = shape.kv_heads * shape.head_dim;
  const auto turned = [&](std::int64_t heads) { return interleaved ? heads : 0; };
  const auto qkv = [&](const std::string& end) {
    return std::vector<TensorPart>{{"blk.#.attn_q." + end, queries, turned(shape.heads)},
                                   {"blk.#.attn_k." + end, keys, turned(shape.kv_heads)},
                                   {"blk.#.attn_v." + end, keys}};
  };
  TensorMap map{.rows = {
                    {"token_embedding.weight", {{"token_embd.weight"}}},
                    {"blocks.#.attention_norm.weight", {{"blk.#.attn_norm.weight"}}},
                    {"blocks.#.attention.qkv.weight", qkv("weight")},
                    {"blocks.#.attention.out.weight", {{"blk.#.attn_output.weight"}}},
                    {"blocks.#.feed_forward_norm.weight", {{"blk.#.ffn_norm.weight"}}},
                    {"blocks.#.feed_forward.gate_up.weight",
                     {{"blk.#.ffn_gate.weight", shape.ff_dim}, {"blk.#.ffn_up.weight", shape.ff_dim}}},
                    {"blocks.#.feed_forward.down.weight", {{"blk.#.ffn_down.weight"}}},
                    {"final_norm.weight", {{"output_norm.weight"}}},
                }};
  if (shape.qkv_bias) map.rows.push_back({"blocks.#.attention.qkv.bias", qkv("bias")});
  if (shape.out_bias) map.rows.push_back({"blocks.#.attention.out.bias", {{"blk.#.attn_output.bias"}}});
  if (shape.ff_bias) {
    map.rows.push_back({"blocks.#.feed_forward.gate_up.bias",
                        {{"blk.#.ffn_gate.bias", shape.ff_dim}, {"blk.#.ffn_up.bias", shape.ff_dim}}});
    map.rows.push_back({"blocks.#.feed_forward.down.bias", {{"blk.#.ffn_down.bias"}}});
  }
  if (shape.qk_norm) {
    map.rows.push_back({"blocks.#.attention.q_norm.weight", {{"blk.#.attn_q_norm.weight"}}});
    map.rows.push_back({"blocks.#.attention.k_norm.weight", {{"blk.#.attn_k_norm.weight"}}});
  }
  if (!shape.tied) map.rows.push_back({"head.weight", {{"output.weight"}}});
  return for_each_layer(map, shape.layers);
}

}  // namespace tapeformer
