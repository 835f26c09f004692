#include "nn/models/rnn.h"

#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "nn/models/shared/recurrent_keys.h"
#include "nn/models/shared/tied_embeddings.h"

namespace tapeformer {

Rnn::Rnn(const RnnConfig& config)
    : config_(config),
      token_embedding_(config.vocab, config.stack.input_dim, embedding_init(config.tie_embeddings, config.stack.dim),
                       config.stack.dtype),
      dropout_(config.stack.dropout),
      stack_(config.stack),
      head_(token_embedding_, config.tie_embeddings, config.stack.dim, /*with_bias=*/true, head_init(config.stack),
            config.stack.dtype) {
  register_module("token_embedding", token_embedding_);
  register_module("", stack_);
  register_module("head", head_);
}

Variable Rnn::embed(const Variable& ids) const {
  check(ids.value().rank() == 2, "rnn: expected ids (B, T), got ", ids.sizes());
  return dropout_.forward(token_embedding_.forward(transpose(ids, 0, 1)));
}

Variable Rnn::states(const Variable& ids, RecurrentState* state) const {
  return call([&] { return dropout_.forward(stack_.forward(embed(ids), state)); });
}

Variable Rnn::forward(const Variable& ids, Cache* cache) const {
  return transpose(states(ids, own_cache<RecurrentState>(cache, "rnn")), 0, 1);
}

std::vector<Variable> Rnn::hidden_states(const Batch& batch) const {
  const Variable& ids = only_ids(batch, "rnn");
  std::vector<Variable> layers;
  const Variable features = call([&] {
    const Variable x = embed(ids);
    layers = stack_.layer_states(x, /*reverse=*/false, {});
    layers.insert(layers.begin(), x);
    return dropout_.forward(layers.back());
  });
  layers.back() = features;
  for (Variable& layer : layers) layer = transpose(layer, 0, 1);
  return layers;
}

Variable Rnn::logits(const Variable& features) const { return head_.logits(features); }

Variable Rnn::loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options) const {
  return loss_of(states(ids, nullptr), targets, options);
}

Variable Rnn::loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options,
                   RecurrentState& state) const {
  return loss_of(states(ids, &state), targets, options);
}

Variable Rnn::loss_of(const Variable& states, const Variable& targets, const CrossEntropyOptions& options) const {
  return head_.loss(states, targets.value().transpose(0, 1), options);  // time is the first axis of the states
}

namespace {

std::unique_ptr<CausalModel> make_rnn(const KeyValues& options, const ModelVocabulary& vocabulary) {
  return std::make_unique<Rnn>(RnnConfig{
      .vocab = vocabulary.target, .stack = recurrent_config(options), .tie_embeddings = ties_embeddings(options)});
}

// A product costs two operations per weight.
ForwardFlops rnn_flops(const KeyValues& options, const Module& model, const ModelVocabulary& vocabulary, std::int64_t) {
  const double head = 2 * static_cast<double>(vocabulary.target * options.integer("dim"));
  return {.other = 2 * static_cast<double>(model.parameter_count("layers.")) + head, .head = head};
}

}  // namespace

ModelFamily rnn_family() {
  return {.name = "rnn",
          .help = "recurrent language model (Mikolov et al. 2010, Zaremba et al. 2014)",
          .task = "language_model",
          .keys = recurrent_keys(),
          .resolve = [](KeyValues& options, bool) { resolve_recurrent_keys(options); },
          .make = CausalModelMaker(make_rnn),
          .parts = {{"embeddings", "token embedding", {"token_embedding."}},
                    {"layers", "recurrent layers", {"layers."}},
                    {"head", "head", {"head."}}},
          .flops = rnn_flops,
          .training = language_model_training(),
          .bptt = 64};
}

}  // namespace tapeformer
