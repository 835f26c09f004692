#include "nn/token_head.h"

#include "autograd/ops/products.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"

namespace tapeformer {

TokenHead::TokenHead(const Embedding& embedding, bool tied, std::int64_t dim, const Init& init, DType dtype) {
  const std::int64_t vocab = embedding.weight.size(0), width = embedding.weight.size(1);
  if (tied) {
    check(width == dim, "token head: the embedding is ", width, " wide, the states ", dim,
          ": expected the same, since the head is tied");
    weight = embedding.weight;
    register_tied("weight", weight);
  } else {
    weight = register_matrix("weight", {vocab, dim}, dtype, init);
  }
  bias = register_parameter("bias", {vocab}, dtype, Init::zeros());
}

Variable TokenHead::logits(const Variable& x) const { return linear(x, weight, bias); }

Variable TokenHead::loss(const Variable& x, const Tensor& targets, const CrossEntropyOptions& options) const {
  return linear_cross_entropy(reshape(x, {-1, weight.size(1)}), weight, bias,
                              Variable::constant(*x.tape(), targets.reshape({-1})), options);
}

}  // namespace tapeformer
