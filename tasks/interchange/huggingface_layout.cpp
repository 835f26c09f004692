#include "tasks/interchange/huggingface_layout.h"

#include "core/json.h"
#include "core/text/joined.h"
#include "tasks/interchange/huggingface_keys.h"
#include "tasks/interchange/published_model.h"

namespace tapeformer {
namespace {

using Json = HuggingFaceLayout::Json;
using Options = HuggingFaceLayout::Options;
using namespace huggingface;

// The keys of [model] that all causal models have in Hugging Face's layouts.
Options causal_options(const Options& more) {
  Options options = {{"norm", "pre"},           {"final_norm", "true"},        {"residual", "true"},
                     {"feed_forward", "mlp"},   {"embedding_scale", "auto"},   {"logit_softcap", "0"},
                     {"attention_window", "0"}, {"attention_kind", "softmax"}, {"value_residual", "false"}};
  options.insert(more.begin(), more.end());
  return options;
}

Options gated_options(const Options& more) {
  Options options = causal_options({{"norm_kind", "rms"},
                                    {"activation", "swiglu"},
                                    {"position", "rotary"},
                                    {"rotary_pairs", "halves"},
                                    {"attention_scale", "auto"}});
  options.insert(more.begin(), more.end());
  return options;
}

std::vector<HuggingFaceLayout::Number> gated_numbers(std::int64_t ff_dim, std::int64_t context) {
  return {{"max_position_embeddings", "context", context},
          {"hidden_size", "dim", 4096},
          {"intermediate_size", "ff_dim", ff_dim},
          {"num_hidden_layers", "layers", 32},
          {"num_attention_heads", "heads", 32},
          {"rms_norm_eps", "norm_eps", 1e-6}};
}

HuggingFaceLayout gpt2_layout() {
  return {.model_type = "gpt2",
          .class_name = "GPT2LMHeadModel",
          .text = "GPT-2's layout",
          .family = "gpt",
          .names = gpt2_names,
          .numbers = {{"n_positions", "context", 1024, "max_position_embeddings"},
                      {"n_embd", "dim", 768, "hidden_size"},
                      {"n_layer", "layers", 12, "num_hidden_layers"},
                      {"n_head", "heads", 12, "num_attention_heads"},
                      {"layer_norm_epsilon", "norm_eps", 1e-5}},
          .fixed = {{"scale_attn_by_inverse_layer_idx", false}, {"add_cross_attention", false}},
          .options = causal_options({{"norm_kind", "layer"}, {"position", "learned"}, {"qk_norm", "false"}}),
          .vocab_size = 50257,
          .tied = true,
          .read = read_gpt2,
          .write = write_gpt2};
}

HuggingFaceLayout llama_layout() {
  return {.model_type = "llama",
          .class_name = "LlamaForCausalLM",
          .text = "Llama's layout",
          .family = "gpt",
          .names = llama_names,
          .numbers = gated_numbers(11008, 2048),
          .fixed = {{"hidden_act", "silu"}},
          .options = gated_options({{"qk_norm", "false"}}),
          .vocab_size = 32000,
          .tied = false,
          .read = read_llama,
          .write = write_llama};
}

HuggingFaceLayout qwen2_layout() {
  return {.model_type = "qwen2",
          .class_name = "Qwen2ForCausalLM",
          .text = "Qwen2's layout",
          .family = "gpt",
          .names = llama_names,
          .numbers = gated_numbers(22016, 32768),
          .fixed = {{"hidden_act", "silu"}, {"use_sliding_window", false}},
          .options = gated_options({{"qk_norm", "false"}, {"attention_bias", "qkv"}, {"ff_bias", "false"}}),
          .vocab_size = 151936,
          .tied = false,
          .read = read_qwen2,
          .write = write_qwen2};
}

HuggingFaceLayout qwen3_layout() {
  return {.model_type = "qwen3",
          .class_name = "Qwen3ForCausalLM",
          .text = "Qwen3's layout",
          .family = "gpt",
          .names = llama_names,
          .numbers = gated_numbers(22016, 32768),
          .fixed = {{"hidden_act", "silu"}, {"use_sliding_window", false}},
          .options = gated_options({{"qk_norm", "true"}, {"ff_bias", "false"}}),
          .vocab_size = 151936,
          .tied = false,
          .read = read_qwen3,
          .write = write_qwen3};
}

HuggingFaceLayout bert_layout() {
  return {.model_type = "bert",
          .class_name = "BertForMaskedLM",
          .text = "BERT's layout",
          .family = "bert",
          .names = bert_names,
          .numbers = {{"max_position_embeddings", "context", 512},
                      {"hidden_size", "dim", 768},
                      {"intermediate_size", "ff_dim", 3072},
                      {"num_hidden_layers", "layers", 12},
                      {"num_attention_heads", "heads", 12},
                      {"layer_norm_eps", "norm_eps", 1e-12}},
          .fixed = {{"hidden_act", "gelu"},
                    {"position_embedding_type", "absolute"},
                    {"is_decoder", false},
                    {"add_cross_attention", false}},
          .options = {{"norm", "post"},
                      {"norm_kind", "layer"},
                      {"final_norm", "false"},
                      {"residual", "true"},
                      {"feed_forward", "mlp"},
                      {"activation", "gelu"},
                      {"position", "learned"},
                      {"attention_scale", "auto"},
                      {"embedding_scale", "auto"},
                      {"qk_norm", "false"},
                      {"logit_softcap", "0"}},
          .vocab_size = 30522,
          .tied = true,
          .read = read_bert,
          .write = write_bert};
}

const std::vector<HuggingFaceLayout>& layouts() {
  static const std::vector<HuggingFaceLayout> all{gpt2_layout(), llama_layout(), qwen2_layout(), qwen3_layout(),
                                                  bert_layout()};
  return all;
}

}  // namespace

const HuggingFaceLayout& layout_of_type(const std::string& model_type) {
  std::vector<std::string> types;
  for (const HuggingFaceLayout& layout : layouts()) {
    if (layout.model_type == model_type) return layout;
    types.push_back(layout.model_type);
  }
  fail("model_type: ", dump_json(Json(model_type)), " is not supported, only ", joined(types, ", "));
}

const HuggingFaceLayout& layout_for(const ResolvedConfig& config) {
  const KeyValues& options = config.model.options;
  if (config.model.type == "bert") return layout_of_type("bert");
  check(config.model.type == "gpt", "model.type: expected gpt or bert, whose layouts are known, got ",
        config.model.type);
  if (options.text("norm_kind") != "rms") return layout_of_type("gpt2");
  if (options.boolean("qk_norm")) return layout_of_type("qwen3");
  return layout_of_type(options.text("attention_bias") == "qkv" ? "qwen2" : "llama");
}

Options options_of(const HuggingFaceLayout& layout, const Json& given) {
  Json config = given;
  for (const HuggingFaceLayout::Number& number : layout.numbers) {
    if (const Json value = value_or(given, number.other, nullptr); !value.is_null()) config[number.theirs] = value;
  }
  for (const auto& [key, expected] : layout.fixed) {
    if (const Json value = value_or(config, key, expected); value != expected)
      fail_value(key, value, dump_json(expected));
  }
  if (const Json quantized = value_or(config, "quantization_config", nullptr); !quantized.is_null())
    fail_value("quantization_config", quantized, "none");
  if (layout.family == "gpt" && !boolean_or(config, "is_causal", true)) fail_value("is_causal", false, "true");
  Options options = layout.options;
  options.emplace("bias", word_of_bool(!layout.is_gated()));  // gated layouts have keys for some biases
  for (const HuggingFaceLayout::Number& number : layout.numbers)
    options[number.ours] = number_or(config, number.theirs, number.missing);
  options["tie_embeddings"] = boolean_or(config, "tie_word_embeddings", layout.tied) ? "output" : "none";
  layout.read(config, options);
  return options;
}

std::int64_t vocab_of(const HuggingFaceLayout& layout, const Json& config) {
  return integer_or(config, "vocab_size", layout.vocab_size);
}

Json config_json(const HuggingFaceLayout& layout, const ResolvedConfig& config, std::int64_t vocab) {
  require_options(config, layout.options, layout.text);
  const KeyValues& options = config.model.options;
  require_heads(config, /*plain=*/!layout.is_gated(), layout.text);
  Json json = {
      {"architectures", Json::array({layout.class_name})}, {"model_type", layout.model_type}, {"vocab_size", vocab}};
  for (const HuggingFaceLayout::Number& number : layout.numbers) {
    if (number.missing.is_number_integer()) {
      json[number.theirs] = options.integer(number.ours);
    } else {
      json[number.theirs] = options.number(number.ours);
    }
  }
  for (const auto& [key, value] : layout.fixed) json[key] = value;
  layout.write(options, json);
  json["initializer_range"] = options.number("init_std");
  json["tie_word_embeddings"] = options.text("tie_embeddings") != "none";
  json["torch_dtype"] = "float32";
  return json;
}

}  // namespace tapeformer
