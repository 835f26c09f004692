#include "nn/models/bilm.h"

#include "autograd/ops/views.h"
#include "nn/models/shared/recurrent_keys.h"
#include "nn/models/shared/tied_embeddings.h"

namespace tapeformer {
namespace {

// Concatenates the vectors of a and b, (T, B, F) each, and puts the batch first: (B, T, 2·F).
Variable side_by_side(const Variable& a, const Variable& b) {
  const Variable parts[] = {a, b};
  return transpose(concat(parts, 2), 0, 1);
}

}  // namespace

Bilm::Bilm(const BilmConfig& config)
    : config_(config),
      token_embedding_(config.vocab, config.stack.input_dim, config.embedding_init, config.stack.dtype),
      dropout_(config.stack.dropout),
      forward_(config.stack),
      backward_(config.stack) {
  register_module("token_embedding", token_embedding_);
  register_module("forward", forward_);
  register_module("backward", backward_);
}

Bilm::States Bilm::states(const Batch& batch) const {
  const Variable x = dropout_.forward(token_embedding_.forward(transpose(only_ids(batch, "bilm"), 0, 1)));
  return {x, forward_.layer_states(x, /*reverse=*/false, batch.lengths),
          backward_.layer_states(x, /*reverse=*/true, batch.lengths)};
}

std::vector<Variable> Bilm::hidden_states(const Batch& batch) const {
  const auto [x, forward, backward] = states(batch);
  std::vector<Variable> layers{side_by_side(x, x)};
  for (std::size_t i = 0; i < forward.size(); ++i) layers.push_back(side_by_side(forward[i], backward[i]));
  return layers;
}

Variable Bilm::features(const Batch& batch) const {
  return call([&] {
    const States all = states(batch);
    const Variable forward = dropout_.forward(all.forward.back()), backward = dropout_.forward(all.backward.back());
    return side_by_side(forward, backward);
  });
}

namespace {

std::vector<Key> bilm_keys() {
  std::vector<Key> keys = recurrent_keys();
  keys.push_back({"context", std::int64_t{64}, "tokens that a row predicts in each direction", between(1, kMaxSize)});
  keys.push_back({"residual", false, "every layer but the first adds its input to its states"});
  return keys;
}

std::unique_ptr<Model> make_bilm(const KeyValues& options, const ModelVocabulary& vocabulary) {
  BilmConfig config{.vocab = vocabulary.target, .stack = recurrent_config(options)};
  config.embedding_init = embedding_init(ties_embeddings(options), config.stack.dim);
  config.stack.residual = options.boolean("residual");
  return std::make_unique<Bilm>(config);
}

// A product costs two operations per weight.
ForwardFlops bilm_flops(const KeyValues&, const Module& model, const ModelVocabulary&, std::int64_t) {
  return {.other = 2 * static_cast<double>(model.parameter_count("forward.") + model.parameter_count("backward."))};
}

}  // namespace

ModelFamily bilm_family() {
  return {.name = "bilm",
          .help = "bidirectional language model (Peters et al. 2018)",
          .task = "bidirectional_language_model",
          .keys = bilm_keys(),
          .resolve = [](KeyValues& options, bool) { resolve_recurrent_keys(options); },
          .make = ModelMaker(make_bilm),
          .parts = {{"embeddings", "token embedding", {"token_embedding."}},
                    {"forward", "forward layers", {"forward."}},
                    {"backward", "backward layers", {"backward."}}},
          .flops = bilm_flops,
          .training = language_model_training()};
}

}  // namespace tapeformer
