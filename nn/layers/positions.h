// The positions of tokens in their sequences.
#pragma once

#include <memory>
#include <vector>

#include "autograd/ops/attention/attention.h"
#include "nn/layers/block_config.h"
#include "nn/layers/layers.h"

namespace tapeformer {

// PE(k, 2i) = sin(k/base^(2i/d)), PE(k, 2i+1) = cos(k/base^(2i/d)) (Vaswani et al. 2017, section 3.5), for `length`
// positions k from `first` on → (length, dim).
Tensor sinusoidal_positions(std::int64_t length, std::int64_t dim, double base, DType dtype, std::int64_t first = 0);

// The positions of the tokens of a batch.
struct Positions {
  std::int64_t first = 0;  // token t of every row has position first + t
  Tensor of_tokens{};      // i32 (B, T): the position of each token, used instead of `first`; undefined: not used
};

// Returns the angle by which each pair of the elements of a head of width d turns from one position to the next: (d/2).
std::vector<double> rotary_angles(std::int64_t d, const Rotary& rotary);

// Returns the rotation of the queries and keys of `length` tokens at these positions, for heads of width d.
Rotation rotation_of(const Positions& positions, std::int64_t length, std::int64_t d, const Rotary& rotary,
                     DType dtype);

// Has a vector for each position: a learned table of `context` positions, or fixed sinusoids. If positions are rotary,
// or if there are none, it has no vectors.
class PositionEmbedding : public Module {
 public:
  PositionEmbedding(const PositionConfig& config, std::int64_t context, std::int64_t dim, const Init& init,
                    DType dtype);
  // Whether there are positions beyond the context.
  bool can_exceed_context() const { return !std::holds_alternative<LearnedPositions>(config_); }
  bool has_vectors() const {
    return std::holds_alternative<LearnedPositions>(config_) || std::holds_alternative<SinusoidalPositions>(config_);
  }
  // Returns the vectors of `length` positions: (length, dim), or (B, length, dim) if positions.of_tokens is given.
  // Throws Error if first + length exceeds the context and the positions are learned.
  Variable forward(Tape& tape, const Positions& positions, std::int64_t length) const;
  // Returns x (B, T, dim) plus the vectors of its tokens' positions, or x itself if there are no vectors.
  Variable add_to(const Variable& x, const Positions& positions) const;

 private:
  // Returns the sinusoids of the positions first to end − 1.
  Tensor sinusoids(std::int64_t first, std::int64_t end) const;

  PositionConfig config_;
  std::int64_t context_;
  Variable weight_;  // learned
  Tensor fixed_;     // sinusoidal, of the positions below the context
};

}  // namespace tapeformer
