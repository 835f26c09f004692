#include "autograd/kernels/recurrent/recurrent.h"

#include "autograd/kernels/simd/simd-inl.h"
#include "autograd/kernels/simd/vector_math-inl.h"
#include "core/parallel.h"
#include "core/profile.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

// dy·σ'(x) = dy·y·(1 − y) and dy·tanh'(x) = dy·(1 − y²), of the value y.
template <class V>
HWY_INLINE V through_sigmoid(V dy, V y) {
  return hn::Mul(dy, hn::NegMulAdd(y, y, y));
}
template <class D, class V>
HWY_INLINE V through_tanh(D d, V dy, V y) {
  return hn::Mul(dy, hn::NegMulAdd(y, y, hn::Set(d, 1)));
}

// Each cell has the forward and the backward of the units j, j + 1, … of one row that fill a vector. at(p, k) is gate k
// at these units, or zero where p is null.
template <class D, class T = hn::TFromD<D>>
struct Units {
  D d;
  std::int64_t j, size;

  HWY_INLINE hn::Vec<D> at(const T* from, std::int64_t gate = 0) const {
    return from ? load(d, from + gate * size + j, size - j) : hn::Zero(d);
  }
  HWY_INLINE void put(T* to, std::int64_t gate, hn::Vec<D> v) const { store(d, v, to + gate * size + j, size - j); }
};

struct LstmCell {
  template <class D, class T = hn::TFromD<D>>
  static HWY_INLINE void forward(const Units<D>& unit, const CellForward<T>& step) {
    const auto& d = unit.d;
    const auto sum = [&](std::int64_t gate) SIMD_LAMBDA {
      return hn::Add(hn::Add(unit.at(step.x, gate), unit.at(step.u, gate)), unit.at(step.bias, gate));
    };
    const auto i = sigmoid(d, sum(0)), f = sigmoid(d, sum(1)), g = tanh(d, sum(2)), o = sigmoid(d, sum(3));
    const auto c = hn::MulAdd(f, unit.at(step.c_before), hn::Mul(i, g));
    unit.put(step.saved, 0, i);
    unit.put(step.saved, 1, f);
    unit.put(step.saved, 2, g);
    unit.put(step.saved, 3, o);
    unit.put(step.c, 0, c);
    unit.put(step.h, 0, hn::Mul(o, tanh(d, c)));
  }

  // With dh and dc complete: do = dh·tanh c, dc += dh·o·(1 − tanh² c), di = dc·g, dg = dc·i, df = dc·c_{t−1}, and
  // dc_{t−1} = dc·f.
  template <class D, class T = hn::TFromD<D>>
  static HWY_INLINE void backward(const Units<D>& unit, const CellBackward<T>& step) {
    const auto& d = unit.d;
    const auto i = unit.at(step.saved, 0), f = unit.at(step.saved, 1), g = unit.at(step.saved, 2);
    const auto o = unit.at(step.saved, 3), tanh_c = tanh(d, unit.at(step.c));
    const auto dh = hn::Add(unit.at(step.dh), unit.at(step.dy));
    const auto from_after = hn::Add(unit.at(step.dc), unit.at(step.dcell));
    const auto dc = hn::Add(from_after, through_tanh(d, hn::Mul(dh, o), tanh_c));
    unit.put(step.dx, 0, through_sigmoid(hn::Mul(dc, g), i));
    unit.put(step.dx, 1, through_sigmoid(hn::Mul(dc, unit.at(step.c_before)), f));
    unit.put(step.dx, 2, through_tanh(d, hn::Mul(dc, i), g));
    unit.put(step.dx, 3, through_sigmoid(hn::Mul(dh, tanh_c), o));
    unit.put(step.dc, 0, hn::Mul(dc, f));
    unit.put(step.dh, 0, hn::Zero(d));
  }
};

struct GruCell {
  template <class D, class T = hn::TFromD<D>>
  static HWY_INLINE void forward(const Units<D>& unit, const CellForward<T>& step) {
    const auto& d = unit.d;
    const auto hidden = [&](std::int64_t gate)
                            SIMD_LAMBDA { return hn::Add(unit.at(step.u, gate), unit.at(step.bias, gate)); };
    const auto r = sigmoid(d, hn::Add(unit.at(step.x, 0), hidden(0)));
    const auto z = sigmoid(d, hn::Add(unit.at(step.x, 1), hidden(1)));
    const auto q = hidden(2), n = tanh(d, hn::MulAdd(r, q, unit.at(step.x, 2)));
    unit.put(step.saved, 0, r);
    unit.put(step.saved, 1, z);
    unit.put(step.saved, 2, n);
    unit.put(step.saved, 3, q);
    unit.put(step.h, 0, hn::MulAdd(z, hn::Sub(unit.at(step.h_before), n), n));
  }

  // With dh complete and a = dh·(1 − z)·(1 − n²), the gradient before n's tanh: dn = a, dq = a·r, dr = a·q,
  // dz = dh·(h_{t−1} − n), and dh_{t−1} = dh·z.
  template <class D, class T = hn::TFromD<D>>
  static HWY_INLINE void backward(const Units<D>& unit, const CellBackward<T>& step) {
    const auto& d = unit.d;
    const auto r = unit.at(step.saved, 0), z = unit.at(step.saved, 1), n = unit.at(step.saved, 2);
    const auto q = unit.at(step.saved, 3), dh = hn::Add(unit.at(step.dh), unit.at(step.dy));
    const auto dn = through_tanh(d, hn::NegMulAdd(dh, z, dh), n);
    const auto dr = through_sigmoid(hn::Mul(dn, q), r);
    const auto dz = through_sigmoid(hn::Mul(dh, hn::Sub(unit.at(step.h_before), n)), z);
    unit.put(step.dx, 0, dr);
    unit.put(step.dx, 1, dz);
    unit.put(step.dx, 2, dn);
    unit.put(step.du, 0, dr);
    unit.put(step.du, 1, dz);
    unit.put(step.du, 2, hn::Mul(dn, r));
    unit.put(step.dh, 0, hn::Mul(dh, z));
  }
};

struct TanhCell {
  template <class D, class T = hn::TFromD<D>>
  static HWY_INLINE void forward(const Units<D>& unit, const CellForward<T>& step) {
    const auto sum = hn::Add(hn::Add(unit.at(step.x), unit.at(step.u)), unit.at(step.bias));
    unit.put(step.h, 0, tanh(unit.d, sum));
  }

  template <class D, class T = hn::TFromD<D>>
  static HWY_INLINE void backward(const Units<D>& unit, const CellBackward<T>& step) {
    const auto dh = hn::Add(unit.at(step.dh), unit.at(step.dy));
    unit.put(step.dx, 0, through_tanh(unit.d, dh, unit.at(step.h)));
    unit.put(step.dh, 0, hn::Zero(unit.d));
  }
};

// Calls f with the struct of the cell.
template <class F>
HWY_INLINE void with_cell(CellKind cell, const F& f) {
  switch (cell) {
    case CellKind::lstm:
      return f(LstmCell());
    case CellKind::gru:
      return f(GruCell());
    case CellKind::tanh:
      return f(TanhCell());
  }
}

template <class T, class F>
HWY_INLINE void for_units(std::int64_t size, const F& f) {
  const hn::ScalableTag<T> d;
  for (std::int64_t j = 0; j < size; j += lanes(d)) f(Units<decltype(d)>{d, j, size});
}

template <class T>
void cell_forward_row(CellKind cell, const CellForward<T>& step, std::int64_t size) {
  with_cell(cell, [&](auto kind) SIMD_LAMBDA {
    for_units<T>(size, [&](const auto& unit) SIMD_LAMBDA { decltype(kind)::forward(unit, step); });
  });
}

template <class T>
void cell_backward_row(CellKind cell, const CellBackward<T>& step, std::int64_t size) {
  with_cell(cell, [&](auto kind) SIMD_LAMBDA {
    for_units<T>(size, [&](const auto& unit) SIMD_LAMBDA { decltype(kind)::backward(unit, step); });
  });
}

SIMD_FLOATS(cell_forward_row);
SIMD_FLOATS(cell_backward_row);

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {
namespace {

template <class T>
T* advance(T* from, std::int64_t elements) {
  return from ? from + elements : nullptr;
}

// dh += dy and dc += dcell: a padded row hands the gradient of its state on as it is.
template <class T>
void add_to(T* out, const T* x, std::int64_t n) {
  for (std::int64_t i = 0; out && x && i < n; ++i) out[i] += x[i];
}

}  // namespace

SIMD_EXPORT(cell_forward_row);
template <class T>
void cell_forward(CellKind cell, const CellForward<T>& step, const CellRows& rows) {
  const std::int64_t size = rows.size, gates = gate_count(cell) * size, saved = saved_count(cell) * size;
  const Span span(SpanKind::kernel, "cell_forward",
                  {.bytes = sizeof(T) * static_cast<double>(rows.rows * (2 * gates + saved + 4 * size))});
  parallel_for(0, rows.rows, rows_per_chunk(gates), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t state = row * size;
      if (rows.is_padding(row)) {
        std::copy_n(step.h_before + state, size, step.h + state);
        if (step.c) std::copy_n(step.c_before + state, size, step.c + state);
        continue;
      }
      SIMD_CALL(cell_forward_row, T)
      (cell,
       {.h = step.h + state,
        .c = advance(step.c, state),
        .saved = advance(step.saved, row * saved),
        .x = step.x + row * gates,
        .u = step.u + row * gates,
        .bias = step.bias,
        .h_before = step.h_before + state,
        .c_before = advance(step.c_before, state)},
       size);
    }
  });
}
template void cell_forward(CellKind, const CellForward<float>&, const CellRows&);
template void cell_forward(CellKind, const CellForward<double>&, const CellRows&);

SIMD_EXPORT(cell_backward_row);
template <class T>
void cell_backward(CellKind cell, const CellBackward<T>& step, const CellRows& rows) {
  const std::int64_t size = rows.size, gates = gate_count(cell) * size, saved = saved_count(cell) * size;
  const Span span(SpanKind::kernel, "cell_backward",
                  {.bytes = sizeof(T) * static_cast<double>(rows.rows * (2 * gates + saved + 6 * size))});
  parallel_for(0, rows.rows, rows_per_chunk(gates), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t state = row * size;
      T *const dx = step.dx + row * gates, *const du = advance(step.du, row * gates);
      T *const dh = step.dh + state, *const dc = advance(step.dc, state);
      const T *const dy = advance(step.dy, state), *const dcell = advance(step.dcell, state);
      if (rows.is_padding(row)) {
        std::fill_n(dx, gates, T{0});
        if (du) std::fill_n(du, gates, T{0});
        add_to(dh, dy, size);
        add_to(dc, dcell, size);
        continue;
      }
      SIMD_CALL(cell_backward_row, T)
      (cell,
       {.dx = dx,
        .du = du,
        .dh = dh,
        .dc = dc,
        .dy = dy,
        .dcell = dcell,
        .saved = advance(step.saved, row * saved),
        .h = step.h + state,
        .c = advance(step.c, state),
        .h_before = step.h_before + state,
        .c_before = advance(step.c_before, state)},
       size);
    }
  });
}
template void cell_backward(CellKind, const CellBackward<float>&, const CellRows&);
template void cell_backward(CellKind, const CellBackward<double>&, const CellRows&);

}  // namespace tapeformer::kernels
#endif
