#include "nn/layers/lm_head.h"

#include "autograd/ops/activations.h"
#include "autograd/ops/helpers/products.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"

namespace tapeformer {

LMHead::LMHead(const Embedding& embedding, bool tied, std::int64_t dim, bool with_bias, const Init& init, DType dtype,
               double softcap)
    : softcap_(softcap) {
  const std::int64_t vocab = embedding.weight.size(0), width = embedding.weight.size(1);
  if (tied) {
    check(width == dim, "LM head: the embedding is ", width, " wide, the states ", dim,
          ": expected the same, since the head is tied");
    weight = embedding.weight;
    register_tied("weight", weight);
  } else {
    weight = register_matrix("weight", {vocab, dim}, dtype, init, ParameterKind::head);
  }
  if (with_bias) bias = register_parameter("bias", {vocab}, dtype, Init::zeros());
}

Variable loss_of_logits(const Variable& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  return cross_entropy(reshape(logits, {-1, logits.size(-1)}),
                       Variable::constant(*logits.tape(), targets.reshape({-1})), options);
}

Variable LMHead::logits(const Variable& x) const {
  return call([&] {
    const Variable z = linear(x, weight, bias);
    return softcap_ > 0 ? softcap(z, softcap_) : z;
  });
}

Variable LMHead::loss(const Variable& x, const Tensor& targets, const CrossEntropyOptions& options) const {
  if (has_hooks()) return loss_of_logits(logits(x), targets, options);
  return linear_cross_entropy(reshape(x, {-1, weight.size(1)}), weight, bias,
                              Variable::constant(*x.tape(), targets.reshape({-1})), options, softcap_);
}

}  // namespace tapeformer
