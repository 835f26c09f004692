// Activations (activations.cpp), and softmax over the last axis (softmax.cpp).
#pragma once

#include "autograd/tape/variable.h"

namespace tapeformer {

Variable relu(const Variable& x);
Variable tanh(const Variable& x);
Variable sigmoid(const Variable& x);
Variable softplus(const Variable& x);   // ln(1 + e^x)
Variable gelu(const Variable& x);       // x Φ(x)
Variable gelu_tanh(const Variable& x);  // GPT-2's tanh approximation: x/2·(1 + tanh(√(2/π)(x + 0.044715x³)))

Variable softcap(const Variable& x, double cap);  // cap·tanh(x/cap), which stays within ±cap; cap > 0

Variable softmax(const Variable& x);
Variable log_softmax(const Variable& x);

}  // namespace tapeformer
