// Every op that the tape knows, by the names of PyTorch. Each is a struct with its forward and backward side by side in
// one file of this folder; the function here records it. Inputs may be any strided views. Binary ops broadcast as NumPy
// does, by the view op expand. Shapes that do not fit throw Error, naming both.
#pragma once

#include <span>
#include <vector>

#include "autograd/kernels/activations.h"
#include "autograd/tape/variable.h"

namespace tapeformer {

// Arithmetic (arithmetic.cpp)
Variable add(const Variable& a, const Variable& b);
Variable sub(const Variable& a, const Variable& b);
Variable mul(const Variable& a, const Variable& b);
Variable div(const Variable& a, const Variable& b);
Variable scale(const Variable& x, double factor);
Variable add_scalar(const Variable& x, double value);
Variable exp(const Variable& x);
Variable log(const Variable& x);
Variable sqrt(const Variable& x);

// Views (views.cpp): share the storage of x.
Variable transpose(const Variable& x, int a, int b);
Variable permute(const Variable& x, const Dims& order);
Variable slice(const Variable& x, int axis, std::int64_t start, std::int64_t stop, std::int64_t step = 1);
Variable expand(const Variable& x, const Dims& sizes);
// A copy where the layout of x does not allow a view. One size may be -1.
Variable reshape(const Variable& x, const Dims& sizes);
// Parts of the given sizes along an axis, as views; and the opposite, a copy.
std::vector<Variable> split(const Variable& x, std::span<const std::int64_t> sizes, int axis);
Variable concat(std::span<const Variable> parts, int axis);

// Reductions (reductions.cpp). The axis counts from the end when negative; it is dropped unless `keep`.
Variable sum(const Variable& x, int axis, bool keep = false);
Variable sum(const Variable& x);  // over all elements, to a scalar
Variable mean(const Variable& x, int axis, bool keep = false);
Variable mean(const Variable& x);
Variable max(const Variable& x, int axis, bool keep = false);  // the gradient goes to the first maximum

// Over the last axis (softmax.cpp)
Variable softmax(const Variable& x);
Variable log_softmax(const Variable& x);

// Activations (activations.cpp)
Variable relu(const Variable& x);
Variable tanh(const Variable& x);
Variable sigmoid(const Variable& x);
Variable gelu(const Variable& x);       // x Φ(x)
Variable gelu_tanh(const Variable& x);  // GPT-2's

// Matrix products (matmul.cpp): (…, m, k)·(…, k, n) → (…, m, n); the axes in front are broadcast.
Variable matmul(const Variable& a, const Variable& b);
// x Wᵀ + b: x (…, in), weight (out, in), bias (out) or undefined → (…, out)   (linear.cpp)
Variable linear(const Variable& x, const Variable& weight, const Variable& bias);

struct FeedForwardWeights {
  Variable up, up_bias, down, down_bias;  // (hidden, in), (hidden), (out, hidden), (out); biases may be undefined
};
// act(x upᵀ + up_bias) downᵀ + down_bias, x (…, in) → (…, out), without keeping the activation's result for backward
// (feed_forward.cpp). A caller that moves x in lets it be freed as soon as the first product is done.
Variable feed_forward(Variable x, const FeedForwardWeights& weights, ActivationKind activation);

// Rows of a table: table (rows, dim), ids i32 of any shape → (…ids, dim)   (embedding.cpp)
Variable embedding(const Variable& table, const Variable& ids);

// Zeroes each element with probability p and scales the others by 1/(1 − p), while training; x itself otherwise.
Variable dropout(const Variable& x, double p);

// γ·(x − μ)/√(σ² + eps) + β over the last axis; gamma, beta (dim), beta may be undefined   (layer_norm.cpp)
Variable layer_norm(const Variable& x, const Variable& gamma, const Variable& beta, double eps);
// γ·x/√(mean x² + eps) over the last axis; gamma (dim)   (rms_norm.cpp)
Variable rms_norm(const Variable& x, const Variable& gamma, double eps);

struct AttentionOptions {
  bool causal = false;   // query i of T_q stands at position i + T_k − T_q and sees keys up to it
  Tensor key_lengths{};  // i32 (B): keys at or past this length are padding; undefined: none are
  // i32 (B, T_q): a query sees no key before its first one, which never decreases along a row; undefined: key 0 for
  // all. A causal query sees itself: its first key is at most its own position.
  Tensor key_begin{};
  double dropout = 0;  // on the attention weights, while training
  double scale = 0;    // 0: 1/√d_k
};
// softmax(mask(scale·q kᵀ)) v: q (B, h, T_q, d_k), k (B, h, T_k, d_k), v (B, h, T_k, d_v) → (B, h, T_q, d_v). A query
// that may see no key gives zeros. The result lies in memory as (B, T_q, h, d_v), so that joining the heads is a view.
Variable scaled_dot_product_attention(const Variable& q, const Variable& k, const Variable& v,
                                      const AttentionOptions& options);

struct CrossEntropyOptions {
  double smoothing = 0;   // ε: the target is (1 − ε)·onehot + ε/V
  double normalizer = 0;  // what the summed loss is divided by; 0: the number of targets that are not ignored
  // linear_cross_entropy on a recording tape: the value is NaN until backward has passed, which then makes the logits
  // once instead of twice.
  bool deferred = false;
  // Where given: the loss without smoothing is added to it as soon as the value is known. It must live until then.
  double* unsmoothed = nullptr;
};
// Mean cross-entropy in nats (a scalar): logits (N, V), targets i32 (N), negative targets are ignored.
Variable cross_entropy(const Variable& logits, const Variable& targets, const CrossEntropyOptions& options);
// The same of logits = x Wᵀ + b, a chunk of rows at a time, so that the logits never lie in memory all at once:
// x (N, dim), weight (V, dim), bias (V) or undefined   (linear_cross_entropy.cpp)
Variable linear_cross_entropy(const Variable& x, const Variable& weight, const Variable& bias, const Variable& targets,
                              const CrossEntropyOptions& options);

}  // namespace tapeformer
