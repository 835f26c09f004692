// Recurrent layers (recurrent.cpp).
#pragma once

#include "autograd/kernels/recurrent/cell_kind.h"
#include "autograd/tape/variable.h"

namespace tapeformer {

struct RecurrentOptions {
  CellKind cell = CellKind::lstm;
  // If true, the layer reads the time steps from the last to the first: it passes the padding first and begins at a
  // row's last token.
  bool reverse = false;
  // i32 (B): row b has tokens at the times before lengths[b] and padding from there on. Padding does not change the
  // state, so gradients flow through it unchanged. Undefined: no padding.
  Tensor lengths{};
};

// The states of a layer at all times, (T, B, H) each: h and, for an LSTM, the cell c (undefined otherwise).
struct RecurrentStates {
  Variable h, c;
};

// A layer of recurrent cells over T time steps (formulas in recurrent.cpp). G is the number of gates of the cell:
//   input   x W_ihᵀ + b_ih of all times (T, B, G·H), computed by linear() in one product
//   h0, c0  the state before the first step (B, H); undefined: zeros. c0 is only for an LSTM.
//   weight, bias   W_hh (G·H, H; may be bf16 if nothing is recorded), and b_hh (G·H) or undefined
// Throws Error if sizes do not fit, or if a length is not in 0 … T.
RecurrentStates recurrent(const Variable& input, const Variable& h0, const Variable& c0, const Variable& weight,
                          const Variable& bias, const RecurrentOptions& options = {});

}  // namespace tapeformer
