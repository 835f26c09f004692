#include "nn/models/rnn.h"

#include <cmath>

#include "autograd/ops/products.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "nn/models/transformer_keys.h"

namespace tapeformer {
namespace {

Init head_init(const RecurrentConfig& stack) { return Init::uniform(1 / std::sqrt(static_cast<double>(stack.dim))); }
// That of torch.nn.Embedding, unless the embedding is the head as well.
Init embedding_init(const RnnConfig& config) {
  return config.tie_embeddings ? head_init(config.stack) : Init::normal(1);
}

}  // namespace

Rnn::Rnn(const RnnConfig& config)
    : config_(config),
      token_embedding_(config.vocab, config.stack.input_dim, embedding_init(config), config.stack.dtype),
      dropout_(config.stack.dropout),
      stack_(config.stack) {
  const RecurrentConfig& stack = config.stack;
  register_module("token_embedding", token_embedding_);
  register_module("", stack_);
  if (config.tie_embeddings) {
    check(stack.input_dim == stack.dim, "rnn: the embedding is ", stack.input_dim, " wide, the states ", stack.dim,
          ": expected the same, since the head is tied");
    head_weight_ = token_embedding_.weight;
    register_tied("head.weight", head_weight_);
  } else {
    head_weight_ = register_matrix("head.weight", {config.vocab, stack.dim}, stack.dtype, head_init(stack));
  }
  head_bias_ = register_parameter("head.bias", {config.vocab}, stack.dtype, Init::zeros());
}

Variable Rnn::states(const Variable& ids, RecurrentState* state) const {
  check(ids.value().rank() == 2, "rnn: expected ids (B, T), got ", ids.sizes());
  const Variable x = token_embedding_.forward(transpose(ids, 0, 1));
  return dropout_.forward(stack_.forward(dropout_.forward(x), state));
}

Variable Rnn::forward(const Variable& ids, LanguageState* state) const {
  auto* const own = dynamic_cast<RecurrentState*>(state);
  check(!state || own, "rnn: the state is another model's");
  return transpose(states(ids, own), 0, 1);
}

Variable Rnn::logits(const Variable& features) const { return linear(features, head_weight_, head_bias_); }

Variable Rnn::loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options) const {
  return loss_of(states(ids, nullptr), targets, options);
}

Variable Rnn::loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options,
                   RecurrentState& state) const {
  return loss_of(states(ids, &state), targets, options);
}

Variable Rnn::loss_of(const Variable& states, const Variable& targets, const CrossEntropyOptions& options) const {
  const Tensor in_time = targets.value().transpose(0, 1).reshape({-1});
  return linear_cross_entropy(reshape(states, {-1, config_.stack.dim}), head_weight_, head_bias_,
                              Variable::constant(*states.tape(), in_time), options);
}

namespace {

std::vector<Key> rnn_keys() {
  const KeyRange size = between(1, kMaxSize);
  Key embedding{"embedding_dim", std::int64_t{0}, "width of the token embedding (0 = dim)", between(0, kMaxSize)};
  embedding.follows = "model.dim";
  Key dropout{"dropout", 0.0, "probability of dropping an element of the embedding, between layers, and of the states",
              fraction()};
  dropout.may_change = true;
  return {word_key("cell", CellKind::lstm, "the recurrent cell"),
          {"layers", std::int64_t{1}, "layers, each reading the states of the one below", size},
          {"dim", std::int64_t{200}, "width of a layer's state", size},
          std::move(embedding),
          word_key("tie_embeddings", TiedEmbeddings::none, "embeddings that share weights with the head"),
          std::move(dropout),
          {"forget_bias", 1.0, "added to the initial bias of an LSTM's forget gate"}};
}

void resolve_rnn(KeyValues& options, bool) {
  if (options.integer("embedding_dim") == 0) options.set("embedding_dim", options.integer("dim"));
  // There is no third embedding that could be tied.
  if (options.text("tie_embeddings") == "all") options.set("tie_embeddings", std::string("output"));
  if (options.text("tie_embeddings") == "output" && options.integer("embedding_dim") != options.integer("dim")) {
    fail_usage("model.embedding_dim: expected 0 or model.dim, which is ", options.integer("dim"),
               ", since model.tie_embeddings is output, got ", options.integer("embedding_dim"));
  }
}

std::unique_ptr<LanguageModel> make_rnn(const KeyValues& options, const ModelVocabulary& vocabulary) {
  return std::make_unique<Rnn>(
      RnnConfig{.vocab = vocabulary.target,
                .stack = {.cell = options.word<CellKind>("cell"),
                          .layers = options.integer("layers"),
                          .input_dim = options.integer("embedding_dim"),
                          .dim = options.integer("dim"),
                          .dropout = options.number("dropout"),
                          .forget_bias = options.number("forget_bias")},
                .tie_embeddings = options.word<TiedEmbeddings>("tie_embeddings") != TiedEmbeddings::none});
}

// A product costs two operations a weight.
ForwardFlops rnn_flops(const KeyValues& options, const Module& model, const ModelVocabulary& vocabulary, std::int64_t) {
  return {.other =
              2 * static_cast<double>(model.parameter_count("layers.") + vocabulary.target * options.integer("dim"))};
}

}  // namespace

ModelFamily rnn_family() {
  return {.name = "rnn",
          .help = "recurrent language model (Mikolov et al. 2010, Zaremba et al. 2014)",
          .keys = rnn_keys(),
          .resolve = resolve_rnn,
          .make = make_rnn,
          .parts = {{"embeddings", "token embedding", {"token_embedding."}},
                    {"layers", "recurrent layers", {"layers."}},
                    {"head", "head", {"head."}}},
          .flops = rnn_flops,
          .bptt = 64};
}

}  // namespace tapeformer
