#include "nn/positions.h"

#include <cmath>
#include <numeric>

#include "autograd/ops/layers.h"
#include "autograd/ops/views.h"

namespace tapeformer {

Tensor sinusoidal_positions(std::int64_t length, std::int64_t dim, double base, DType dtype) {
  const Tensor table = Tensor::empty({length, dim}, dtype);
  dispatch_floating(dtype, [&]<class T>(T) {
    T* out = table.data<T>();
    for (std::int64_t k = 0; k < length; ++k) {
      for (std::int64_t i = 0; i < dim; ++i) {
        const double angle =
            static_cast<double>(k) / std::pow(base, static_cast<double>(i / 2 * 2) / static_cast<double>(dim));
        *out++ = static_cast<T>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    }
  });
  return table;
}

PositionEmbedding::PositionEmbedding(PositionKind kind, std::int64_t context, std::int64_t dim, double base,
                                     const Init& init, DType dtype)
    : context_(context) {
  if (kind == PositionKind::learned) {
    weight_ = register_parameter("weight", {context, dim}, dtype, init);
  } else if (!ShapesOnly::active()) {
    fixed_ = sinusoidal_positions(context, dim, base, dtype);
  }
}

void PositionEmbedding::check_length(std::int64_t length) const {
  check(length <= context_, "positions: ", length, " tokens are more than the context of ", context_);
}

Variable PositionEmbedding::forward(Tape& tape, const Positions& positions, std::int64_t length) const {
  const auto [first, of_tokens] = positions;
  check_length(first + length);
  const Variable table = fixed_.defined() ? Variable::constant(tape, fixed_) : weight_.on(tape);
  if (of_tokens.defined()) return embedding(table, Variable::constant(tape, of_tokens));
  return first == 0 && length == context_ ? table : slice(table, 0, first, first + length);
}

}  // namespace tapeformer
