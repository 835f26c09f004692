#include "autograd/kernels/gather.h"
#include "autograd/ops/helpers/op_helpers.h"
#include "autograd/ops/layers.h"

namespace tapeformer {
namespace {

// y_i = table[id_i];  dtable[r] = Σ over i with id_i = r of dy_i
struct Embedding {
  static constexpr const char* kName = "embedding";
  Tensor ids;
  Dims table_sizes;

  Tensor forward(OpContext&, const Tensor& table, const Tensor& indices) {
    ids = indices.contiguous();
    table_sizes = table.sizes();
    const std::int64_t rows = table.size(0), dim = table.size(1), n = ids.numel();
    const std::int32_t* id = ids.data<std::int32_t>();
    const std::int64_t bad = kernels::find_out_of_range(id, n, rows);
    check(bad < 0, "embedding: id ", bad < 0 ? 0 : id[bad], " at place ", bad, " is outside of the table's ", rows,
          " rows");
    Dims sizes = ids.sizes();
    sizes.push_back(dim);
    if (table.dtype() == DType::bf16) {
      const Tensor y = Tensor::empty(sizes, DType::f32);
      kernels::gather_forward(y.data<float>(), table.data<kernels::Bf16>(), id, n, dim);
      return y;
    }
    if (table.dtype() == DType::q8_0) {
      const Tensor y = Tensor::empty(sizes, DType::f32);
      kernels::gather_forward(y.data<float>(), table.q8_rows(), id, n, dim);
      return y;
    }
    const Tensor y = Tensor::empty(sizes, table.dtype()), source = table.contiguous();
    dispatch_floating(table.dtype(),
                      [&]<class T>(T) { kernels::gather_forward(y.data<T>(), source.data<T>(), id, n, dim); });
    return y;
  }
  void backward(const Tensor& dy, GradSlot& dtable, GradSlot&) {
    write_gradient(dtable, [&, g = dy.contiguous()]<class T>(T* out, T beta) {
      kernels::gather_backward(out, g.data<T>(), ids.data<std::int32_t>(), ids.numel(), table_sizes[0], table_sizes[1],
                               beta);
    });
  }
};

}  // namespace

Variable embedding(const Variable& table, const Variable& ids) {
  check(table.value().rank() == 2 && ids.dtype() == DType::i32,
        "embedding: expected a table (rows, dim) and i32 ids, got ", table.sizes(), " and ", ids.dtype());
  return record(Embedding{}, table, ids);
}

}  // namespace tapeformer
