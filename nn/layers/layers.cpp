#include "nn/layers/layers.h"

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/helpers/products.h"
#include "autograd/ops/layers.h"

namespace tapeformer {

Linear::Linear(std::int64_t in, std::int64_t out, bool with_bias, const Init& init, DType dtype,
               const ParameterRole& role)
    : weight(register_matrix("weight", {out, in}, dtype, init, role)) {
  if (with_bias) bias = register_parameter("bias", {out}, dtype, Init::zeros());
}

Variable Linear::forward(const Variable& x) const {
  return call([&] { return linear(x, weight, bias); });
}

Embedding::Embedding(std::int64_t rows, std::int64_t dim, const Init& init, DType dtype)
    : weight(register_matrix("weight", {rows, dim}, dtype, init, ParameterKind::embedding)) {}

Variable Embedding::forward(const Variable& ids, double factor) const {
  const Variable rows = call([&] { return embedding(weight, ids); });
  return factor == 1 ? rows : scale(rows, factor);
}

Variable Dropout::forward(const Variable& x) const {
  return call([&] { return dropout(x, p_); });
}

}  // namespace tapeformer
