// Where a token stands in its sequence.
#pragma once

#include <memory>

#include "nn/block_config.h"
#include "nn/layers.h"

namespace tapeformer {

// PE(k, 2i) = sin(k/base^(2i/d)), PE(k, 2i+1) = cos(k/base^(2i/d)) (Vaswani et al. 2017, section 3.5) → (length, dim).
Tensor sinusoidal_positions(std::int64_t length, std::int64_t dim, double base, DType dtype);

// Where the tokens of rows stand in their sequences.
struct Positions {
  std::int64_t first = 0;  // token t of every row stands at first + t
  Tensor of_tokens{};      // unless this i32 (B, T) says where each token stands
};

// A vector for each position below `context`: a learned table, or the fixed sinusoids.
class PositionEmbedding : public Module {
 public:
  PositionEmbedding(PositionKind kind, std::int64_t context, std::int64_t dim, double base, const Init& init,
                    DType dtype);
  // The vectors of `length` positions: (length, dim), or (B, length, dim) where each token has a position of its own.
  // Throws Error when the positions, or the rows, reach past the context.
  Variable forward(Tape& tape, const Positions& positions, std::int64_t length) const;

 private:
  void check_length(std::int64_t length) const;

  std::int64_t context_;
  Variable weight_;  // learned
  Tensor fixed_;     // sinusoidal
};

}  // namespace tapeformer
