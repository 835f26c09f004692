#include "nn/models/shared/recurrent_keys.h"

#include "nn/models/shared/tied_embeddings.h"

namespace tapeformer {

Key embedding_dim_key() {
  Key key{"embedding_dim", std::int64_t{0}, "width of the token embeddings (0 = dim)", between(0, kMaxSize)};
  key.follows = "model.dim";
  return key;
}

Key forget_bias_key() {
  Key key{"forget_bias", 1.0, "added to the initial bias of an LSTM's forget gate"};
  key.read_beside = {"cell", {word_of(CellKind::lstm)}};
  return key;
}

std::vector<Key> recurrent_keys() {
  const KeyRange size = between(1, kMaxSize);
  Key dropout{"dropout", 0.0, "probability of dropping an element of the embedding, between layers, and of the states",
              fraction()};
  dropout.may_change = true;
  return {word_key("cell", CellKind::lstm, "the recurrent cell"),
          {"layers", std::int64_t{1}, "layers, each reading the states of the one below", between(1, kMaxLayers)},
          {"dim", std::int64_t{200}, "width of a layer's state", size},
          embedding_dim_key(),
          tied_key(TiedEmbeddings::none),
          std::move(dropout),
          forget_bias_key()};
}

void resolve_recurrent_keys(KeyValues& options) {
  if (options.integer("embedding_dim") == 0) options.set("embedding_dim", options.integer("dim"));
  resolve_tied(options);
  if (ties_embeddings(options) && options.integer("embedding_dim") != options.integer("dim")) {
    fail_usage("model.embedding_dim: expected 0 or model.dim, which is ", options.integer("dim"),
               ", since model.tie_embeddings is output, got ", options.integer("embedding_dim"));
  }
}

RecurrentConfig recurrent_config(const KeyValues& options) {
  return {.cell = options.word<CellKind>("cell"),
          .layers = options.integer("layers"),
          .input_dim = options.integer("embedding_dim"),
          .dim = options.integer("dim"),
          .dropout = options.number("dropout"),
          .forget_bias = options.number("forget_bias")};
}

Init head_init(const RecurrentConfig& stack) { return Init::uniform_fan_in(stack.dim); }

Init embedding_init(bool tied, std::int64_t head_width) {
  return tied ? Init::uniform_fan_in(head_width) : Init::normal(1);
}

}  // namespace tapeformer
