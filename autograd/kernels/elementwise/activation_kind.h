#pragma once

namespace tapeformer {

// The activation of a feed-forward layer. The gated ones (Shazeer 2020) multiply act(g) by u, where g and u are the
// halves of a first product that is twice as wide: act is silu, x σ(x), for swiglu, and gelu for geglu. relu2 is the
// square of relu (So et al. 2021).
enum class ActivationKind { gelu, gelu_tanh, relu, relu2, swiglu, geglu };

constexpr bool is_gated(ActivationKind kind) { return kind == ActivationKind::swiglu || kind == ActivationKind::geglu; }

}  // namespace tapeformer
