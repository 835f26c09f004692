// Where a token stands in its sequence.
#pragma once

#include <memory>

#include "nn/block_config.h"
#include "nn/layers.h"

namespace tapeformer {

// PE(k, 2i) = sin(k/base^(2i/d)), PE(k, 2i+1) = cos(k/base^(2i/d)) (Vaswani et al. 2017, section 3.5) → (length, dim).
Tensor sinusoidal_positions(std::int64_t length, std::int64_t dim, double base, DType dtype);

// A vector for each position below `context`: a learned table, or the fixed sinusoids.
class PositionEmbedding : public Module {
 public:
  PositionEmbedding(PositionKind kind, std::int64_t context, std::int64_t dim, double base, const Init& init,
                    DType dtype);
  // Positions first … first + length − 1, (length, dim). Throws Error past the context.
  Variable forward(Tape& tape, std::int64_t first, std::int64_t length) const;
  // The given ones, i32 (B, T) → (B, T, dim): of documents that begin within rows. Throws Error for rows longer than
  // the context.
  Variable forward(Tape& tape, const Tensor& positions) const;

 private:
  void check_length(std::int64_t length) const;

  std::int64_t context_;
  Variable weight_;  // learned
  Tensor fixed_;     // sinusoidal
};

}  // namespace tapeformer
