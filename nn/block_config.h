// What every block of a model shares.
#pragma once

#include "autograd/kernels/elementwise/activation_kind.h"
#include "autograd/tensor/dtype.h"
#include "core/keys.h"
#include "nn/init.h"

namespace tapeformer {

enum class NormPlace { pre, post };  // x + Sub(LN(x)) (GPT-2), or LN(x + Sub(x)) (Vaswani et al. 2017)
enum class NormKind { layer, rms };  // Ba et al. 2016; Zhang & Sennrich 2019
enum class PositionKind { learned, sinusoidal };

template <>
struct Words<NormPlace> {
  static constexpr std::pair<NormPlace, std::string_view> list[] = {{NormPlace::pre, "pre"}, {NormPlace::post, "post"}};
};
template <>
struct Words<NormKind> {
  static constexpr std::pair<NormKind, std::string_view> list[] = {{NormKind::layer, "layer"}, {NormKind::rms, "rms"}};
};
template <>
struct Words<PositionKind> {
  static constexpr std::pair<PositionKind, std::string_view> list[] = {{PositionKind::learned, "learned"},
                                                                       {PositionKind::sinusoidal, "sinusoidal"}};
};
template <>
struct Words<ActivationKind> {
  static constexpr std::pair<ActivationKind, std::string_view> list[] = {
      {ActivationKind::gelu, "gelu"}, {ActivationKind::gelu_tanh, "gelu_tanh"}, {ActivationKind::relu, "relu"}};
};

struct BlockConfig {
  std::int64_t dim = 128;
  std::int64_t heads = 4;
  std::int64_t ff_dim = 512;
  double dropout = 0;            // on embeddings and on the output of each sublayer
  double attention_dropout = 0;  // on attention weights
  NormPlace norm = NormPlace::pre;
  NormKind norm_kind = NormKind::layer;
  ActivationKind activation = ActivationKind::gelu;
  bool bias = true;  // whether linear layers and layer norms have one; RMSNorm has none
  double norm_eps = 1e-5;
  Init init = Init::normal(0.02);           // for matrices
  Init residual_init = Init::normal(0.02);  // for matrices whose output is added to the residual stream
  DType dtype = DType::f32;
};

}  // namespace tapeformer
