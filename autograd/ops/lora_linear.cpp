#include "autograd/ops/helpers/linear_helpers.h"
#include "autograd/ops/helpers/matrix_view.h"

namespace tapeformer {
namespace {

// A linear layer with a change of low rank (Hu et al. 2021). Part i changes the outputs of its rows of W; it has r rows
// of A and its rows of B:
//   y = x Wᵀ + b, y_i += s·h_i B_iᵀ, h = z Aᵀ
//   dx = dy W, dW = dyᵀ x, db = Σ_rows dy;  dB_i = s·dy_iᵀ h_i, dh_i = s·dy_i B_i, dz = dh A, dA = dhᵀ z
struct LoraLinear {
  static constexpr const char* kName = "lora_linear";
  std::vector<LoraPart> parts;
  double factor;
  Saved x = {}, weight = {}, z = {}, a = {}, b = {};
  Tensor h = {};

  // x (…, in), W (out, in), bias (out), z (…, in), A (parts·r, in), B (rows of all parts, r)
  Tensor forward(OpContext& context, const Tensor& in, const Tensor& w, const Tensor& bias, const Tensor& dropped,
                 const Tensor& down, const Tensor& up) {
    const std::int64_t features = w.size(1), outputs = w.size(0), rows = row_count(in);
    const Tensor source = readable_by_blas(in.reshape({rows, features})), matrix = readable_by_blas(w);
    const Tensor z_rows = readable_by_blas(dropped.reshape({rows, features}));
    const Tensor a_rows = readable_by_blas(down), b_rows = up.contiguous();
    Dims sizes = in.sizes();
    sizes[sizes.rank() - 1] = outputs;
    const Tensor y = Tensor::empty(sizes, in.dtype());
    h = Tensor::empty({rows, down.size(0)}, in.dtype());
    dispatch_floating(in.dtype(), [&]<class T>(T) {
      multiply_by_weight(y.data<T>(), T{0}, source, matrix, true);
      multiply(h.data<T>(), T{0}, z_rows, false, a_rows, true);
    });
    add_bias(y, bias);
    for_each_part(b_rows, [&]<class T>(const Part<T>& part, std::int64_t rank) {
      kernels::gemm(y.data<T>() + part.row, outputs, {h.data<T>() + part.h_column, h.size(1)}, {part.b, rank, true},
                    rows, part.rows, rank, static_cast<T>(factor), T{1});
    });
    x = context.save(0, source), weight = context.save(1, matrix);
    z = context.save(3, z_rows), a = context.save(4, a_rows), b = context.save(5, b_rows);
    if (!context.recording()) h = {};
    return y;
  }

  void backward(const Tensor& dy, GradSlot& dx, GradSlot& dweight, GradSlot& dbias, GradSlot& dz, GradSlot& da,
                GradSlot& db) {
    const Tensor b_rows = b.get(), a_rows = a.get(), matrix = weight.get();
    const std::int64_t rows = h.size(0), outputs = matrix.size(0), features = matrix.size(1);
    const Tensor g = dy.contiguous().reshape({rows, outputs});
    const Tensor dh = Tensor::empty(h.sizes(), h.dtype());
    const GradTarget to_b = target_or_none(db);
    for_each_part(b_rows, [&]<class T>(const Part<T>& part, std::int64_t rank) {
      const T s = static_cast<T>(factor);
      kernels::gemm(dh.data<T>() + part.h_column, h.size(1), {g.data<T>() + part.row, outputs}, {part.b, rank}, rows,
                    rank, part.rows, s, T{0});
      if (!to_b.tensor.defined()) return;
      kernels::gemm(to_b.tensor.data<T>() + part.b_offset, rank, {g.data<T>() + part.row, outputs, true},
                    {h.data<T>() + part.h_column, h.size(1)}, part.rows, rank, rows, s, static_cast<T>(to_b.beta));
    });
    write_gradient(da, [&]<class T>(T* out, T beta) {
      multiply(out, beta, dh, true, z.get().reshape({rows, features}), false);
    });
    write_gradient(dz, [&]<class T>(T* out, T beta) { multiply(out, beta, dh, false, a_rows, false); });
    write_gradient(dweight, [&]<class T>(T* out, T beta) {
      multiply(out, beta, g, true, x.get().reshape({rows, features}), false);
    });
    write_gradient(dx, [&]<class T>(T* out, T beta) { multiply_by_weight(out, beta, g, matrix, false); });
    write_bias_gradient(dbias, dy);
  }

 private:
  template <class T>
  struct Part {
    std::int64_t row, rows;  // in y
    std::int64_t h_column;   // where its columns of h begin
    const T* b;              // its rows of B
    std::int64_t b_offset;   // where they begin, in elements
  };

  template <class Body>
  void for_each_part(const Tensor& up, const Body& body) const {
    dispatch_floating(up.dtype(), [&]<class T>(T) {
      const std::int64_t rank = up.size(1);
      std::int64_t column = 0, offset = 0;
      for (const LoraPart& part : parts) {
        body(Part<T>{part.row, part.rows, column, up.data<T>() + offset, offset}, rank);
        column += rank, offset += part.rows * rank;
      }
    });
  }
};

}  // namespace

Variable lora_linear(const Variable& x, const Variable& weight, const Variable& bias, const Variable& dropped,
                     const LoraWeights& lora) {
  check_linear("lora_linear", x, weight, bias);
  std::int64_t rows = 0, end = 0;
  for (const LoraPart& part : lora.parts) {
    check(part.row >= end && part.rows > 0 && part.row + part.rows <= weight.size(0), "lora_linear: expected parts in ",
          weight.size(0), " rows, one after the other, got rows ", part.row, " to ", part.row + part.rows);
    rows += part.rows, end = part.row + part.rows;
  }
  const Tensor &a = lora.a.value(), &b = lora.b.value();
  check(a.rank() == 2 && b.rank() == 2 && a.size(1) == weight.size(1) && b.size(0) == rows &&
            a.size(0) == std::ssize(lora.parts) * b.size(1),
        "lora_linear: weight is ", weight.sizes(), ", A ", a.sizes(), ", B ", b.sizes(), ": expected A (",
        lora.parts.size(), " r, ", weight.size(1), ") and B (", rows, ", r)");
  check(dropped.sizes() == x.sizes(), "lora_linear: x is ", x.sizes(), ", what A reads is ", dropped.sizes());
  return record(LoraLinear{lora.parts, lora.scale}, x, weight, bias, dropped, lora.a, lora.b);
}

}  // namespace tapeformer
