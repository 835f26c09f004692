#include "nn/models/bert.h"

#include <algorithm>

#include "autograd/ops/activations.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "nn/models/transformer_keys.h"

namespace tapeformer {

MaskedTokenHead::MaskedTokenHead(const BlockConfig& config, const Embedding& embedding, double softcap)
    : transform_(config.dim, config.dim, config.bias, config.init, config.dtype),
      norm_(make_norm(config)),
      output_(embedding, /*tied=*/true, config.dim, /*with_bias=*/true, config.init, config.dtype, softcap) {
  register_module("transform", transform_);
  register_module("norm", *norm_);
  register_module("", output_);
}

Variable MaskedTokenHead::transformed(const Variable& features) const {
  return norm_->forward(gelu(transform_.forward(features)));
}

Bert::Bert(const BertConfig& config)
    : config_(config),
      token_embedding_(config.vocab, config.block.dim, config.block.init, config.block.dtype),
      positions_(config.position, config.context, config.block.dim, config.position_base, config.block.init,
                 config.block.dtype),
      embedding_norm_(make_norm(config.block)),
      dropout_(config.block.dropout),
      stack_(config.block, config.layers),
      head_(config.block, token_embedding_, config.logit_softcap) {
  check_rotary(config.position, config.block);
  check(!config.next_sentence || config.segments == 2, "bert: next-sentence prediction needs 2 segments, got ",
        config.segments);
  const std::int64_t dim = config.block.dim;
  register_module("token_embedding", token_embedding_);
  register_module("position_embedding", positions_);
  if (config.segments > 1) {
    segment_embedding_ = std::make_unique<Embedding>(config.segments, dim, config.block.init, config.block.dtype);
    register_module("segment_embedding", *segment_embedding_);
  }
  register_module("embedding_norm", *embedding_norm_);
  register_module("", stack_);
  if (config.next_sentence) {
    pooler_ = std::make_unique<Linear>(dim, dim, true, config.block.init, config.block.dtype);
    next_sentence_ = std::make_unique<Linear>(dim, 2, true, config.block.init, config.block.dtype, ParameterKind::head);
    register_module("pooler", *pooler_);
    register_module("next_sentence", *next_sentence_);
  }
  register_module("head", head_);
}

Variable Bert::embed(const EncoderBatch& rows) const {
  check(rows.ids.value().rank() == 2, "bert: expected ids (B, T), got ", rows.ids.sizes());
  Variable x = positions_.add_to(token_embedding_.forward(rows.ids), {});
  if (segment_embedding_) {
    const Tensor segments = rows.segments.defined() ? rows.segments : Tensor::full(rows.ids.sizes(), DType::i32, 0);
    x = add(x, segment_embedding_->forward(Variable::constant(*rows.ids.tape(), segments)));
  } else {
    check(!rows.segments.defined(), "bert: the rows have segments, but the model has no embedding of them");
  }
  return dropout_.forward(embedding_norm_->forward(x));
}

Variable Bert::encode(const EncoderBatch& rows, const Variable& x, std::vector<Variable>* layers) const {
  return stack_.forward(x, {.mask = {.causal = false, .lengths = rows.lengths}}, nullptr, layers);
}

std::vector<Variable> Bert::hidden_states(const EncoderBatch& rows) const {
  std::vector<Variable> layers{embed(rows)};
  encode(rows, Variable(layers.front()), &layers);
  return layers;
}

Variable Bert::next_sentence_logits(const Variable& features) const {
  check(config_.next_sentence, "bert: the model was made without next-sentence prediction");
  const Variable first = reshape(slice(features, 1, 0, 1), {features.size(0), features.size(2)});
  return next_sentence_->forward(tanh(pooler_->forward(first)));
}

namespace {

std::vector<Key> bert_keys() {
  std::vector<Key> keys = transformer_keys(
      {.norm = NormPlace::post, .activation = ActivationKind::gelu, .position = PositionKind::learned});
  std::ranges::find(keys, "norm_eps", &Key::name)->default_value = 1e-12;
  keys.push_back({"segments", std::int64_t{1}, "segments of a row that have an embedding each (1 = no such embedding)",
                  between(1, 2)});
  keys.push_back({"next_sentence", false, "also predict whether the second segment of a row follows the first"});
  return keys;
}

constexpr std::int64_t kFewestTokens = 8;  // [CLS], [SEP] twice, and some text in each segment

void resolve_bert(KeyValues& options, bool) {
  constexpr double kInitStd = 0.02;  // Devlin et al. 2019
  resolve_transformer_keys(options);
  if (options.number("init_std") == 0) options.set("init_std", kInitStd);
  if (options.boolean("next_sentence") && options.integer("segments") != 2) {
    fail_usage("model.next_sentence: expected model.segments = 2 beside it, got ", options.integer("segments"));
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
                    .position = options.word<PositionKind>("position"),
                    .position_base = options.number("position_base"),
                    .segments = options.integer("segments"),
                    .next_sentence = options.boolean("next_sentence"),
                    .logit_softcap = options.number("logit_softcap")};
  config.block.init = Init::truncated_normal(options.number("init_std"));
  if (!options.boolean("zero_init")) config.block.residual_init = config.block.init;
  return config;
}

std::unique_ptr<MaskedLanguageModel> make_bert(const KeyValues& options, const ModelVocabulary& vocabulary) {
  return std::make_unique<Bert>(bert_config(options, vocabulary));
}

// A product costs two operations per weight. Only the masked positions, usually 15 %, go through the head.
ForwardFlops bert_flops(const KeyValues& options, const Module& model, const ModelVocabulary& vocabulary,
                        std::int64_t length) {
  constexpr double kChosen = 0.15;
  const std::int64_t layers = options.integer("layers"), dim = options.integer("dim");
  const double head = kChosen * 2 * static_cast<double>(model.parameter_count("head.") + vocabulary.target * dim);
  return {.blocks = 2 * static_cast<double>(model.parameter_count("blocks.")) +
                    static_cast<double>(layers) * attention_flops(options, length),
          .other = head,
          .head = head,
          .count = layers};
}

}  // namespace

ModelFamily bert_family() {
  return {.name = "bert",
          .help = "encoder that learns from masked tokens (Devlin et al. 2019)",
          .task = "masked_language_model",
          .keys = bert_keys(),
          .resolve = resolve_bert,
          .make = MaskedLanguageModelMaker(make_bert),
          .parts = {{"embeddings", "token embedding", {"token_embedding."}},
                    {"positions", "position embedding", {"position_embedding."}},
                    {"segments", "segment embedding", {"segment_embedding."}},
                    {"embedding_norm", "embedding norm", {"embedding_norm."}},
                    {"blocks", "blocks", {"blocks."}},
                    {"final_norm", "final norm", {"final_norm."}},
                    {"pooler", "pooler", {"pooler."}},
                    {"head", "masked tokens' head", {"head."}, true},
                    {"next_sentence", "next-sentence head", {"next_sentence."}, true}},
          .flops = bert_flops,
          .recomputes = true};
}

}  // namespace tapeformer
