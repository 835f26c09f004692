// Finds the documents that follow each other in rows of tokens.
#pragma once

#include "autograd/tensor/tensor.h"

namespace tapeformer {

struct Documents {
  Tensor first_tokens;  // i32 (B, T): for each token, the index in its row where its document begins
  Tensor positions;     // i32 (B, T): for each token, its position in its document, counted from 0
};

// Finds the documents in ids i32 (B, T). A document begins at every `token` and at the beginning of each row.
Documents find_documents(const Tensor& ids, std::int32_t token);

}  // namespace tapeformer
