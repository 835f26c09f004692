#include "nn/models/nplm.h"

#include <algorithm>

#include "autograd/ops/activations.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"

namespace tapeformer {
namespace {

// Holds the last tokens that were read, (B, up to n − 2), which the features of the next token need.
class NplmCache : public Cache {
 public:
  void clear() override { ids = {}; }
  void select(std::span<const std::int64_t> rows) override {
    if (ids.defined()) ids = select_rows(ids, rows);
  }
  NamedTensors tensors() const override { return ids.defined() ? NamedTensors{{"ids", ids}} : NamedTensors(); }

  Tensor ids;
};

std::int64_t input_width(const NplmConfig& config) { return (config.order - 1) * config.embedding_dim; }
std::int64_t feature_width(const NplmConfig& config) { return config.dim + (config.direct ? input_width(config) : 0); }

}  // namespace

Nplm::Nplm(const NplmConfig& config)
    : config_(config),
      token_embedding_(config.vocab, config.embedding_dim, Init::normal(1), config.dtype),
      dropout_(config.dropout),
      hidden_(input_width(config), config.dim, /*with_bias=*/true, Init::uniform_fan_in(input_width(config)),
              config.dtype),
      head_(token_embedding_, /*tied=*/false, feature_width(config), /*with_bias=*/true,
            Init::uniform_fan_in(feature_width(config)), config.dtype) {
  check(config.order >= 2, "nplm: expected an order of at least 2, got ", config.order);
  register_module("token_embedding", token_embedding_);
  register_module("hidden", hidden_);
  register_module("head", head_);
}

std::unique_ptr<Cache> Nplm::make_cache() const { return std::make_unique<NplmCache>(); }

Variable Nplm::context_window(const Variable& embedded) const {
  const std::int64_t batch = embedded.size(0), length = embedded.size(1), width = embedded.size(2);
  std::vector<Variable> parts{embedded};
  for (std::int64_t back = 1; back < config_.order - 1; ++back) {
    const std::int64_t zeros = std::min(back, length);
    const Variable before =
        Variable::constant(*embedded.tape(), Tensor::zeros({batch, zeros, width}, embedded.value().dtype()));
    const Variable shifted[] = {before, slice(embedded, 1, 0, length - zeros)};
    parts.push_back(zeros == length ? before : concat(shifted, 1));
  }
  return parts.size() == 1 ? parts[0] : concat(parts, -1);
}

Variable Nplm::features_of(const Variable& x) const {
  const Variable h = dropout_.forward(tanh(hidden_.forward(x)));
  const Variable both[] = {h, x};
  return config_.direct ? concat(both, -1) : h;
}

Variable Nplm::forward(const Variable& ids, Cache* cache) const {
  check(ids.value().rank() == 2, "nplm: expected ids (B, T), got ", ids.sizes());
  auto* const own = own_cache<NplmCache>(cache, "nplm");
  check(!own || !ids.tape()->options().record, "nplm: a cache works without recording only");
  Variable all = ids;
  if (own && own->ids.defined()) {
    const Variable parts[] = {Variable::constant(*ids.tape(), own->ids), ids};
    all = concat(parts, 1);
  }
  const std::int64_t length = all.size(1), kept = std::min(length, config_.order - 2);
  if (own) own->ids = kept > 0 ? all.value().slice(1, length - kept, length).clone() : Tensor();
  return call([&] {
    Variable x = dropout_.forward(context_window(token_embedding_.forward(all)));
    if (length > ids.size(1)) x = slice(x, 1, length - ids.size(1), length);
    return features_of(x);
  });
}

std::vector<Variable> Nplm::hidden_states(const Batch& batch) const {
  const Variable embedded = token_embedding_.forward(only_ids(batch, "nplm"));
  return {embedded, call([&] { return features_of(dropout_.forward(context_window(embedded))); })};
}

namespace {

std::vector<Key> nplm_keys() {
  const KeyRange size = between(1, kMaxSize);
  Key dropout{"dropout", 0.0, "probability of dropping an element of the embeddings and of the hidden layer",
              fraction()};
  dropout.may_change = true;
  return {{"order", std::int64_t{5}, "n: a token is predicted from the n - 1 tokens before it", between(2, kMaxSize)},
          {"embedding_dim", std::int64_t{60}, "width of the token embeddings", size},
          {"dim", std::int64_t{200}, "width of the hidden layer", size},
          {"direct", true, "whether the embeddings reach the logits beside the hidden layer"},
          std::move(dropout)};
}

std::unique_ptr<CausalModel> make_nplm(const KeyValues& options, const ModelVocabulary& vocabulary) {
  return std::make_unique<Nplm>(NplmConfig{.vocab = vocabulary.target,
                                           .order = options.integer("order"),
                                           .embedding_dim = options.integer("embedding_dim"),
                                           .dim = options.integer("dim"),
                                           .direct = options.boolean("direct"),
                                           .dropout = options.number("dropout")});
}

// A product costs two operations per weight.
ForwardFlops nplm_flops(const KeyValues&, const Module& model, const ModelVocabulary&, std::int64_t) {
  const double head = 2 * static_cast<double>(model.parameter_count("head."));
  return {.other = 2 * static_cast<double>(model.parameter_count("hidden.")) + head, .head = head};
}

}  // namespace

ModelFamily nplm_family() {
  return {.name = "nplm",
          .help = "feed-forward language model of the last n - 1 tokens (Bengio et al. 2003)",
          .task = "language_model",
          .keys = nplm_keys(),
          .resolve = [](KeyValues&, bool) {},
          .make = CausalModelMaker(make_nplm),
          .parts = {{"embeddings", "token embedding", {"token_embedding."}},
                    {"hidden", "hidden layer", {"hidden."}},
                    {"head", "head", {"head."}}},
          .flops = nplm_flops,
          .training = language_model_training()};
}

}  // namespace tapeformer
