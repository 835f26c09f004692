#include "nn/models/transformer_keys.h"

namespace tapeformer {

namespace {

constexpr std::int64_t kHeads = 4;  // by default

// A dropout probability may change during training.
Key changeable(Key key) {
  key.may_change = true;
  return key;
}

Key following(std::string other, Key key) {
  key.follows = std::move(other);
  return key;
}

}  // namespace

Key pair_tied_key() {
  Key tied = word_key("tie_embeddings", TiedEmbeddings::all,
                      "embeddings that share weights (auto = all with a joint vocabulary, else output)");
  std::get<std::vector<std::string>>(tied.allowed).push_back("auto");
  tied.default_value = std::string("auto");
  tied.follows = "tokenizer.joint";
  return tied;
}

void resolve_pair_tied(KeyValues& options, bool joint) {
  const std::string& tied = options.text("tie_embeddings");
  if (tied == "auto") options.set("tie_embeddings", std::string(joint ? "all" : "output"));
  if (!joint && tied == "all") {
    fail_usage("model.tie_embeddings: all needs tokenizer.joint = true, expected none or output");
  }
}

std::vector<Key> transformer_keys(const TransformerDefaults& defaults) {
  const std::int64_t kLayers = 4, kDim = 128, kContext = 128;
  return {
      {"layers", kLayers, "blocks (of an encoder-decoder: on each side)", between(1, kMaxSize)},
      {"heads", kHeads, "attention heads", between(1, kMaxSize)},
      {"dim", kDim, "width of the residual stream", between(1, kMaxSize)},
      following("model.dim", {"ff_dim", std::int64_t{0}, "hidden width of the feed-forward layer (0 = 4 dim)",
                              between(0, kMaxSize)}),
      {"context", kContext, "longest sequence in tokens", between(1, kMaxSize)},
      changeable({"dropout", 0.0, "dropout probability of embeddings and of each sublayer's output", fraction()}),
      changeable(following("model.dropout",
                           {"attention_dropout", -1.0, "dropout probability of attention weights (-1 = dropout)",
                            KeyRange{-1, 1, false, true}})),
      word_key("norm", defaults.norm, "place of the norm in each sublayer"),
      word_key("activation", defaults.activation, "activation of the feed-forward layer"),
      word_key("position", defaults.position, "kind of position embedding"),
      {"position_base", 10000.0, "base of the wavelengths of sinusoidal positions", above(0)},
      {"bias", true, "biases in linear layers and norms"},
      {"norm_eps", 1e-5, "added to the variance in norms", above(0)},
      {"init_std", 0.0, "standard deviation of initial matrices (0 = 0.02 for gpt and bert, Xavier for transformer)",
       at_least(0)},
  };
}

void resolve_transformer_keys(KeyValues& options) {
  const std::int64_t dim = options.integer("dim"), heads = options.integer("heads");
  if (options.integer("ff_dim") == 0) options.set("ff_dim", 4 * dim);
  if (options.number("attention_dropout") < 0) options.set("attention_dropout", options.number("dropout"));
  if (dim % heads != 0) {
    // The default of heads is no slip of the user's.
    if (heads == kHeads) fail_usage("model.dim: expected a multiple of model.heads, which is ", heads, ", got ", dim);
    fail_usage("model.heads: expected a divisor of model.dim, which is ", dim, ", got ", heads);
  }
  if (options.word<PositionKind>("position") == PositionKind::sinusoidal && dim % 2 != 0) {
    fail_usage("model.dim: expected an even width for sinusoidal positions, got ", dim);
  }
}

BlockConfig block_config(const KeyValues& options) {
  const double deviation = options.number("init_std");
  const Init init = deviation > 0 ? Init::normal(deviation) : Init::xavier_uniform();
  return {.dim = options.integer("dim"),
          .heads = options.integer("heads"),
          .ff_dim = options.integer("ff_dim"),
          .dropout = options.number("dropout"),
          .attention_dropout = options.number("attention_dropout"),
          .norm = options.word<NormPlace>("norm"),
          .activation = options.word<ActivationKind>("activation"),
          .bias = options.boolean("bias"),
          .norm_eps = options.number("norm_eps"),
          .init = init,
          .residual_init = init};
}

}  // namespace tapeformer
