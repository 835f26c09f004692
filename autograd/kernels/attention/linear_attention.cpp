#include "autograd/kernels/attention/linear_attention.h"

#include <algorithm>

#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/kernels/gemm/band_gemm.h"
#include "autograd/kernels/scratch.h"
#include "core/parallel.h"
#include "core/profile.h"

namespace tapeformer::kernels {
namespace {

constexpr std::int64_t kChunk = 64;  // tokens

template <class T>
struct LinearInput {
  const T* data;
  AttentionStrides strides;
  const T* row(std::int64_t batch, std::int64_t head, std::int64_t t) const {
    return data + batch * strides.batch + head * strides.head + t * strides.row;
  }
};

// A chunk of the tokens of one row of the batch, and how documents divide it.
struct LinearChunk {
  std::int64_t first, rows;
  std::int64_t continuing;  // its first rows, which belong to a document that began before the chunk
  std::int64_t last_begin;  // the row where the document of its last token begins; 0 if that was before
  bool passes;              // whether the chunk's last token belongs to a document that began before the chunk
  std::int32_t first_seen[kChunk];

  LinearChunk(const LinearAttentionShape& shape, std::int64_t batch, std::int64_t first)
      : first(first), rows(std::min(kChunk, shape.length - first)), continuing(rows), last_begin(0), passes(true) {
    std::fill(first_seen, first_seen + rows, 0);
    if (!shape.key_begin) return;
    const std::int32_t* const begin = shape.key_begin + batch * shape.length + first;
    continuing = std::count_if(begin, begin + rows, [first](std::int32_t key) { return key < first; });
    for (std::int64_t r = 0; r < rows; ++r)
      first_seen[r] = static_cast<std::int32_t>(std::max<std::int64_t>(0, begin[r] - first));
    passes = continuing == rows;
    last_begin = first_seen[rows - 1];
  }
  Band band(Band::Kind kind) const { return {kind, 1, first_seen}; }
};

// What a task needs for one head of k and v, and one query head after the other of its group. Matrices of a chunk are
// contiguous: phi (rows, d), values (rows, d_v + 1), pairs (rows, rows).
template <class T>
struct LinearTask {
  const LinearAttentionShape& shape;
  std::int64_t batch, kv_head;
  const std::int64_t d = shape.query_dim, width = shape.value_dim + 1;

  // φ(x) of the rows of a chunk.
  void take_phi(T* phi, const LinearInput<T>& x, std::int64_t head, const LinearChunk& chunk) const {
    const Scratch<T> e(chunk.rows * d);
    for (std::int64_t r = 0; r < chunk.rows; ++r) std::copy_n(x.row(batch, head, chunk.first + r), d, phi + r * d);
    exp_forward(e.data(), phi, chunk.rows * d);
    for (std::int64_t i = 0; i < chunk.rows * d; ++i) phi[i] = phi[i] > 0 ? phi[i] + 1 : e.data()[i];
  }
  // V' = [v, 1].
  void take_values(T* values, const LinearInput<T>& v, const LinearChunk& chunk) const {
    for (std::int64_t r = 0; r < chunk.rows; ++r) {
      std::copy_n(v.row(batch, kv_head, chunk.first + r), width - 1, values + r * width);
      values[r * width + width - 1] = 1;
    }
  }
  // S' of the document that goes on behind the chunk.
  void add_to_sums(T* sums, const T* phi_k, const T* values, const LinearChunk& chunk) const {
    const std::int64_t from = chunk.last_begin;
    band_gemm<T>(sums, width, {phi_k + from * d, 1, d}, values + from * width, width, d, width, chunk.rows - from, 1,
                 chunk.passes ? T{1} : T{0});
  }
  // pairs (rows, rows) = a (rows, n)·b (rows, n)ᵀ, 0 where the row does not see the column.
  void take_pairs(T* pairs, const T* a, const T* b, std::int64_t n, const LinearChunk& chunk) const {
    const Scratch<T> columns(n * chunk.rows);
    transpose(columns.data(), chunk.rows, b, n, chunk.rows, n);
    band_gemm<T>(pairs, chunk.rows, {a, n, 1}, columns.data(), chunk.rows, chunk.rows, chunk.rows, n, 1, 0,
                 chunk.band(Band::output));
    for (std::int64_t r = 0; r < chunk.rows; ++r) {
      T* const row = pairs + r * chunk.rows;
      std::fill(row, row + chunk.first_seen[r], T{0});
      std::fill(row + r + 1, row + chunk.rows, T{0});
    }
  }
};

template <class T>
struct LinearTensors {
  AttentionGradient<T> dq, dk, dv;
  LinearInput<T> dout, o, q, k, v;
  const T* normalizer;
};

// The chunks of one head of k and v, from the last one on: for each of them begin(), add() for every query head of the
// group, and end().
template <class T>
struct LinearBackward : LinearTask<T> {
  using LinearTask<T>::shape, LinearTask<T>::batch, LinearTask<T>::kv_head, LinearTask<T>::d, LinearTask<T>::width;

  LinearBackward(const LinearTask<T>& task, const LinearTensors<T>& tensors) : LinearTask<T>(task), tensors(tensors) {
    std::fill_n(dsums.data(), sums_size(), T{0});
  }
  std::int64_t sums_size() const { return d * width; }

  // Writes the sums S' with which each chunk begins, one behind the other, and those after the last chunk.
  void take_all_sums(T* sums) const {
    std::fill_n(sums, sums_size(), T{0});
    for (std::int64_t first = 0; first < shape.length; first += kChunk, sums += sums_size()) {
      const LinearChunk chunk(shape, batch, first);
      this->take_phi(phi_k.data(), tensors.k, kv_head, chunk);
      this->take_values(values.data(), tensors.v, chunk);
      std::copy_n(sums, sums_size(), sums + sums_size());
      this->add_to_sums(sums + sums_size(), phi_k.data(), values.data(), chunk);
    }
  }

  // Begins the gradients of φ(k) and V' with what the chunks behind have read of the document that goes on.
  void begin(const LinearChunk& chunk, const T* sums) const {
    const std::int64_t from = chunk.last_begin, rows = chunk.rows - from;
    this->take_phi(phi_k.data(), tensors.k, kv_head, chunk);
    this->take_values(values.data(), tensors.v, chunk);
    std::fill_n(dphi_k.data(), from * d, T{0});
    std::fill_n(dvalues.data(), from * width, T{0});
    transpose(columns.data(), d, dsums.data(), width, d, width);
    band_gemm<T>(dphi_k.data() + from * d, d, {values.data() + from * width, width, 1}, columns.data(), d, rows, d,
                 width, 1, 0);
    band_gemm<T>(dvalues.data() + from * width, width, {phi_k.data() + from * d, d, 1}, dsums.data(), width, rows,
                 width, d, 1, 0);
    if (!chunk.passes) std::fill_n(dsums.data(), sums_size(), T{0});
    transpose(columns.data(), d, sums, width, d, width);
  }

  // Adds the part of a query head, and writes its dq.
  void add(const LinearChunk& chunk, std::int64_t head) const {
    const std::int64_t rows = chunk.rows;
    this->take_phi(phi_q.data(), tensors.q, head, chunk);
    take_output_gradient(chunk, head);
    this->take_pairs(pairs.data(), phi_q.data(), phi_k.data(), d, chunk);
    this->take_pairs(dpairs.data(), g.data(), values.data(), width, chunk);
    band_gemm<T>(dphi.data(), d, {dpairs.data(), rows, 1}, phi_k.data(), d, rows, d, rows, 1, 0,
                 chunk.band(Band::left));
    band_gemm<T>(dphi.data(), d, {g.data(), width, 1}, columns.data(), d, chunk.continuing, d, width, 1, 1);
    write(tensors.dq, dphi.data(), d, phi_q.data(), head, chunk, d);
    const Band band = chunk.band(Band::left_transposed);
    band_gemm<T>(dphi_k.data(), d, {dpairs.data(), 1, rows}, phi_q.data(), d, rows, d, rows, 1, 1, band);
    band_gemm<T>(dvalues.data(), width, {pairs.data(), 1, rows}, g.data(), width, rows, width, rows, 1, 1, band);
    band_gemm<T>(dsums.data(), width, {phi_q.data(), 1, d}, g.data(), width, d, width, chunk.continuing, 1, 1);
  }

  void end(const LinearChunk& chunk) const {
    write(tensors.dk, dphi_k.data(), d, phi_k.data(), kv_head, chunk, d);
    write(tensors.dv, dvalues.data(), width, static_cast<const T*>(nullptr), kv_head, chunk, width - 1);
  }

 private:
  // g (rows, d_v + 1) = G.
  void take_output_gradient(const LinearChunk& chunk, std::int64_t head) const {
    const T* const normalizer = tensors.normalizer + (batch * shape.heads + head) * shape.length + chunk.first;
    for (std::int64_t r = 0; r < chunk.rows; ++r) {
      const T inverse = 1 / normalizer[r];
      const T* const dy = tensors.dout.row(batch, head, chunk.first + r);
      const T* const y = tensors.o.row(batch, head, chunk.first + r);
      T* const to = g.data() + r * width;
      T dot = 0;
      for (std::int64_t j = 0; j + 1 < width; ++j) to[j] = dy[j] * inverse, dot += to[j] * y[j];
      to[width - 1] = -dot;
    }
  }

  // gradient = beta·gradient + the first `cols` of each row of x, rows ld apart, times φ' = min(φ, 1) if phi is given.
  void write(const AttentionGradient<T>& gradient, const T* x, std::int64_t ld, const T* phi, std::int64_t head,
             const LinearChunk& chunk, std::int64_t cols) const {
    if (!gradient.data) return;
    const AttentionStrides& strides = gradient.strides;
    for (std::int64_t r = 0; r < chunk.rows; ++r) {
      T* const to = gradient.data + batch * strides.batch + head * strides.head + (chunk.first + r) * strides.row;
      for (std::int64_t j = 0; j < cols; ++j) {
        const T value = x[r * ld + j] * (phi ? std::min(phi[r * ld + j], T{1}) : T{1});
        to[j] = gradient.beta == 0 ? value : gradient.beta * to[j] + value;
      }
    }
  }

  const LinearTensors<T>& tensors;
  // dsums: the gradient of the sums that the chunks behind have read. columns: a transposed matrix of sums.
  const Scratch<T> dsums{d * width}, columns{d * width};
  const Scratch<T> phi_q{kChunk * d}, phi_k{kChunk * d}, dphi{kChunk * d}, dphi_k{kChunk * d};
  const Scratch<T> values{kChunk * width}, dvalues{kChunk * width}, g{kChunk * width};
  const Scratch<T> pairs{kChunk * kChunk}, dpairs{kChunk * kChunk};
};

// The operations of one pass over all tokens: three products within chunks, and two with the sums.
double linear_flops(const LinearAttentionShape& shape) {
  const double rows = 1.0 * shape.batches * shape.heads * shape.length, d = shape.query_dim, d_v = shape.value_dim;
  return rows * (4 * d * d_v + kChunk * (d + d_v));
}

}  // namespace

template <class T>
void linear_attention_forward(T* o, AttentionStrides o_strides, T* normalizer, T* state, const T* q,
                              AttentionStrides q_strides, const T* k, AttentionStrides k_strides, const T* v,
                              AttentionStrides v_strides, const LinearAttentionShape& shape) {
  const Span span(SpanKind::kernel, "linear_attention_forward", {.flops = linear_flops(shape)});
  const LinearInput<T> queries{q, q_strides}, keys{k, k_strides}, values_of{v, v_strides};
  parallel_for(0, shape.batches * shape.kv_heads(), 1, [&](std::int64_t number, std::int64_t) {
    const LinearTask<T> task{shape, number / shape.kv_heads(), number % shape.kv_heads()};
    const std::int64_t d = task.d, width = task.width;
    const Scratch<T> own_sums(d * width), phi_q(kChunk * d), phi_k(kChunk * d), values(kChunk * width),
        pairs(kChunk * kChunk), out(kChunk * width);
    T* const sums = state ? state + number * d * width : own_sums.data();
    if (!state) std::fill(sums, sums + d * width, T{0});
    for (std::int64_t first = 0; first < shape.length; first += kChunk) {
      const LinearChunk chunk(shape, task.batch, first);
      task.take_phi(phi_k.data(), keys, task.kv_head, chunk);
      task.take_values(values.data(), values_of, chunk);
      for (std::int64_t head = task.kv_head * shape.group; head < (task.kv_head + 1) * shape.group; ++head) {
        task.take_phi(phi_q.data(), queries, head, chunk);
        task.take_pairs(pairs.data(), phi_q.data(), phi_k.data(), d, chunk);
        band_gemm<T>(out.data(), width, {pairs.data(), chunk.rows, 1}, values.data(), width, chunk.rows, width,
                     chunk.rows, 1, 0, chunk.band(Band::left));
        band_gemm<T>(out.data(), width, {phi_q.data(), d, 1}, sums, width, chunk.continuing, width, d, 1, 1);
        for (std::int64_t r = 0; r < chunk.rows; ++r) {
          const T* const row = out.data() + r * width;
          T* const to = o + task.batch * o_strides.batch + head * o_strides.head + (first + r) * o_strides.row;
          for (std::int64_t j = 0; j + 1 < width; ++j) to[j] = row[j] / row[width - 1];
          normalizer[(task.batch * shape.heads + head) * shape.length + first + r] = row[width - 1];
        }
      }
      task.add_to_sums(sums, phi_k.data(), values.data(), chunk);
    }
  });
}

template <class T>
void linear_attention_backward(AttentionGradient<T> dq, AttentionGradient<T> dk, AttentionGradient<T> dv, const T* dout,
                               AttentionStrides dout_strides, const T* o, AttentionStrides o_strides,
                               const T* normalizer, const T* q, AttentionStrides q_strides, const T* k,
                               AttentionStrides k_strides, const T* v, AttentionStrides v_strides,
                               const LinearAttentionShape& shape) {
  const Span span(SpanKind::kernel, "linear_attention_backward", {.flops = 3 * linear_flops(shape)});
  const LinearTensors<T> tensors{.dq = dq,
                                 .dk = dk,
                                 .dv = dv,
                                 .dout = {dout, dout_strides},
                                 .o = {o, o_strides},
                                 .q = {q, q_strides},
                                 .k = {k, k_strides},
                                 .v = {v, v_strides},
                                 .normalizer = normalizer};
  parallel_for(0, shape.batches * shape.kv_heads(), 1, [&](std::int64_t number, std::int64_t) {
    const LinearBackward<T> task({shape, number / shape.kv_heads(), number % shape.kv_heads()}, tensors);
    const std::int64_t chunks = chunk_count(shape.length, kChunk), group = shape.group;
    const Scratch<T> sums((chunks + 1) * task.sums_size());
    task.take_all_sums(sums.data());
    for (std::int64_t c = chunks - 1; c >= 0; --c) {
      const LinearChunk chunk(shape, task.batch, c * kChunk);
      task.begin(chunk, sums.data() + c * task.sums_size());
      for (std::int64_t head = task.kv_head * group; head < (task.kv_head + 1) * group; ++head) task.add(chunk, head);
      task.end(chunk);
    }
  });
}

#define LINEAR_ATTENTION(T)                                                                                           \
  template void linear_attention_forward(T*, AttentionStrides, T*, T*, const T*, AttentionStrides, const T*,          \
                                         AttentionStrides, const T*, AttentionStrides, const LinearAttentionShape&);  \
  template void linear_attention_backward(AttentionGradient<T>, AttentionGradient<T>, AttentionGradient<T>, const T*, \
                                          AttentionStrides, const T*, AttentionStrides, const T*, const T*,           \
                                          AttentionStrides, const T*, AttentionStrides, const T*, AttentionStrides,   \
                                          const LinearAttentionShape&)
LINEAR_ATTENTION(float);
LINEAR_ATTENTION(double);
#undef LINEAR_ATTENTION

}  // namespace tapeformer::kernels
