// Softmax cross-entropy per row of logits (rows, vocab), in nats, with label smoothing.
#pragma once

#include <cstdint>

#include "core/ignored_target.h"

namespace tapeformer::kernels {

// A row whose target is kIgnoredTarget (or any negative id) has loss 0 and gradient 0.
//
// With ε = smoothing, ζ = z_loss, p = softmax(logits) and s_i = log_sum_exp_i = log Σ_v e^logits (for ignored rows
// too):
//   loss_i = −(1 − ε)·log p_target − ε/V·Σ_v log p_v + ζ·s_i²
template <class T>
void cross_entropy_forward(T* loss, T* log_sum_exp, const T* logits, const std::int32_t* targets, std::int64_t rows,
                           std::int64_t vocab, double smoothing, double z_loss = 0);

// dlogits = beta·dlogits + dloss_i·(p·(1 + 2ζ·s_i) − (1 − ε)·onehot(target) − ε/V), with p from log_sum_exp. dlogits
// may be logits. With softcap = c > 0 the logits are c·tanh(z/c), and the gradient is that of z: it is multiplied by
// 1 − (logits/c)².
template <class T>
void cross_entropy_backward(T* dlogits, const T* dloss, const T* logits, const T* log_sum_exp,
                            const std::int32_t* targets, std::int64_t rows, std::int64_t vocab, double smoothing,
                            T beta, double z_loss = 0, double softcap = 0);

// Forward and backward together, each row while it is in the cache: logits become dlogits (beta 0).
template <class T>
void cross_entropy_in_place(T* loss, T* log_sum_exp, T* logits, const T* dloss, const std::int32_t* targets,
                            std::int64_t rows, std::int64_t vocab, double smoothing, double z_loss = 0,
                            double softcap = 0);

}  // namespace tapeformer::kernels
