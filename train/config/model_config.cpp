#include "train/config/model_config.h"

#include <map>

#include "data/text/text_source.h"

namespace tapeformer {
namespace {

BlockConfig block_config(const Config::Model& model) {
  static const std::map<std::string, NormPlace> norms{{"pre", NormPlace::pre}, {"post", NormPlace::post}};
  static const std::map<std::string, ActivationKind> activations{
      {"gelu", ActivationKind::gelu}, {"gelu_tanh", ActivationKind::gelu_tanh}, {"relu", ActivationKind::relu}};
  const Init init = model.init_std > 0 ? Init::normal(model.init_std) : Init::xavier_uniform();
  return {.dim = model.dim,
          .heads = model.heads,
          .ff_dim = model.ff_dim,
          .dropout = model.dropout,
          .attention_dropout = model.attention_dropout,
          .norm = norms.at(model.norm),
          .activation = activations.at(model.activation),
          .bias = model.bias,
          .norm_eps = model.norm_eps,
          .init = init,
          .residual_init = init};
}

PositionKind position_kind(const Config::Model& model) {
  return model.position == "learned" ? PositionKind::learned : PositionKind::sinusoidal;
}

}  // namespace

std::int32_t document_token(const Config& config, const Tokenizer& tokenizer) {
  if (!config.data.within_document) return -1;
  const std::optional<std::int32_t> token = tokenizer.special(kEndOfText);
  if (!token) fail_usage("data.within_document: expected a tokenizer with the token ", kEndOfText, ", got one without");
  return *token;
}

GptConfig gpt_config(const Config& config, const Tokenizer& tokenizer) {
  GptConfig gpt = gpt_config(config, tokenizer.vocab_size());
  gpt.document_token = document_token(config, tokenizer);
  return gpt;
}

GptConfig gpt_config(const Config& config, std::int64_t vocab) {
  const Config::Model& model = config.model;
  return {.vocab = vocab,
          .context = model.context,
          .layers = model.layers,
          .block = block_config(model),
          .position = position_kind(model),
          .position_base = model.position_base,
          .tie_embeddings = model.tie_embeddings != "none"};
}

TransformerConfig transformer_config(const Config& config, std::int64_t source_vocab, std::int64_t target_vocab) {
  static const std::map<std::string, TiedEmbeddings> ties{
      {"none", TiedEmbeddings::none}, {"output", TiedEmbeddings::output}, {"all", TiedEmbeddings::all}};
  const Config::Model& model = config.model;
  return {.source_vocab = source_vocab,
          .target_vocab = target_vocab,
          .context = model.context,
          .layers = model.layers,
          .block = block_config(model),
          .position = position_kind(model),
          .position_base = model.position_base,
          .tied = ties.at(model.tie_embeddings)};
}

}  // namespace tapeformer
