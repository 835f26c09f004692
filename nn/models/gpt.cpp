#include "nn/models/gpt.h"

#include <algorithm>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/helpers/products.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "nn/attention/documents.h"
#include "nn/models/shared/tied_embeddings.h"
#include "nn/models/shared/transformer_keys.h"

namespace tapeformer {
namespace {

bool contains(const Tensor& ids, std::int32_t token) {
  const Tensor dense = ids.contiguous();
  return std::ranges::find(dense.span<std::int32_t>(), token) != dense.span<std::int32_t>().end();
}

}  // namespace

Gpt::Gpt(const GptConfig& config)
    : config_(config),
      token_embedding_(config.vocab, config.block.dim, config.block.init, config.block.dtype),
      positions_(config.position, config.context, config.block.dim, config.block.init, config.block.dtype),
      dropout_(config.block.dropout),
      stack_(config.block, config.layers, config.position),
      head_(token_embedding_, config.tie_embeddings, config.block.dim, /*with_bias=*/false, config.block.init,
            config.block.dtype, config.logit_softcap) {
  register_module("token_embedding", token_embedding_);
  register_module("position_embedding", positions_);
  register_module("", stack_);
  register_module("head", head_);
}

Variable Gpt::run(const Variable& ids, const Tensor& lengths, Cache* cache, std::vector<Variable>* layers,
                  const Tensor& first_tokens) const {
  check(ids.value().rank() == 2, "gpt: expected ids (B, T), got ", ids.sizes());
  auto* const own = own_cache<StackCache>(cache, "gpt");
  const std::int64_t first = own ? own->length() : 0, length = ids.size(1);
  const std::int32_t token = config_.document_token;
  SelfMask mask;
  Positions positions{.first = first};
  if ((token >= 0 || first_tokens.defined()) && !own) {
    const Documents documents =
        first_tokens.defined() ? documents_from(first_tokens) : find_documents(ids.value(), token);
    mask.key_begin = documents.first_tokens;
    positions.of_tokens = documents.positions;
  } else {
    check(token < 0 || !contains(ids.value().slice(1, first == 0, length), token),
          "gpt: the key/value cache holds one document, but another one begins");
  }
  const Variable x =
      dropout_.forward(positions_.add_to(token_embedding_.forward(ids, config_.embedding_scale), positions));
  if (layers) layers->push_back(x);
  return stack_.forward(x, {.mask = mask, .lengths = lengths, .positions = positions}, own, layers);
}

std::vector<Variable> Gpt::hidden_states(const Batch& batch) const {
  const Variable& ids = only_ids(batch, "gpt");
  std::vector<Variable> layers;
  const Variable features = call([&] { return run(ids, batch.lengths, nullptr, &layers); });
  layers.back() = features;
  return layers;
}

Variable Gpt::logits(const Variable& features) const { return head_.logits(features); }

Variable Gpt::loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options) const {
  return head_.loss(forward(ids), targets.value(), options);
}

Variable Gpt::packed_loss(const Variable& ids, const PackedRows& rows, const Variable& targets,
                          const CrossEntropyOptions& options) const {
  const Variable features = call([&] { return run(ids, rows.lengths, nullptr, nullptr, rows.first_tokens); });
  return head_.loss(features, targets.value(), options);
}

namespace {

std::vector<Key> gpt_keys() {
  std::vector<Key> keys = transformer_keys({.norm = NormPlace::pre,
                                            .activation = ActivationKind::swiglu,
                                            .position = PositionKind::rotary,
                                            .norm_kind = NormKind::rms,
                                            .bias = false});
  keys.push_back(tied_key(TiedEmbeddings::output));
  keys.push_back(attention_window_key());
  keys.push_back(word_key("attention_kind", AttentionKind::softmax,
                          "softmax, or linear attention, whose work grows with the length and not with its square"));
  keys.push_back({"value_residual", false,
                  "the values of each layer's attention are mixed with those of the first layer, by a learned share"});
  return keys;
}

// Refuses what does not fit linear attention. It has no scores to scale, and no weights on which a dropout could act.
void resolve_linear_attention(KeyValues& options) {
  if (options.word<AttentionKind>("attention_kind") != AttentionKind::linear) return;
  if (options.word<PositionKind>("position") == PositionKind::rotary) {
    fail_usage(
        "model.position: expected another kind beside model.attention_kind = linear, since a rotation makes its "
        "weights negative, got rotary");
  }
  if (const std::int64_t window = options.integer("attention_window"); window > 0) {
    fail_usage("model.attention_window: expected 0 beside model.attention_kind = linear, got ", window);
  }
  if (const double scale = options.number("attention_scale"); scale > 0) {
    fail_usage("model.attention_scale: expected auto beside model.attention_kind = linear, got ", scale);
  }
  if (const double dropout = options.number("attention_dropout"); dropout > 0) {
    fail_usage("model.attention_dropout: expected 0 beside model.attention_kind = linear, got ", dropout);
  }
  options.set("attention_dropout", 0.0);
}

void resolve_gpt(KeyValues& options, bool) {
  constexpr double kInitStd = 0.02;  // Radford et al. 2019
  resolve_linear_attention(options);
  resolve_transformer_keys(options);
  if (options.number("init_std") == 0) options.set("init_std", kInitStd);
  resolve_tied(options);
}

GptConfig gpt_config(const KeyValues& options, const ModelVocabulary& vocabulary) {
  GptConfig config{.vocab = vocabulary.target,
                   .context = options.integer("context"),
                   .layers = options.integer("layers"),
                   .block = block_config(options),
                   .position = position_config(options),
                   .embedding_scale = embedding_scale(options, 1),
                   .tie_embeddings = ties_embeddings(options),
                   .logit_softcap = options.number("logit_softcap"),
                   .document_token = vocabulary.document_token};
  config.block.attention_kind = options.word<AttentionKind>("attention_kind");
  config.block.attention_window = options.integer("attention_window");
  config.block.value_residual = options.boolean("value_residual");
  return config;
}

std::unique_ptr<CausalModel> make_gpt(const KeyValues& options, const ModelVocabulary& vocabulary) {
  return std::make_unique<Gpt>(gpt_config(options, vocabulary));
}

// A product costs two operations per weight.
ForwardFlops gpt_flops(const KeyValues& options, const Module& model, const ModelVocabulary& vocabulary,
                       std::int64_t length) {
  const std::int64_t layers = options.integer("layers"), dim = options.integer("dim");
  return {.blocks = 2 * static_cast<double>(model.parameter_count("blocks.")) +
                    static_cast<double>(layers) * causal_attention_flops(options, length),
          .other = 2 * static_cast<double>(model.parameter_count("final_norm.") + vocabulary.target * dim),
          .head = 2 * static_cast<double>(vocabulary.target * dim),
          .count = layers};
}

}  // namespace

ModelFamily gpt_family() {
  return {.name = "gpt",
          .help = "decoder-only Transformer (Radford et al. 2019)",
          .task = "language_model",
          .keys = gpt_keys(),
          .resolve = resolve_gpt,
          .make = CausalModelMaker(make_gpt),
          .parts = {{"embeddings", "token embedding", {"token_embedding."}},
                    {"positions", "position embedding", {"position_embedding."}},
                    {"blocks", "blocks", {"blocks."}},
                    {"final_norm", "final norm", {"final_norm."}},
                    {"head", "head", {"head."}}},
          .flops = gpt_flops,
          .training = language_model_training(),
          .keeps_documents = true,
          .recomputes = true};
}

}  // namespace tapeformer
