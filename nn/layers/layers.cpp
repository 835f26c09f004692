#include "nn/layers/layers.h"

#include <algorithm>

#include "autograd/kernels/gemm/precision.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/layers.h"
#include "autograd/tape/tape.h"

namespace tapeformer {

Linear::Linear(std::int64_t in, std::int64_t out, bool with_bias, const Init& init, DType dtype,
               const ParameterRole& role)
    : weight(register_matrix("weight", {out, in}, dtype, init, role)), role_(role) {
  if (with_bias) bias = register_parameter("bias", {out}, dtype, Init::zeros());
}

Variable Linear::forward(const Variable& x) const {
  return call([&] {
    if (!has_adapter()) return linear(x, weight, bias);
    return lora_linear(x, weight, bias, dropout(x, lora_dropout_), lora_);
  });
}

void Linear::add_adapter(const LoraOptions& options, const std::vector<std::size_t>& matrices) {
  const std::int64_t in = weight.size(1), rank = options.rank;
  const std::vector<std::int64_t> heights = role_.heights.empty() ? std::vector{weight.size(0)} : role_.heights;
  const DType dtype = is_floating(weight.dtype()) ? weight.dtype() : DType::f32;
  std::vector<std::int64_t> ranks, rows;
  std::int64_t row = 0, total = 0;
  for (std::size_t i = 0; i < heights.size(); ++i) {
    if (std::ranges::count(matrices, i) > 0) {
      lora_.parts.push_back({row, heights[i]});
      ranks.push_back(rank), rows.push_back(heights[i]);
      total += heights[i];
    }
    row += heights[i];
  }
  lora_.scale = options.alpha / static_cast<double>(rank);
  lora_dropout_ = options.dropout;
  lora_.a = register_parameter("lora_a", {std::ssize(ranks) * rank, in}, dtype, Init::uniform_fan_in(in),
                               ParameterRole::stacked(ranks));
  lora_.b = register_parameter("lora_b", {total, rank}, dtype, Init::zeros(), ParameterRole::stacked(rows));
}

Tensor Linear::merged_weight() const {
  if (!has_adapter()) return weight.value();
  const Tensor a = lora_.a.value(), b = lora_.b.value(), merged = weight.value().to(a.dtype()).clone();
  const std::int64_t rank = b.size(1);
  const kernels::MatmulPrecisionScope exact(kernels::MatmulPrecision::highest);
  Tape tape(no_grad);
  std::int64_t row = 0, part_number = 0;
  for (const LoraPart& part : lora_.parts) {
    const Tensor up = b.slice(0, row, row + part.rows), down = a.slice(0, part_number * rank, (part_number + 1) * rank);
    const Variable change = scale(matmul(Variable::constant(tape, up), Variable::constant(tape, down)), lora_.scale);
    merged.slice(0, part.row, part.row + part.rows).add_from(change.value());
    row += part.rows, ++part_number;
  }
  return merged;
}

void Linear::merge_adapter() {
  if (!has_adapter()) return;
  weight.value().copy_from(merged_weight());
  lora_ = {};
  remove_parameters({"lora_a", "lora_b"});
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
