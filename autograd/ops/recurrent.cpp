#include "autograd/ops/recurrent.h"

#include <array>

#include "autograd/kernels/recurrent/recurrent.h"
#include "autograd/ops/helpers/linear_helpers.h"
#include "autograd/ops/helpers/matrix_view.h"

namespace tapeformer {
namespace {

// The initial state and the states after T steps, in order of time. Step t reads entry t and writes entry t + 1; in the
// reverse direction it reads entry t + 1 and writes entry t.
struct StateBuffer {
  Tensor places;  // (T + 1, B, H)
  bool reverse = false;

  StateBuffer() = default;
  StateBuffer(const Tensor& initial, std::int64_t steps, const Dims& state, DType dtype, bool backwards)
      : places(Tensor::empty({steps + 1, state[0], state[1]}, dtype)), reverse(backwards) {
    const Tensor first = places.slice(0, reverse ? steps : 0, reverse ? steps + 1 : 1).reshape(state);
    initial.defined() ? first.copy_from(initial) : first.fill(0);
  }
  std::int64_t steps() const { return places.size(0) - 1; }
  // The states before and after every step, (T, B, H).
  Tensor before() const { return reverse ? places.slice(0, 1, steps() + 1) : places.slice(0, 0, steps()); }
  Tensor after() const { return reverse ? places.slice(0, 0, steps()) : places.slice(0, 1, steps() + 1); }
};

// Returns the data of entry t of a contiguous tensor (T, …), or null if the tensor is undefined.
template <class T>
T* at_time(const Tensor& tensor, std::int64_t t) {
  return tensor.defined() ? tensor.data<T>() + t * (tensor.numel() / tensor.size(0)) : nullptr;
}

// With x = input_t, u = W h_{t−1} and b, each cut into gates:
//   lstm   i, f, o = σ(x + u + b), g = tanh(x + u + b);  c_t = f ⊙ c_{t−1} + i ⊙ g,  h_t = o ⊙ tanh c_t
//   gru    r, z = σ(x + u + b), q = u_n + b_n, n = tanh(x_n + r ⊙ q);  h_t = (1 − z) ⊙ n + z ⊙ h_{t−1}
//   tanh   h_t = tanh(x + u + b)
// Backward takes the steps in the opposite order:
//   lstm   do = dh_t ⊙ tanh c_t,  dc_t += dh_t ⊙ o ⊙ (1 − tanh² c_t),  di = dc_t ⊙ g,  dg = dc_t ⊙ i,
//          df = dc_t ⊙ c_{t−1},  dc_{t−1} = dc_t ⊙ f
//   gru    dz = dh_t ⊙ (h_{t−1} − n),  dn = dh_t ⊙ (1 − z),  dq = dn ⊙ (1 − n²) ⊙ r,  dr = dn ⊙ (1 − n²) ⊙ q
//   dx and du are the gradients of x and u, with the derivatives of σ and tanh;  dh_{t−1} = du W, + dh_t ⊙ z for a gru
// After all steps, dW = Σ_t du_tᵀ h_{t−1} is one product, and db = Σ_t du_t.
struct Recurrent {
  static constexpr const char* kName = "recurrent";
  RecurrentOptions options;
  StateBuffer h = {}, c = {};
  Tensor saved = {};
  Saved weight = {};

  std::int64_t step_at(std::int64_t i) const { return options.reverse ? h.steps() - 1 - i : i; }
  kernels::CellRows rows_at(std::int64_t t) const {
    return {h.places.size(1), h.places.size(2), t, data_or_null<std::int32_t>(options.lengths)};
  }

  // in: input, h0, c0, weight, bias
  std::vector<Tensor> forward(OpContext& context, std::span<const Tensor> in) {
    const CellKind cell = options.cell;
    const std::int64_t steps = in[0].size(0), batch = in[0].size(1), size = in[3].size(1), gates = in[3].size(0);
    const Tensor input = in[0].contiguous(), w = readable_by_blas(in[3]);
    const Tensor bias = in[4].defined() ? in[4].contiguous() : Tensor();
    const DType dtype = input.dtype();
    h = StateBuffer(in[1], steps, {batch, size}, dtype, options.reverse);
    if (cell == CellKind::lstm) c = StateBuffer(in[2], steps, {batch, size}, dtype, options.reverse);
    // If nothing is recorded, every step overwrites the same entry.
    saved = Tensor::empty({context.recording() ? steps : 1, batch, kernels::saved_count(cell) * size}, dtype);
    const Tensor u = Tensor::empty({batch, gates}, dtype), h_before = h.before(), h_after = h.after();
    const Tensor c_before = c.places.defined() ? c.before() : Tensor(),
                 c_after = c.places.defined() ? c.after() : Tensor();
    dispatch_floating(dtype, [&]<class T>(T) {
      for (std::int64_t i = 0; i < steps; ++i) {
        const std::int64_t t = step_at(i);
        multiply(u.data<T>(), T{0}, h_before.slice(0, t, t + 1).reshape({batch, size}), false, w, true);
        kernels::cell_forward<T>(cell,
                                 {.h = at_time<T>(h_after, t),
                                  .c = at_time<T>(c_after, t),
                                  .saved = at_time<T>(saved, context.recording() ? t : 0),
                                  .x = at_time<T>(input, t),
                                  .u = u.data<T>(),
                                  .bias = data_or_null<T>(bias),
                                  .h_before = at_time<T>(h_before, t),
                                  .c_before = at_time<T>(c_before, t)},
                                 rows_at(t));
      }
    });
    weight = context.save(3, w);
    std::vector<Tensor> outputs{h_after};
    if (c_after.defined()) outputs.push_back(c_after);
    return outputs;
  }

  void backward(std::span<const Tensor> dy, std::span<GradSlot> slots) {
    const CellKind cell = options.cell;
    const std::int64_t steps = h.steps(), batch = h.places.size(1), size = h.places.size(2);
    const std::int64_t gates = kernels::gate_count(cell) * size;
    const DType dtype = h.places.dtype();
    const Tensor w = weight.get(), h_before = h.before(), h_after = h.after();
    const bool has_cell = c.places.defined();
    const Tensor c_before = has_cell ? c.before() : Tensor(), c_after = has_cell ? c.after() : Tensor();
    const Tensor dy_h = dy[0].defined() ? dy[0].contiguous() : Tensor();
    const Tensor dy_c = has_cell && dy[1].defined() ? dy[1].contiguous() : Tensor();
    const Tensor dx = Tensor::empty({steps, batch, gates}, dtype);
    const Tensor gru_du = cell == CellKind::gru ? Tensor::empty(dx.sizes(), dtype) : Tensor();
    const Tensor du = gru_du.defined() ? gru_du : dx;
    const Tensor dh = Tensor::zeros({batch, size}, dtype),
                 dc = has_cell ? Tensor::zeros({batch, size}, dtype) : Tensor();
    dispatch_floating(dtype, [&]<class T>(T) {
      for (std::int64_t i = steps; i-- > 0;) {
        const std::int64_t t = step_at(i);
        kernels::cell_backward<T>(cell,
                                  {.dx = at_time<T>(dx, t),
                                   .du = at_time<T>(gru_du, t),
                                   .dh = dh.data<T>(),
                                   .dc = data_or_null<T>(dc),
                                   .dy = at_time<T>(dy_h, t),
                                   .dcell = at_time<T>(dy_c, t),
                                   .saved = at_time<T>(saved, t),
                                   .h = at_time<T>(h_after, t),
                                   .c = at_time<T>(c_after, t),
                                   .h_before = at_time<T>(h_before, t),
                                   .c_before = at_time<T>(c_before, t)},
                                  rows_at(t));
        if (i == 0 && !slots[1].needed()) continue;
        kernels::gemm(dh.data<T>(), size, {at_time<T>(du, t), gates}, matrix_view<T>(w), batch, size, gates, T{1},
                      T{1});
      }
    });
    write_gradient(slots[3], [&]<class T>(T* out, T beta) {
      multiply(out, beta, du.reshape({steps * batch, gates}), true, h_before.reshape({steps * batch, size}), false);
    });
    write_bias_gradient(slots[4], du);
    if (slots[0].needed()) slots[0].accumulate(dx);
    if (slots[1].needed()) slots[1].accumulate(dh);
    if (slots[2].needed()) slots[2].accumulate(dc);
  }
};

void check_lengths(const Tensor& lengths, std::int64_t batch, std::int64_t steps) {
  check(lengths.dtype() == DType::i32 && lengths.sizes() == Dims{batch}, "recurrent: lengths are ", lengths.dtype(),
        " ", lengths.sizes(), ": expected i32 (", batch, ")");
  for (const std::int32_t length : lengths.span<std::int32_t>()) {
    check(length >= 0 && length <= steps, "recurrent: a length is ", length, ": expected 0 to ", steps);
  }
}

}  // namespace

RecurrentStates recurrent(const Variable& input, const Variable& h0, const Variable& c0, const Variable& weight,
                          const Variable& bias, const RecurrentOptions& options) {
  const std::int64_t gates = kernels::gate_count(options.cell);
  check(weight.value().rank() == 2 && weight.size(0) == gates * weight.size(1), "recurrent: weight is ", weight.sizes(),
        ": expected (", gates, "·H, H)");
  const std::int64_t size = weight.size(1);
  check(input.value().rank() == 3 && input.size(0) >= 1 && input.size(2) == gates * size, "recurrent: input is ",
        input.sizes(), ", weight is ", weight.sizes(), ": expected input (T, B, ", gates * size, ")");
  check(!bias.defined() || bias.sizes() == Dims{gates * size}, "recurrent: weight is ", weight.sizes(), ", bias is ",
        bias.sizes(), ": expected bias (", gates * size, ")");
  const Dims state{input.size(1), size};
  const bool has_cell = options.cell == CellKind::lstm;
  check(!h0.defined() || h0.sizes() == state, "recurrent: h0 is ", h0.sizes(), ": expected ", state);
  check(!c0.defined() || has_cell, "recurrent: c0 is ", c0.sizes(), ": expected none, since the cell is no LSTM");
  check(!c0.defined() || c0.sizes() == state, "recurrent: c0 is ", c0.sizes(), ": expected ", state);
  Recurrent op{.options = options};
  if (options.lengths.defined()) {
    op.options.lengths = options.lengths.contiguous();
    check_lengths(op.options.lengths, input.size(1), input.size(0));
  }
  const std::vector<Variable> states = record_list(std::move(op), std::array{input, h0, c0, weight, bias});
  return {states[0], has_cell ? states[1] : Variable()};
}

}  // namespace tapeformer
