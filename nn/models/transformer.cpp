#include "nn/models/transformer.h"

#include <cmath>

#include "autograd/ops/arithmetic.h"
#include "autograd/tape/tape.h"
#include "nn/interfaces/scored_lengths.h"
#include "nn/models/shared/transformer_keys.h"

namespace tapeformer {
namespace {

Init embedding_init(const BlockConfig& block) { return Init::normal(1 / std::sqrt(static_cast<double>(block.dim))); }

}  // namespace

Transformer::Transformer(const TransformerConfig& config)
    : Seq2SeqModel({.source_vocab = config.source_vocab,
                    .target_vocab = config.target_vocab,
                    .dim = config.block.dim,
                    .tied = config.tied,
                    .source_init = embedding_init(config.block),
                    .target_init = embedding_init(config.block),
                    .dtype = config.block.dtype},
                   {.with_bias = false, .init = config.block.init, .softcap = config.logit_softcap}),
      config_(config),
      source_positions_(config.position, config.context, config.block.dim, embedding_init(config.block),
                        config.block.dtype),
      target_positions_(config.position, config.context, config.block.dim, embedding_init(config.block),
                        config.block.dtype),
      dropout_(config.block.dropout),
      encoder_(config.block, config.layers, config.position),
      decoder_(config.block, config.layers, config.position, /*cross=*/true) {
  register_module("", embeddings_);
  register_module("source_position_embedding", source_positions_);
  register_module("target_position_embedding", target_positions_);
  register_module("encoder", encoder_);
  register_module("decoder", decoder_);
  register_module("head", head_);
}

// Returns scale · embedding + positions, with dropout; the first token has position `first`.
Variable Transformer::embed(const Embedding& embedding, const PositionEmbedding& positions, const Variable& ids,
                            std::int64_t first) const {
  const double factor = config_.embedding_scale.value_or(std::sqrt(static_cast<double>(config_.block.dim)));
  return dropout_.forward(positions.add_to(embedding.forward(ids, factor), {.first = first}));
}

Variable Transformer::embed_source(Tape& tape, const SourceBatch& source) const {
  check(source.ids.rank() == 2 && source.lengths.sizes() == Dims{source.ids.size(0)},
        "transformer: expected source ids (B, S) and lengths (B), got ", source.ids.sizes(), " and ",
        source.lengths.sizes());
  return embed(embeddings_.source, source_positions_, Variable::constant(tape, source.ids), 0);
}

std::vector<Variable> Transformer::hidden_states(const Batch& batch) const {
  const Variable& ids = only_ids(batch, "transformer");
  const SourceBatch source{ids.value(), batch.row_lengths()};
  const Variable x = embed_source(*ids.tape(), source);
  std::vector<Variable> layers{x};
  encoder_.forward(x, encoder_context(source), nullptr, &layers);
  return layers;
}

Variable Transformer::decode_rows(const Variable& ids, const Tensor& lengths, const EncoderOutput& source,
                                  Cache* cache) const {
  auto* const own = own_cache<StackCache>(cache, "transformer");
  check(ids.value().rank() == 2, "transformer: expected target ids (R, T), got ", ids.sizes());
  const std::int64_t first = own ? own->length() : 0;
  return call([&] {
    const Variable x = embed(embeddings_.target, target_positions_, ids, first);
    return decoder_.forward(x, {.lengths = lengths, .positions = {.first = first}, .encoded = source}, own);
  });
}

Variable Transformer::loss(const SourceBatch& source, const Variable& inputs, const Variable& targets,
                           const CrossEntropyOptions& options) const {
  const EncoderOutput encoded = encode(*inputs.tape(), source);
  return head_.loss(decode_rows(inputs, scored_lengths(targets.value()), encoded, nullptr), targets.value(), options);
}

namespace {

std::vector<Key> transformer_family_keys() {
  std::vector<Key> keys = transformer_keys(
      {.norm = NormPlace::post, .activation = ActivationKind::relu, .position = PositionKind::sinusoidal});
  keys.push_back(pair_tied_key());
  keys.push_back(attention_window_key());
  return keys;
}

void resolve_transformer(KeyValues& options, bool joint) {
  resolve_transformer_keys(options);
  resolve_pair_tied(options, joint);
}

TransformerConfig transformer_config(const KeyValues& options, const ModelVocabulary& vocabulary) {
  TransformerConfig config{
      .source_vocab = vocabulary.source,
      .target_vocab = vocabulary.target,
      .context = options.integer("context"),
      .layers = options.integer("layers"),
      .block = block_config(options),
      .position = position_config(options),
      .embedding_scale = embedding_scale(options, std::sqrt(static_cast<double>(options.integer("dim")))),
      .tied = options.word<TiedEmbeddings>("tie_embeddings"),
      .logit_softcap = options.number("logit_softcap")};
  config.block.attention_window = options.integer("attention_window");
  return config;
}

std::unique_ptr<EncoderDecoder> make_transformer(const KeyValues& options, const ModelVocabulary& vocabulary) {
  return std::make_unique<Transformer>(transformer_config(options, vocabulary));
}

// A product costs two operations per weight. If there are as many source tokens as target tokens, the encoder's
// attention and cross-attention cost attention_flops() each.
ForwardFlops transformer_flops(const KeyValues& options, const Module& model, const ModelVocabulary& vocabulary,
                               std::int64_t length) {
  const std::int64_t layers = options.integer("layers"), dim = options.integer("dim");
  const std::int64_t weights = model.parameter_count("encoder.") + model.parameter_count("decoder.");
  const double attention = 2 * attention_flops(options, length) + causal_attention_flops(options, length);
  return {.blocks = 2 * static_cast<double>(weights) + static_cast<double>(layers) * attention,
          .other = 2 * static_cast<double>(vocabulary.target * dim),
          .count = layers};
}

}  // namespace

ModelFamily transformer_family() {
  return {.name = "transformer",
          .help = "encoder-decoder Transformer (Vaswani et al. 2017)",
          .task = "translation",
          .keys = transformer_family_keys(),
          .resolve = resolve_transformer,
          .make = EncoderDecoderMaker(make_transformer),
          .parts = {{"embeddings", "embeddings", {"source_embedding.", "target_embedding."}},
                    {"positions", "position embeddings", {"source_position_embedding.", "target_position_embedding."}},
                    {"encoder", "encoder", {"encoder."}},
                    {"decoder", "decoder", {"decoder."}},
                    {"head", "head", {"head."}}},
          .flops = transformer_flops,
          .recomputes = true};
}

}  // namespace tapeformer
