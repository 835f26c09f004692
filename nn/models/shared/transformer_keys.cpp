#include "nn/models/shared/transformer_keys.h"

#include "core/parallel.h"
#include "nn/attention/attention.h"

namespace tapeformer {

namespace {

constexpr std::int64_t kHeads = 4;  // the default of model.heads

// Returns the key as one that a resumed run may change.
Key changeable(Key key) {
  key.may_change = true;
  return key;
}

// Returns the key with a default that is derived from the key `other`.
Key following(std::string other, Key key) {
  key.follows = std::move(other);
  return key;
}

// Returns the key as one that is read only beside these words of the key `other`.
template <class Enum>
Key beside(std::string other, std::initializer_list<Enum> values, Key key) {
  std::vector<std::string> words;
  for (const Enum value : values) words.push_back(word_of(value));
  key.read_beside = {std::move(other), std::move(words)};
  return key;
}

// Returns a key whose value is the text "true", "false" or "auto", which means a value that is derived from the key
// `other`.
Key auto_key(std::string name, std::string help, std::string other) {
  return following(std::move(other), {std::move(name), std::string("auto"), std::move(help),
                                      std::vector<std::string>{"auto", "true", "false"}});
}

// The key attention_bias also accepts "qkv": the layers of queries, keys and values have biases, the output layer has
// none (Qwen2).
Key attention_bias_key() {
  Key key = auto_key("attention_bias", "biases in the linear layers of attention (auto = bias)", "model.bias");
  std::get<std::vector<std::string>>(key.allowed).push_back("qkv");
  return key;
}

// Replaces "auto" by `value`.
void resolve_auto(KeyValues& options, std::string_view name, bool value) {
  if (options.text(name) == "auto") options.set(name, std::string(value ? "true" : "false"));
}

// Returns 4·dim. A gated activation needs a third matrix; for it, returns the smallest multiple of 32 with which the
// layer has at least as many parameters as it would have without a gate.
std::int64_t default_ff_dim(std::int64_t dim, ActivationKind activation) {
  constexpr std::int64_t kMultiple = 32;
  return is_gated(activation) ? chunk_count(8 * dim, 3 * kMultiple) * kMultiple : 4 * dim;
}

}  // namespace

std::vector<Key> transformer_keys(const TransformerDefaults& defaults) {
  const std::int64_t kLayers = 4, kDim = 128, kContext = 128;
  const auto of_llama3 = [](Key key) { return beside("position_scaling", {PositionScaling::llama3}, std::move(key)); };
  const auto of_feed_forward = [](Key key) { return beside("feed_forward", {FeedForwardKind::mlp}, std::move(key)); };
  return {
      {"layers", kLayers, "blocks (of an encoder-decoder: on each side)", between(1, kMaxLayers)},
      {"heads", kHeads, "attention heads", between(1, kMaxSize)},
      {"kv_heads", std::int64_t{0}, "heads of keys and values, which groups of query heads share (0 = heads)",
       between(0, kMaxSize)},
      {"dim", kDim, "width of the residual stream", between(1, kMaxSize)},
      {"head_dim", std::int64_t{0}, "width of a head's queries and keys (0 = dim / heads)", between(0, kMaxSize)},
      {"value_dim", std::int64_t{0}, "width of a head's values (0 = head_dim)", between(0, kMaxSize)},
      of_feed_forward(following("model.dim", {"ff_dim", std::int64_t{0},
                                              "hidden width of the feed-forward layer (0 = 4 dim; 8/3 dim where gated)",
                                              between(0, kMaxSize)})),
      {"context", kContext, "longest sequence in tokens", between(1, kMaxSize)},
      changeable({"dropout", 0.0, "dropout probability of embeddings and of each sublayer's output", fraction()}),
      changeable(following("model.dropout",
                           {"attention_dropout", -1.0, "dropout probability of attention weights (-1 = dropout)",
                            or_minus_one(fraction())})),
      word_key("norm", defaults.norm, "place of the norm in each sublayer"),
      word_key("norm_kind", defaults.norm_kind,
               "kind of norm: layer, RMS (without mean and bias), batch norm over all tokens, or none"),
      auto_key("final_norm", "a norm after the last block (auto = if norm is pre)", "model.norm"),
      {"residual", true, "each sublayer's input is added to its output"},
      word_key("feed_forward", FeedForwardKind::mlp, "what follows attention in a block: two linear layers, or none"),
      of_feed_forward(word_key("activation", defaults.activation, "activation of the feed-forward layer")),
      word_key("position", defaults.position, "kind of positions: embeddings that are added, rotary, or none"),
      beside("position", {PositionKind::sinusoidal, PositionKind::rotary},
             {"position_base", 10000.0, "base of the wavelengths of sinusoidal and rotary positions", above(0)}),
      beside("position", {PositionKind::rotary},
             word_key("rotary_pairs", RotaryPairs::halves,
                      "elements of a head that turn together: i and d/2 + i, or 2i and 2i + 1")),
      word_key("position_scaling", PositionScaling::none,
               "how the angles of rotary positions are scaled for longer texts: not, all alike, or as in Llama 3.1"),
      beside("position_scaling", {PositionScaling::linear, PositionScaling::llama3},
             {"position_factor", 1.0, "divides the angles that position_scaling scales", above(0)}),
      of_llama3({"position_low_freq", 1.0, "llama3: pairs with fewer turns in the original context are scaled in full",
                 above(0)}),
      of_llama3({"position_high_freq", 4.0, "llama3: pairs with more turns in the original context stay", above(0)}),
      of_llama3({"position_original", std::int64_t{8192}, "llama3: the context before it was stretched, in tokens",
                 between(1, kMaxSize)}),
      {.name = "attention_scale",
       .default_value = 0.0,
       .help = "factor of attention scores (auto = 0 = 1 / sqrt(head_dim), none = 1)",
       .allowed = at_least(0),
       .words = {{"auto", 0.0}, {"none", 1.0}}},
      {.name = "embedding_scale",
       .default_value = 0.0,
       .help = "factor of token embeddings (auto = 0 = sqrt(dim) for transformer, 1 for the others)",
       .allowed = at_least(0),
       .words = {{"auto", 0.0}}},
      {"qk_norm", false, "an RMS norm of each head's queries and keys"},
      {"bias", defaults.bias, "biases in linear layers and norms"},
      attention_bias_key(),
      of_feed_forward(auto_key("ff_bias", "biases in feed-forward layers (auto = bias)", "model.bias")),
      beside("norm_kind", {NormKind::layer, NormKind::batch},
             auto_key("norm_bias", "biases in layer norms (auto = bias)", "model.bias")),
      {"norm_eps", 1e-5, "added to the variance in norms", above(0)},
      {"init_std", 0.0, "standard deviation of initial matrices (0 = 0.02 for gpt and bert, else Xavier)", at_least(0)},
      {"zero_init", false, "the output matrices of attention and feed-forward layers begin at zero"},
      {"logit_softcap", 0.0,
       "c: the logits are c tanh(logits / c), so that they stay within -c and c (0 = as they are)", at_least(0)},
  };
}

Key attention_window_key() {
  return {"attention_window", std::int64_t{0}, "tokens that a token sees, with itself, in causal attention (0 = all)",
          between(0, kMaxSize)};
}

namespace {

void check_position_scaling(const KeyValues& options, PositionKind position) {
  const PositionScaling scaling = options.word<PositionScaling>("position_scaling");
  if (scaling != PositionScaling::none && position != PositionKind::rotary) {
    fail_usage("model.position_scaling: expected none beside model.position = ", word_of(position), ", got ",
               word_of(scaling));
  }
  const double low = options.number("position_low_freq"), high = options.number("position_high_freq");
  if (scaling == PositionScaling::llama3 && high <= low) {
    fail_usage("model.position_high_freq: expected more than model.position_low_freq, which is ", low, ", got ", high);
  }
}

}  // namespace

void resolve_transformer_keys(KeyValues& options) {
  const std::int64_t dim = options.integer("dim"), heads = options.integer("heads");
  const std::int64_t head_dim = options.integer("head_dim");
  if (options.integer("ff_dim") == 0) {
    options.set("ff_dim", default_ff_dim(dim, options.word<ActivationKind>("activation")));
  }
  if (options.number("attention_dropout") < 0) options.set("attention_dropout", options.number("dropout"));
  for (const char* name : {"attention_bias", "ff_bias", "norm_bias"}) {
    resolve_auto(options, name, options.boolean("bias"));
  }
  const NormKind norm_kind = options.word<NormKind>("norm_kind");
  if (norm_kind == NormKind::none && options.text("final_norm") == "true") {
    fail_usage("model.final_norm: expected auto or false beside model.norm_kind = none, got true");
  }
  resolve_auto(options, "final_norm", options.word<NormPlace>("norm") == NormPlace::pre && norm_kind != NormKind::none);
  if (options.boolean("zero_init") && !options.boolean("residual")) {
    fail_usage(
        "model.zero_init: expected false beside model.residual = false, where every output would be zero, got true");
  }
  if (head_dim == 0 && dim % heads != 0) {
    // If heads has its default value, the error names model.dim, because the user did not choose heads.
    if (heads == kHeads) fail_usage("model.dim: expected a multiple of model.heads, which is ", heads, ", got ", dim);
    fail_usage("model.heads: expected a divisor of model.dim, which is ", dim, ", got ", heads);
  }
  if (const std::int64_t kv_heads = options.integer("kv_heads"); kv_heads > 0 && heads % kv_heads != 0) {
    fail_usage("model.kv_heads: expected a divisor of model.heads, which is ", heads, ", got ", kv_heads);
  }
  const PositionKind position = options.word<PositionKind>("position");
  check_position_scaling(options, position);
  if (position == PositionKind::sinusoidal && dim % 2 != 0) {
    fail_usage("model.dim: expected an even width for sinusoidal positions, got ", dim);
  }
  if (position == PositionKind::rotary && head_dim % 2 != 0) {
    fail_usage("model.head_dim: expected an even width for rotary positions, got ", head_dim);
  }
  if (position == PositionKind::rotary && head_dim == 0 && dim / heads % 2 != 0) {
    fail_usage("model.dim: expected heads of even width for rotary positions, got ", dim, " for ", heads,
               " heads, which is ", dim / heads, " each");
  }
}

BlockConfig block_config(const KeyValues& options) {
  const auto is_true = [&](std::string_view name) { return options.text(name) == "true"; };
  Biases bias;
  bias.attention = options.text("attention_bias") != "false", bias.attention_out = is_true("attention_bias");
  bias.feed_forward = is_true("ff_bias"), bias.norms = is_true("norm_bias");
  const double deviation = options.number("init_std");
  const Init init = deviation > 0 ? Init::normal(deviation) : Init::xavier_uniform();
  return {.dim = options.integer("dim"),
          .heads = options.integer("heads"),
          .kv_heads = options.integer("kv_heads"),
          .head_dim = options.integer("head_dim"),
          .value_dim = options.integer("value_dim"),
          .ff_dim = options.integer("ff_dim"),
          .dropout = options.number("dropout"),
          .attention_dropout = options.number("attention_dropout"),
          .norm = options.word<NormPlace>("norm"),
          .norm_kind = options.word<NormKind>("norm_kind"),
          .final_norm = is_true("final_norm"),
          .feed_forward = options.word<FeedForwardKind>("feed_forward"),
          .activation = options.word<ActivationKind>("activation"),
          .attention_scale = options.number("attention_scale"),
          .residual = options.boolean("residual"),
          .qk_norm = options.boolean("qk_norm"),
          .bias = bias,
          .norm_eps = options.number("norm_eps"),
          .init = init,
          .residual_init = options.boolean("zero_init") ? Init::zeros() : init};
}

PositionConfig position_config(const KeyValues& options) {
  const double base = options.number("position_base");
  switch (options.word<PositionKind>("position")) {
    case PositionKind::learned:
      return LearnedPositions{};
    case PositionKind::sinusoidal:
      return SinusoidalPositions{base};
    case PositionKind::rotary:
      return Rotary{base,
                    options.word<RotaryPairs>("rotary_pairs"),
                    {.kind = options.word<PositionScaling>("position_scaling"),
                     .factor = options.number("position_factor"),
                     .low_freq = options.number("position_low_freq"),
                     .high_freq = options.number("position_high_freq"),
                     .original_context = options.integer("position_original")}};
    case PositionKind::none:
      return NoPositions{};
  }
  fail("position: not a kind of positions");
}

double embedding_scale(const KeyValues& options, double automatic) {
  const double factor = options.number("embedding_scale");
  return factor > 0 ? factor : automatic;
}

double attention_flops(const KeyValues& options, std::int64_t length) {
  const BlockConfig block = block_config(options);
  const std::int64_t d = head_dim(block), d_v = head_layout(block).value_dim;
  return 2 * static_cast<double>(block.heads * (d + d_v)) * static_cast<double>(length);
}

double causal_attention_flops(const KeyValues& options, std::int64_t length) {
  if (options.has("attention_kind") && options.word<AttentionKind>("attention_kind") == AttentionKind::linear) {
    const BlockConfig block = block_config(options);
    const std::int64_t d = head_dim(block), d_v = head_layout(block).value_dim;
    return 4 * static_cast<double>(block.heads * d * (d_v + 1));
  }
  const std::int64_t window = options.integer("attention_window");
  const double part = window > 0 && window < length ? static_cast<double>(window) / static_cast<double>(length) : 1;
  return attention_flops(options, length) * part * (1 - part / 2);
}

}  // namespace tapeformer
