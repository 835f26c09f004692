#include "train/model_config.h"

#include <map>

namespace tapeformer {

GptConfig gpt_config(const Config& config, std::int64_t vocab) {
  static const std::map<std::string, NormPlace> norms{{"pre", NormPlace::pre}, {"post", NormPlace::post}};
  static const std::map<std::string, ActivationKind> activations{
      {"gelu", ActivationKind::gelu}, {"gelu_tanh", ActivationKind::gelu_tanh}, {"relu", ActivationKind::relu}};
  static const std::map<std::string, PositionKind> positions{{"learned", PositionKind::learned},
                                                             {"sinusoidal", PositionKind::sinusoidal}};
  const Config::Model& model = config.model;
  if (model.type != "gpt") fail_usage("model.type: ", model.type, " cannot be trained yet; expected gpt");
  return {.vocab = vocab,
          .context = model.context,
          .layers = model.layers,
          .block = {.dim = model.dim,
                    .heads = model.heads,
                    .ff_dim = model.ff_dim,
                    .dropout = model.dropout,
                    .norm = norms.at(model.norm),
                    .activation = activations.at(model.activation),
                    .bias = model.bias,
                    .norm_eps = model.norm_eps,
                    .init = Init::normal(model.init_std),
                    .residual_init = Init::normal(model.init_std)},
          .position = positions.at(model.position),
          .position_base = model.position_base,
          .tie_embeddings = model.tie_embeddings != "none"};
}

}  // namespace tapeformer
