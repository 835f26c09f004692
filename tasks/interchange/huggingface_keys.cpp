#include "tasks/interchange/huggingface_keys.h"

#include <algorithm>
#include <utility>

#include "core/json.h"

namespace tapeformer::huggingface {

void fail_value(const std::string& key, const Json& got, std::string_view expected) {
  fail(key, ": ", dump_json(got), " is not supported, only ", expected);
}

Json value_or(const Json& config, const std::string& key, Json otherwise) {
  const auto found = config.find(key);
  return found == config.end() || found->is_null() ? otherwise : *found;
}

std::int64_t integer_or(const Json& config, const std::string& key, std::int64_t otherwise) {
  const Json value = value_or(config, key, otherwise);
  check(value.is_number_integer(), key, ": expected a whole number, got ", dump_json(value));
  // What is computed from sizes must not overflow either.
  const bool fits = value.is_number_unsigned() ? std::in_range<std::int32_t>(value.get<std::uint64_t>())
                                               : std::in_range<std::int32_t>(value.get<std::int64_t>());
  check(fits, key, ": expected a whole number of 32 bits, got ", dump_json(value));
  return value.get<std::int64_t>();
}

std::string number_or(const Json& config, const std::string& key, const Json& otherwise) {
  const Json value = value_or(config, key, otherwise);
  check(value.is_number() && (!otherwise.is_number_integer() || value.is_number_integer()), key, ": expected a ",
        otherwise.is_number_integer() ? "whole number" : "number", ", got ", dump_json(value));
  return dump_json(value);
}

bool boolean_or(const Json& config, const std::string& key, bool otherwise) {
  const Json value = value_or(config, key, otherwise);
  check(value.is_boolean(), key, ": expected true or false, got ", dump_json(value));
  return value.get<bool>();
}

std::string word_of_bool(bool value) { return value ? "true" : "false"; }

namespace {

// Activations: the name in config.json, and the value of model.activation. Of two names for one value, the first is
// written.
constexpr std::pair<const char*, const char*> kActivations[] = {{"gelu_new", "gelu_tanh"},
                                                                {"gelu_pytorch_tanh", "gelu_tanh"},
                                                                {"gelu", "gelu"},
                                                                {"relu", "relu"},
                                                                {"relu2", "relu2"}};

}  // namespace

void read_gpt2(const Json& config, Options& options) {
  const Json inner = value_or(config, "n_inner", 4 * integer_or(config, "n_embd", 768));
  check(inner.is_number_integer(), "n_inner: expected a whole number, got ", dump_json(inner));
  options["ff_dim"] = dump_json(inner);
  const Json activation = value_or(config, "activation_function", "gelu_new");
  const auto known = std::ranges::find_if(kActivations, [&](const auto& pair) { return activation == pair.first; });
  if (known == std::end(kActivations))
    fail_value("activation_function", activation, "gelu_new, gelu_pytorch_tanh, gelu, relu and relu2");
  options["activation"] = known->second;
  if (!boolean_or(config, "scale_attn_weights", true)) options["attention_scale"] = "none";
}

void write_gpt2(const KeyValues& options, Json& config) {
  const std::string& activation = options.text("activation");
  const auto known = std::ranges::find_if(kActivations, [&](const auto& pair) { return activation == pair.second; });
  check(known != std::end(kActivations),
        "export: model.activation: expected gelu, gelu_tanh, relu or relu2 for GPT-2's layout, got ", activation);
  const double scale = options.number("attention_scale");
  check(scale == 0 || scale == 1, "export: model.attention_scale: expected auto or none for GPT-2's layout, got ",
        scale);
  config["n_ctx"] = options.integer("context");
  config["n_inner"] = options.integer("ff_dim");
  config["activation_function"] = known->first;
  config["scale_attn_weights"] = scale == 0;
  for (const char* key : {"resid_pdrop", "embd_pdrop"}) config[key] = options.number("dropout");
  config["attn_pdrop"] = options.number("attention_dropout");
}

namespace {

// Reads the rotary positions: in new files rope_parameters, in older ones rope_theta and rope_scaling. Of a file with
// both, transformers reads rope_scaling.
void read_rotary(const Json& config, Options& options) {
  const bool is_scaled = !value_or(config, "rope_scaling", Json::object()).empty();
  const char* const key = is_scaled ? "rope_scaling" : "rope_parameters";
  const Json rope = value_or(config, key, Json::object());
  check(rope.is_object(), key, ": expected an object, got ", dump_json(rope));
  options["position_base"] = number_or(rope.contains("rope_theta") ? rope : config, "rope_theta", Json(10000.0));
  for (const Json* place : {&config, &rope}) {
    const Json share = value_or(*place, "partial_rotary_factor", 1);
    if (share != 1) fail_value("partial_rotary_factor", share, "1");
  }
  const Json type = value_or(rope, "rope_type", value_or(rope, "type", "default"));
  if (type == "default") return;
  if (type != "linear" && type != "llama3") fail_value(str_cat(key, ".rope_type"), type, "default, linear and llama3");
  const auto number = [&](const char* theirs, const Json& otherwise) {
    check(rope.contains(theirs), key, ": expected ", theirs, " beside rope_type = ", dump_json(type));
    return number_or(rope, theirs, otherwise);
  };
  const std::string factor = number("factor", 1.0);
  if (value_or(rope, "factor", 1.0) == 1) return;  // angles that are divided by 1 stay as they are
  options["position_scaling"] = type.get<std::string>();
  options["position_factor"] = factor;
  if (type == "linear") return;
  options["position_low_freq"] = number("low_freq_factor", 1.0);
  options["position_high_freq"] = number("high_freq_factor", 1.0);
  // Beside the others, where Phi 3 has it, the key comes first in transformers.
  const char* const original = "original_max_position_embeddings";
  const bool is_beside = !value_or(config, original, nullptr).is_null();
  options["position_original"] = is_beside ? number_or(config, original, 1) : number(original, 1);
}

void write_rotary(const KeyValues& options, Json& config) {
  config["rope_theta"] = options.number("position_base");
  config["rope_scaling"] = nullptr;
  const std::string& scaling = options.text("position_scaling");
  if (scaling == "none") return;
  Json rope = {{"rope_type", scaling}, {"factor", options.number("position_factor")}};
  if (scaling == "llama3") {
    rope["low_freq_factor"] = options.number("position_low_freq");
    rope["high_freq_factor"] = options.number("position_high_freq");
    rope["original_max_position_embeddings"] = options.integer("position_original");
  }
  config["rope_scaling"] = std::move(rope);
}

// Reads the keys that Llama, Qwen2 and Qwen3 have in common. `kv_heads` is the number where config.json has none; if it
// has null, there are as many as heads of queries.
void read_gated(const Json& config, Options& options, std::int64_t kv_heads) {
  read_rotary(config, options);
  const char* const key = "num_key_value_heads";
  options["kv_heads"] = std::to_string(integer_or(config, key, config.contains(key) ? 0 : kv_heads));
  const Json types = value_or(config, "layer_types", Json::array());
  check(types.is_array(), "layer_types: expected a list, got ", dump_json(types));
  for (const Json& type : types) {
    if (type != "full_attention") fail_value("layer_types", type, "\"full_attention\"");
  }
}

void write_gated(const KeyValues& options, Json& config) {
  write_rotary(options, config);
  const std::int64_t heads = options.integer("heads"), kv_heads = options.integer("kv_heads");
  const std::int64_t head_dim = options.integer("head_dim");
  config["num_key_value_heads"] = kv_heads > 0 ? kv_heads : heads;
  config["head_dim"] = head_dim > 0 ? head_dim : options.integer("dim") / heads;
  config["attention_dropout"] = options.number("attention_dropout");
}

}  // namespace

void read_llama(const Json& config, Options& options) {
  read_gated(config, options, 0);
  options["head_dim"] = std::to_string(integer_or(config, "head_dim", 0));
  options["attention_bias"] = word_of_bool(boolean_or(config, "attention_bias", false));
  options["ff_bias"] = word_of_bool(boolean_or(config, "mlp_bias", false));
}

void read_qwen2(const Json& config, Options& options) {
  read_gated(config, options, 32);
  options["head_dim"] = std::to_string(integer_or(config, "head_dim", 0));
}

void read_qwen3(const Json& config, Options& options) {
  read_gated(config, options, 32);
  options["head_dim"] = std::to_string(integer_or(config, "head_dim", 128));
  options["attention_bias"] = word_of_bool(boolean_or(config, "attention_bias", false));
}

void write_llama(const KeyValues& options, Json& config) {
  check(options.integer("dim") % options.integer("heads") == 0,
        "export: model.dim: expected a multiple of model.heads for Llama's layout, got ", options.integer("dim"));
  write_gated(options, config);
  config["attention_bias"] = options.text("attention_bias") == "true";
  config["mlp_bias"] = options.text("ff_bias") == "true";
}

void write_qwen2(const KeyValues& options, Json& config) { write_gated(options, config); }

void write_qwen3(const KeyValues& options, Json& config) {
  check(options.text("attention_bias") != "qkv",
        "export: model.attention_bias: expected true or false for Qwen3's layout, got qkv");
  write_gated(options, config);
  config["attention_bias"] = options.text("attention_bias") == "true";
}

void read_bert(const Json& config, Options& options) {
  const std::int64_t types = integer_or(config, "type_vocab_size", 2);
  // One type would be a vector that is added to every token, for which the model has no place.
  if (types < 2) fail_value("type_vocab_size", types, "2 or more");
  options["segments"] = std::to_string(types);
}

void write_bert(const KeyValues& options, Json& config) {
  config["hidden_dropout_prob"] = options.number("dropout");
  config["attention_probs_dropout_prob"] = options.number("attention_dropout");
  config["type_vocab_size"] = std::max<std::int64_t>(options.integer("segments"), 2);
  config["pad_token_id"] = 0;
}

}  // namespace tapeformer::huggingface
