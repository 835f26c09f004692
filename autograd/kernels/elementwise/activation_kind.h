#pragma once

namespace tapeformer {

// The activation of a feed-forward layer.
enum class ActivationKind { gelu, gelu_tanh, relu };

}  // namespace tapeformer
