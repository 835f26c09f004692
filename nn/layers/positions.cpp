#include "nn/layers/positions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/layers.h"
#include "autograd/ops/views.h"

namespace tapeformer {

Tensor sinusoidal_positions(std::int64_t length, std::int64_t dim, double base, DType dtype, std::int64_t first) {
  const Tensor table = Tensor::empty({length, dim}, dtype);
  dispatch_floating(dtype, [&]<class T>(T) {
    T* out = table.data<T>();
    for (std::int64_t k = 0; k < length; ++k) {
      for (std::int64_t i = 0; i < dim; ++i) {
        const double angle =
            static_cast<double>(first + k) / std::pow(base, static_cast<double>(i / 2 * 2) / static_cast<double>(dim));
        *out++ = static_cast<T>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    }
  });
  return table;
}

namespace {

// Returns the scaled angle of a pair that turns by `angle` from one position to the next.
double scaled_angle(double angle, const RotaryScaling& scaling) {
  if (scaling.kind == PositionScaling::none) return angle;
  if (scaling.kind == PositionScaling::linear) return angle / scaling.factor;
  const double turns = static_cast<double>(scaling.original_context) * angle / (2 * std::numbers::pi);
  const double kept = std::clamp((turns - scaling.low_freq) / (scaling.high_freq - scaling.low_freq), 0.0, 1.0);
  return kept * angle + (1 - kept) * angle / scaling.factor;
}

}  // namespace

std::vector<double> rotary_angles(std::int64_t d, const Rotary& rotary) {
  std::vector<double> angles = rotation_angles(d, rotary.base);
  for (double& angle : angles) angle = scaled_angle(angle, rotary.scaling);
  return angles;
}

Rotation rotation_of(const Positions& positions, std::int64_t length, std::int64_t d, const Rotary& rotary,
                     DType dtype) {
  return {.table = rotation_table(positions.first, length, rotary_angles(d, rotary), dtype),
          .positions = positions.of_tokens,
          .pairs = rotary.pairs};
}

PositionEmbedding::PositionEmbedding(const PositionConfig& config, std::int64_t context, std::int64_t dim,
                                     const Init& init, DType dtype)
    : config_(config), context_(context) {
  if (const auto* const sinusoidal = std::get_if<SinusoidalPositions>(&config)) {
    fixed_ = ShapesOnly::active() ? Tensor::scalar(0, dtype).expand({context, dim})
                                  : sinusoidal_positions(context, dim, sinusoidal->base, dtype);
  } else if (has_vectors()) {
    weight_ = register_parameter("weight", {context, dim}, dtype, init, ParameterKind::embedding);
  } else {
    refuse_hooks(std::holds_alternative<Rotary>(config) ? "rotary positions have no vectors"
                                                        : "the model has no positions");
  }
}

Tensor PositionEmbedding::sinusoids(std::int64_t first, std::int64_t end) const {
  const double base = std::get<SinusoidalPositions>(config_).base;
  return sinusoidal_positions(end - first, fixed_.size(1), base, fixed_.dtype(), first);
}

Variable PositionEmbedding::forward(Tape& tape, const Positions& positions, std::int64_t length) const {
  check(has_vectors(), "positions: they have no vectors");
  const std::int64_t first = positions.first;
  const Tensor& of_tokens = positions.of_tokens;
  const std::int64_t end = first + length;
  check(end <= context_ || can_exceed_context(), "positions: ", end, " tokens are more than the context of ", context_);
  return call([&] {
    if (end > context_) {
      const Tensor table = sinusoids(of_tokens.defined() ? 0 : first, end);
      const Variable beyond = Variable::constant(tape, table);
      return of_tokens.defined() ? embedding(beyond, Variable::constant(tape, of_tokens)) : beyond;
    }
    const Variable table = fixed_.defined() ? Variable::constant(tape, fixed_) : weight_.on(tape);
    if (of_tokens.defined()) return embedding(table, Variable::constant(tape, of_tokens));
    return first == 0 && length == context_ ? table : slice(table, 0, first, end);
  });
}

Variable PositionEmbedding::add_to(const Variable& x, const Positions& positions) const {
  return has_vectors() ? add(x, forward(*x.tape(), positions, x.size(1))) : x;
}

}  // namespace tapeformer
