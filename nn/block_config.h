// What every block of a model shares.
#pragma once

#include "autograd/kernels/activation_kind.h"
#include "autograd/tensor/dtype.h"
#include "nn/init.h"

namespace tapeformer {

enum class NormPlace { pre, post };  // x + Sub(LN(x)) (GPT-2), or LN(x + Sub(x)) (Vaswani et al. 2017)
enum class NormKind { layer, rms };
enum class PositionKind { learned, sinusoidal };

struct BlockConfig {
  std::int64_t dim = 128;
  std::int64_t heads = 4;
  std::int64_t ff_dim = 512;
  double dropout = 0;            // of embeddings and of what each part of a block adds
  double attention_dropout = 0;  // of attention weights
  NormPlace norm = NormPlace::pre;
  NormKind norm_kind = NormKind::layer;
  ActivationKind activation = ActivationKind::gelu;
  bool bias = true;  // of the linear layers and the layer norms; RMSNorm has none
  double norm_eps = 1e-5;
  Init init = Init::normal(0.02);           // of matrices
  Init residual_init = Init::normal(0.02);  // of the matrices whose result is added to the residual stream
  DType dtype = DType::f32;
};

}  // namespace tapeformer
