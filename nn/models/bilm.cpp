#include "nn/models/bilm.h"

#include "autograd/ops/views.h"
#include "core/ignored_target.h"
#include "nn/models/recurrent_keys.h"

namespace tapeformer {
namespace {

// Returns the ids at the times [begin, end) as targets (T − 1, B) of the pairs (x_i, x_{i+1}), i = 0 … T − 2, in the
// order of time. A pair that contains padding gets kIgnoredTarget.
Tensor targets_at(const Batch& rows, std::int64_t begin, std::int64_t end) {
  const Tensor targets = rows.ids.value().slice(1, begin, end).transpose(0, 1).clone();
  if (!rows.lengths.defined()) return targets;
  const std::span<const std::int32_t> lengths = rows.lengths.span<std::int32_t>();
  const std::int64_t pairs = targets.size(0), batch = targets.size(1);
  std::int32_t* const ids = targets.data<std::int32_t>();
  for (std::int64_t i = 0; i < pairs; ++i) {
    for (std::int64_t b = 0; b < batch; ++b) {
      if (i + 1 >= lengths[b]) ids[i * batch + b] = kIgnoredTarget;
    }
  }
  return targets;
}

}  // namespace

Bilm::Bilm(const BilmConfig& config)
    : config_(config),
      token_embedding_(config.vocab, config.stack.input_dim, embedding_init(config.stack, config.tie_embeddings),
                       config.stack.dtype),
      dropout_(config.stack.dropout),
      forward_(config.stack),
      backward_(config.stack),
      head_(token_embedding_, config.tie_embeddings, config.stack.dim, /*with_bias=*/true, head_init(config.stack),
            config.stack.dtype) {
  register_module("token_embedding", token_embedding_);
  register_module("forward", forward_);
  register_module("backward", backward_);
  register_module("head", head_);
  refuse_hooks("a bilm has an output for each direction: hook forward and backward");
}

Bilm::States Bilm::states(const Batch& rows) const {
  check(rows.ids.value().rank() == 2, "bilm: expected ids (B, T), got ", rows.ids.sizes());
  const Variable x = dropout_.forward(token_embedding_.forward(transpose(rows.ids, 0, 1)));
  return {x, forward_.layer_states(x, false, rows.lengths), backward_.layer_states(x, true, rows.lengths)};
}

std::vector<Variable> Bilm::hidden_states(const Batch& rows) const {
  const States states = this->states(rows);
  const auto both = [](const Variable& a, const Variable& b) {
    const Variable parts[] = {a, b};
    return transpose(concat(parts, 2), 0, 1);
  };
  std::vector<Variable> layers{both(states.embedding, states.embedding)};
  for (std::size_t i = 0; i < states.forward.size(); ++i) {
    layers.push_back(both(states.forward[i], states.backward[i]));
  }
  return layers;
}

// The predictions are in the order of time. For each pair (x_i, x_{i+1}), the forward direction predicts x_{i+1} at
// x_i, and the backward direction predicts x_i at x_{i+1}.
std::vector<TokenPrediction> Bilm::predictions(const Batch& rows) const {
  const std::int64_t length = rows.ids.size(1);
  check(length >= 2, "bilm: the rows have ", length, " token: at least 2 are needed to predict one from another");
  const States states = this->states(rows);
  const Variable forward = dropout_.forward(states.forward.back()), backward = dropout_.forward(states.backward.back());
  return {{slice(forward, 0, 0, length - 1), targets_at(rows, 1, length)},
          {slice(backward, 0, 1, length), targets_at(rows, 0, length - 1)}};
}

namespace {

std::vector<Key> bilm_keys() {
  std::vector<Key> keys = recurrent_keys();
  keys.push_back({"context", std::int64_t{64}, "tokens that a row predicts in each direction", between(1, kMaxSize)});
  keys.push_back({"residual", false, "every layer but the first adds its input to its states"});
  return keys;
}

std::unique_ptr<BidirectionalLanguageModel> make_bilm(const KeyValues& options, const ModelVocabulary& vocabulary) {
  BilmConfig config{
      .vocab = vocabulary.target, .stack = recurrent_config(options), .tie_embeddings = ties_embeddings(options)};
  config.stack.residual = options.boolean("residual");
  return std::make_unique<Bilm>(config);
}

// A product costs two operations per weight; each direction goes through the head.
ForwardFlops bilm_flops(const KeyValues& options, const Module& model, const ModelVocabulary& vocabulary,
                        std::int64_t) {
  const std::int64_t weights = model.parameter_count("forward.") + model.parameter_count("backward.");
  const double head = 2 * 2 * static_cast<double>(vocabulary.target * options.integer("dim"));
  return {.other = 2 * static_cast<double>(weights) + head, .head = head};
}

}  // namespace

ModelFamily bilm_family() {
  return {.name = "bilm",
          .help = "bidirectional language model (Peters et al. 2018)",
          .task = "bidirectional_language_model",
          .keys = bilm_keys(),
          .resolve = [](KeyValues& options, bool) { resolve_recurrent_keys(options); },
          .make = make_bilm,
          .parts = {{"embeddings", "token embedding", {"token_embedding."}},
                    {"forward", "forward layers", {"forward."}},
                    {"backward", "backward layers", {"backward."}},
                    {"head", "head", {"head."}}},
          .flops = bilm_flops};
}

}  // namespace tapeformer
