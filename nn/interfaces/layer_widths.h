// Finds the number of layers of a model, and their widths.
#pragma once

#include <string_view>

#include "autograd/tape/tape.h"
#include "nn/interfaces/model.h"

namespace tapeformer {

// Runs the encoder on a single token, and returns its vector in each layer, (1, 1, F). The observer receives the ops
// that compute them.
std::vector<Tensor> layers_of_one_token(const Model& encoder, OpObserver* observer = nullptr);

// Throws UsageError "WHAT: …" unless all layers have the same width, which a mixture of them needs.
void require_equal_widths(const std::vector<Tensor>& layers, std::string_view what);

}  // namespace tapeformer
