#include "nn/formats/huggingface.h"

namespace tapeformer {
namespace {

TensorMap gpt2_map(const TransformerShape& shape) {
  const std::int64_t dim = shape.dim;
  TensorMap map{.rows = {
                    {"token_embedding.weight", {{"transformer.wte.weight"}}},
                    {"position_embedding.weight", {{"transformer.wpe.weight"}}},
                    {"blocks.#.attention_norm.weight", {{"transformer.h.#.ln_1.weight"}}},
                    {"blocks.#.attention_norm.bias", {{"transformer.h.#.ln_1.bias"}}, false, {dim}},
                    {"blocks.#.attention.qkv.weight", {{"transformer.h.#.attn.c_attn.weight"}}, true},
                    {"blocks.#.attention.qkv.bias", {{"transformer.h.#.attn.c_attn.bias"}}, false, {3 * dim}},
                    {"blocks.#.attention.out.weight", {{"transformer.h.#.attn.c_proj.weight"}}, true},
                    {"blocks.#.attention.out.bias", {{"transformer.h.#.attn.c_proj.bias"}}, false, {dim}},
                    {"blocks.#.feed_forward_norm.weight", {{"transformer.h.#.ln_2.weight"}}},
                    {"blocks.#.feed_forward_norm.bias", {{"transformer.h.#.ln_2.bias"}}, false, {dim}},
                    {"blocks.#.feed_forward.up.weight", {{"transformer.h.#.mlp.c_fc.weight"}}, true},
                    {"blocks.#.feed_forward.up.bias", {{"transformer.h.#.mlp.c_fc.bias"}}, false, {shape.ff_dim}},
                    {"blocks.#.feed_forward.down.weight", {{"transformer.h.#.mlp.c_proj.weight"}}, true},
                    {"blocks.#.feed_forward.down.bias", {{"transformer.h.#.mlp.c_proj.bias"}}, false, {dim}},
                    {"final_norm.weight", {{"transformer.ln_f.weight"}}},
                    {"final_norm.bias", {{"transformer.ln_f.bias"}}, false, {dim}},
                }};
  if (shape.tied) {
    map.spare = {"lm_head.weight"};
  } else {
    map.rows.push_back({"head.weight", {{"lm_head.weight"}}});
  }
  return for_each_layer(map, shape.layers);
}

TensorMap llama_map(const TransformerShape& shape) {
  const std::int64_t queries = shape.heads * shape.head_dim, keys = shape.kv_heads * shape.head_dim;
  const auto qkv = [&](const std::string& end) {
    return std::vector<TensorPart>{{"model.layers.#.self_attn.q_proj." + end, queries},
                                   {"model.layers.#.self_attn.k_proj." + end, keys},
                                   {"model.layers.#.self_attn.v_proj." + end, keys}};
  };
  const auto gate_up = [&](const std::string& end) {
    return std::vector<TensorPart>{{"model.layers.#.mlp.gate_proj." + end, shape.ff_dim},
                                   {"model.layers.#.mlp.up_proj." + end, shape.ff_dim}};
  };
  TensorMap map{.rows = {
                    {"token_embedding.weight", {{"model.embed_tokens.weight"}}},
                    {"blocks.#.attention_norm.weight", {{"model.layers.#.input_layernorm.weight"}}},
                    {"blocks.#.attention.qkv.weight", qkv("weight")},
                    {"blocks.#.attention.out.weight", {{"model.layers.#.self_attn.o_proj.weight"}}},
                    {"blocks.#.feed_forward_norm.weight", {{"model.layers.#.post_attention_layernorm.weight"}}},
                    {"blocks.#.feed_forward.gate_up.weight", gate_up("weight")},
                    {"blocks.#.feed_forward.down.weight", {{"model.layers.#.mlp.down_proj.weight"}}},
                    {"final_norm.weight", {{"model.norm.weight"}}},
                }};
  if (shape.qkv_bias) map.rows.push_back({"blocks.#.attention.qkv.bias", qkv("bias")});
  if (shape.out_bias) map.rows.push_back({"blocks.#.attention.out.bias", {{"model.layers.#.self_attn.o_proj.bias"}}});
  if (shape.ff_bias) {
    map.rows.push_back({"blocks.#.feed_forward.gate_up.bias", gate_up("bias")});
    map.rows.push_back({"blocks.#.feed_forward.down.bias", {{"model.layers.#.mlp.down_proj.bias"}}});
  }
  if (shape.qk_norm) {
    map.rows.push_back({"blocks.#.attention.q_norm.weight", {{"model.layers.#.self_attn.q_norm.weight"}}});
    map.rows.push_back({"blocks.#.attention.k_norm.weight", {{"model.layers.#.self_attn.k_norm.weight"}}});
  }
  if (shape.tied) {
    map.spare = {"lm_head.weight"};
  } else {
    map.rows.push_back({"head.weight", {{"lm_head.weight"}}});
  }
  return for_each_layer(map, shape.layers);
}

TensorMap bert_map(const TransformerShape& shape) {
  const std::int64_t dim = shape.dim;
  const std::string layer = "bert.encoder.layer.#.", self = layer + "attention.self.",
                    attended = layer + "attention.output.";
  const auto qkv = [&](const std::string& end) {
    return std::vector<TensorPart>{
        {self + "query." + end, dim}, {self + "key." + end, dim}, {self + "value." + end, dim}};
  };
  TensorMap map{.rows = {
                    {"token_embedding.weight", {{"bert.embeddings.word_embeddings.weight"}}},
                    {"position_embedding.weight", {{"bert.embeddings.position_embeddings.weight"}}},
                    {"segment_embedding.weight", {{"bert.embeddings.token_type_embeddings.weight"}}, false, {2, dim}},
                    {"embedding_norm.weight", {{"bert.embeddings.LayerNorm.weight"}}},
                    {"embedding_norm.bias", {{"bert.embeddings.LayerNorm.bias"}}, false, {dim}},
                    {"blocks.#.attention.qkv.weight", qkv("weight")},
                    {"blocks.#.attention.qkv.bias", qkv("bias"), false, {3 * dim}},
                    {"blocks.#.attention.out.weight", {{attended + "dense.weight"}}},
                    {"blocks.#.attention.out.bias", {{attended + "dense.bias"}}, false, {dim}},
                    {"blocks.#.attention_norm.weight", {{attended + "LayerNorm.weight"}}},
                    {"blocks.#.attention_norm.bias", {{attended + "LayerNorm.bias"}}, false, {dim}},
                    {"blocks.#.feed_forward.up.weight", {{layer + "intermediate.dense.weight"}}},
                    {"blocks.#.feed_forward.up.bias", {{layer + "intermediate.dense.bias"}}, false, {shape.ff_dim}},
                    {"blocks.#.feed_forward.down.weight", {{layer + "output.dense.weight"}}},
                    {"blocks.#.feed_forward.down.bias", {{layer + "output.dense.bias"}}, false, {dim}},
                    {"blocks.#.feed_forward_norm.weight", {{layer + "output.LayerNorm.weight"}}},
                    {"blocks.#.feed_forward_norm.bias", {{layer + "output.LayerNorm.bias"}}, false, {dim}},
                    {"head.transform.weight", {{"cls.predictions.transform.dense.weight"}}},
                    {"head.transform.bias", {{"cls.predictions.transform.dense.bias"}}, false, {dim}},
                    {"head.norm.weight", {{"cls.predictions.transform.LayerNorm.weight"}}},
                    {"head.norm.bias", {{"cls.predictions.transform.LayerNorm.bias"}}, false, {dim}},
                    {"head.bias", {{"cls.predictions.bias"}}},
                }};
  if (shape.next_sentence) {
    map.rows.push_back({"pooler.weight", {{"bert.pooler.dense.weight"}}});
    map.rows.push_back({"pooler.bias", {{"bert.pooler.dense.bias"}}});
    map.rows.push_back({"next_sentence.weight", {{"cls.seq_relationship.weight"}}});
    map.rows.push_back({"next_sentence.bias", {{"cls.seq_relationship.bias"}}});
  }
  // Some files have the bias of the logits under this name too.
  map.spare = {"cls.predictions.decoder.bias"};
  if (shape.tied) {
    map.spare.push_back("cls.predictions.decoder.weight");
  } else {
    map.rows.push_back({"head.weight", {{"cls.predictions.decoder.weight"}}});
  }
  return for_each_layer(map, shape.layers);
}

}  // namespace

const HuggingFaceNames& gpt2_names() {
  static const HuggingFaceNames names{
      gpt2_map,        "transformer.", "lm_head.", {".attn.bias", ".attn.masked_bias"}, "transformer.wte.weight",
      "lm_head.weight"};
  return names;
}

const HuggingFaceNames& llama_names() {
  static const HuggingFaceNames names{
      llama_map, "model.", "lm_head.", {".rotary_emb.inv_freq"}, "model.embed_tokens.weight", "lm_head.weight"};
  return names;
}

const HuggingFaceNames& bert_names() {
  static const HuggingFaceNames names{bert_map,
                                      "bert.",
                                      "cls.",
                                      {"embeddings.position_ids"},
                                      "bert.embeddings.word_embeddings.weight",
                                      "cls.predictions.decoder.weight"};
  return names;
}

}  // namespace tapeformer
