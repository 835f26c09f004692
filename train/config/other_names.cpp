#include "train/config/other_names.h"

#include <algorithm>
#include <string>

namespace tapeformer {
namespace {

struct OtherName {
  std::string_view name, key;
};

constexpr OtherName kOtherNames[] = {
    // nanoGPT and llm.c
    {"n_layer", "model.layers"},
    {"n_head", "model.heads"},
    {"n_embd", "model.dim"},
    {"block_size", "model.context"},
    {"max_iters", "train.steps"},
    {"batch_size", "train.batch"},
    {"gradient_accumulation_steps", "train.accumulate"},
    {"learning_rate", "optimizer.lr"},
    {"grad_clip", "optimizer.clip"},
    {"warmup_iters", "schedule.warmup"},
    {"lr_decay_iters", "schedule.total"},
    {"decay_lr", "schedule.kind"},
    {"eval_interval", "eval.every"},
    {"eval_iters", "eval.batches"},
    {"log_interval", "train.log_every"},
    {"dataset", "data.text"},
    {"dtype", "train.matmul"},
    // Hugging Face
    {"num_hidden_layers", "model.layers"},
    {"num_attention_heads", "model.heads"},
    {"num_key_value_heads", "model.kv_heads"},
    {"hidden_size", "model.dim"},
    {"intermediate_size", "model.ff_dim"},
    {"max_position_embeddings", "model.context"},
    {"hidden_act", "model.activation"},
    {"tie_word_embeddings", "model.tie_embeddings"},
    {"scale_attn_weights", "model.attention_scale"},
    {"scale_embedding", "model.embedding_scale"},
    {"mlp_bias", "model.ff_bias"},
    {"vocab_size", "tokenizer.vocab"},
    {"max_steps", "train.steps"},
    {"per_device_train_batch_size", "train.batch"},
    {"max_grad_norm", "optimizer.clip"},
    {"warmup_steps", "schedule.warmup"},
    {"lr_scheduler_type", "schedule.kind"},
    {"eval_steps", "eval.every"},
    {"save_steps", "checkpoint.every"},
    {"save_total_limit", "checkpoint.keep"},
    {"logging_steps", "train.log_every"},
    {"gradient_checkpointing", "train.recompute"},
    {"adam_beta1", "optimizer.beta1"},
    {"adam_beta2", "optimizer.beta2"},
    {"adam_epsilon", "optimizer.eps"},
};

}  // namespace

std::string_view key_of_other_name(std::string_view name) {
  std::string underscored(name);
  std::ranges::replace(underscored, '-', '_');
  const auto* const found = std::ranges::find(kOtherNames, std::string_view(underscored), &OtherName::name);
  return found == std::end(kOtherNames) ? std::string_view() : found->key;
}

}  // namespace tapeformer
