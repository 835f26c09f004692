#include "nn/models/bert.h"

#include <algorithm>

#include "autograd/ops/arithmetic.h"
#include "autograd/tape/tape.h"
#include "nn/models/shared/tied_embeddings.h"
#include "nn/models/shared/transformer_keys.h"

namespace tapeformer {

Bert::Bert(const BertConfig& config)
    : config_(config),
      token_embedding_(config.vocab, config.block.dim, config.block.init, config.block.dtype),
      positions_(config.position, config.context, config.block.dim, config.block.init, config.block.dtype),
      embedding_norm_(make_norm(config.block)),
      dropout_(config.block.dropout),
      stack_(config.block, config.layers, config.position) {
  const std::int64_t dim = config.block.dim;
  register_module("token_embedding", token_embedding_);
  register_module("position_embedding", positions_);
  if (config.segments > 1) {
    segment_embedding_ = std::make_unique<Embedding>(config.segments, dim, config.block.init, config.block.dtype);
    register_module("segment_embedding", *segment_embedding_);
  }
  if (embedding_norm_) register_module("embedding_norm", *embedding_norm_);
  register_module("", stack_);
}

Variable Bert::embed(const Batch& batch) const {
  const Variable& ids = ids_of(batch, "bert");
  const Tensor& types = batch.token_type_ids;
  Variable x = positions_.add_to(token_embedding_.forward(ids, config_.embedding_scale), {});
  if (segment_embedding_) {
    const Tensor segments = types.defined() ? types : Tensor::full(ids.sizes(), DType::i32, 0);
    x = add(x, segment_embedding_->forward(Variable::constant(*ids.tape(), segments)));
  } else {
    check(!types.defined(), "bert: the batch has token types, but the model has no embedding of them");
  }
  return dropout_.forward(normalize(embedding_norm_, x, batch.lengths));
}

Variable Bert::encode(const Batch& batch, const Variable& x, std::vector<Variable>* layers) const {
  return stack_.forward(x, {.mask = {.causal = false, .lengths = batch.lengths}, .lengths = batch.lengths}, nullptr,
                        layers);
}

std::vector<Variable> Bert::hidden_states(const Batch& batch) const {
  std::vector<Variable> layers;
  const Variable features = call([&] {
    const Variable x = embed(batch);
    layers.push_back(x);
    return encode(batch, x, &layers);
  });
  layers.back() = features;
  return layers;
}

namespace {

std::vector<Key> bert_keys() {
  std::vector<Key> keys = transformer_keys(
      {.norm = NormPlace::post, .activation = ActivationKind::gelu, .position = PositionKind::learned});
  std::ranges::find(keys, "norm_eps", &Key::name)->default_value = 1e-12;
  keys.push_back({"segments", std::int64_t{1}, "segments of a row that have an embedding each (1 = no such embedding)",
                  between(1, 1000)});
  keys.push_back(tied_key(TiedEmbeddings::output));
  keys.push_back({"next_sentence", false, "also predict whether the second segment of a row follows the first"});
  return keys;
}

constexpr std::int64_t kFewestTokens = 8;  // [CLS], [SEP] twice, and some text in each segment

void resolve_bert(KeyValues& options, bool) {
  constexpr double kInitStd = 0.02;  // Devlin et al. 2019
  resolve_transformer_keys(options);
  if (options.number("init_std") == 0) options.set("init_std", kInitStd);
  resolve_tied(options);
  if (options.boolean("next_sentence") && options.integer("segments") < 2) {
    fail_usage("model.segments: expected at least 2 beside model.next_sentence, got ", options.integer("segments"));
  }
  if (options.integer("context") < kFewestTokens) {
    fail_usage("model.context: expected at least ", kFewestTokens, " for bert, whose rows have [CLS] and [SEP], got ",
               options.integer("context"));
  }
}

BertConfig bert_config(const KeyValues& options, const ModelVocabulary& vocabulary) {
  BertConfig config{.vocab = vocabulary.target,
                    .context = options.integer("context"),
                    .layers = options.integer("layers"),
                    .block = block_config(options),
                    .position = position_config(options),
                    .embedding_scale = embedding_scale(options, 1),
                    .segments = options.integer("segments")};
  config.block.init = Init::truncated_normal(options.number("init_std"));
  if (!options.boolean("zero_init")) config.block.residual_init = config.block.init;
  return config;
}

std::unique_ptr<Model> make_bert(const KeyValues& options, const ModelVocabulary& vocabulary) {
  return std::make_unique<Bert>(bert_config(options, vocabulary));
}

// A product costs two operations per weight.
ForwardFlops bert_flops(const KeyValues& options, const Module& model, const ModelVocabulary&, std::int64_t length) {
  const std::int64_t layers = options.integer("layers");
  return {.blocks = 2 * static_cast<double>(model.parameter_count("blocks.")) +
                    static_cast<double>(layers) * attention_flops(options, length),
          .count = layers};
}

}  // namespace

ModelFamily bert_family() {
  return {.name = "bert",
          .help = "encoder that learns from masked tokens (Devlin et al. 2019)",
          .task = "masked_language_model",
          .keys = bert_keys(),
          .resolve = resolve_bert,
          .make = ModelMaker(make_bert),
          .parts = {{"embeddings", "token embedding", {"token_embedding."}},
                    {"positions", "position embedding", {"position_embedding."}},
                    {"segments", "segment embedding", {"segment_embedding."}},
                    {"embedding_norm", "embedding norm", {"embedding_norm."}},
                    {"blocks", "blocks", {"blocks."}},
                    {"final_norm", "final norm", {"final_norm."}}},
          .flops = bert_flops,
          .training = {.schedule = ScheduleKind::linear},
          .recomputes = true};
}

}  // namespace tapeformer
