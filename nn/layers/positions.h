// Where a token stands in its sequence.
#pragma once

#include <memory>

#include "autograd/ops/attention/attention.h"
#include "nn/layers/block_config.h"
#include "nn/layers/layers.h"

namespace tapeformer {

// PE(k, 2i) = sin(k/base^(2i/d)), PE(k, 2i+1) = cos(k/base^(2i/d)) (Vaswani et al. 2017, section 3.5) → (length, dim).
Tensor sinusoidal_positions(std::int64_t length, std::int64_t dim, double base, DType dtype);

// Where the tokens of rows stand in their sequences.
struct Positions {
  std::int64_t first = 0;  // token t of every row stands at first + t
  Tensor of_tokens{};      // unless this i32 (B, T) says where each token stands
};

// How `length` tokens at these positions turn the heads of width d.
Rotation rotation_of(const Positions& positions, std::int64_t length, std::int64_t d, const Rotary& rotary,
                     DType dtype);

// Throws Error when the blocks turn queries and keys but the kind of positions is not rotary, or the other way round.
void check_rotary(PositionKind kind, const BlockConfig& blocks);

// A vector for each position below `context`: a learned table, or the fixed sinusoids. Rotary positions have none.
class PositionEmbedding : public Module {
 public:
  PositionEmbedding(PositionKind kind, std::int64_t context, std::int64_t dim, double base, const Init& init,
                    DType dtype);
  bool has_vectors() const { return kind_ != PositionKind::rotary; }
  // The vectors of `length` positions: (length, dim), or (B, length, dim) where each token has a position of its own.
  // Throws Error when the positions, or the rows, reach past the context.
  Variable forward(Tape& tape, const Positions& positions, std::int64_t length) const;
  // x (B, T, dim) and the vectors of its tokens' positions, added; x itself where positions are rotary.
  Variable add_to(const Variable& x, const Positions& positions) const;

 private:
  void check_length(std::int64_t length) const;

  PositionKind kind_;
  std::int64_t context_;
  Variable weight_;  // learned
  Tensor fixed_;     // sinusoidal
};

}  // namespace tapeformer
