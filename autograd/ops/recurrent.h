// Recurrent layers (recurrent.cpp).
#pragma once

#include "autograd/kernels/recurrent/cell_kind.h"
#include "autograd/tape/variable.h"

namespace tapeformer {

struct RecurrentOptions {
  CellKind cell = CellKind::lstm;
  // From the last time step to the first one; padding comes first then, and the state begins at a row's last token.
  bool reverse = false;
  // i32 (B): row b has tokens at the times before lengths[b], and padding from there on, where it keeps its state (so
  // its gradient flows through padding unchanged). Undefined: no padding.
  Tensor lengths{};
};

// The states of a layer at all times: h and, of an LSTM, the cell c (undefined otherwise), (T, B, H) each.
struct RecurrentStates {
  Variable h, c;
};

// A layer of recurrent cells over T time steps, forward and backward with one small product a step. With the gates of
// kernels/recurrent/recurrent.h, G of them:
//   input   x W_ihᵀ + b_ih of all times (T, B, G·H): one product, by linear()
//   h0, c0  the state before the first step (B, H); undefined: zeros. c0 is for an LSTM alone.
//   weight, bias   W_hh (G·H, H; bf16 where nothing is recorded), and b_hh (G·H) or undefined
// Throws Error for sizes that do not fit, and for lengths outside of 0 … T.
RecurrentStates recurrent(const Variable& input, const Variable& h0, const Variable& c0, const Variable& weight,
                          const Variable& bias, const RecurrentOptions& options = {});

}  // namespace tapeformer
