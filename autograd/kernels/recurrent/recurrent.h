// One time step of a recurrent layer: everything after its two matrix products. In PyTorch's order of gates, with
// x = W_ih x_t + b_ih, u = W_hh h_{t−1} and b = b_hh, each cut into gates of `size` elements:
//
//   lstm   i, f, o = σ(x + u + b), g = tanh(x + u + b), in the order i, f, g, o
//          c_t = f ⊙ c_{t−1} + i ⊙ g,  h_t = o ⊙ tanh c_t
//   gru    r, z = σ(x + u + b), q = u_n + b_n, n = tanh(x_n + r ⊙ q), in the order r, z, n
//          h_t = (1 − z) ⊙ n + z ⊙ h_{t−1}
//   tanh   h_t = tanh(x + u + b)
//
// A row whose length is at most `time` is padding there: it keeps its state, and its input gets no gradient.
#pragma once

#include <cstdint>

#include "autograd/kernels/recurrent/cell_kind.h"

namespace tapeformer::kernels {

// The gates of a cell, and the values for each unit that its backward needs beside the states: i, f, g, o of an lstm;
// r, z, n, q of a gru.
constexpr std::int64_t gate_count(CellKind cell) { return cell == CellKind::lstm ? 4 : cell == CellKind::gru ? 3 : 1; }
constexpr std::int64_t saved_count(CellKind cell) { return cell == CellKind::tanh ? 0 : 4; }

// The rows of a step: `rows` sequences of a batch, each with a state of `size` units.
struct CellRows {
  std::int64_t rows, size;
  std::int64_t time = 0;
  const std::int32_t* lengths = nullptr;  // (rows), or null: no padding

  bool is_padding(std::int64_t row) const { return lengths && lengths[row] <= time; }
};

// States are (rows, size), gates (rows, gate_count·size), saved (rows, saved_count·size). c and c_before are those of
// an lstm and null otherwise.
template <class T>
struct CellForward {
  T *h, *c, *saved;
  const T *x, *u;
  const T* bias;  // (gate_count·size), or null
  const T *h_before, *c_before;
};
template <class T>
void cell_forward(CellKind cell, const CellForward<T>& step, const CellRows& rows);

template <class T>
struct CellBackward {
  T* dx;        // the gradient of x, which is also that of u for lstm and tanh
  T* du;        // the gradient of u, of a gru alone
  T *dh, *dc;   // in: the gradient of the state from the step after; out: that of the state before, but for what flows
                // through u
  const T* dy;  // what reaches the state from elsewhere: of h and of c, null where nothing does
  const T* dcell;
  const T *saved, *h, *c, *h_before, *c_before;
};
template <class T>
void cell_backward(CellKind cell, const CellBackward<T>& step, const CellRows& rows);

}  // namespace tapeformer::kernels
