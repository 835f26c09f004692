// Documents that follow each other in rows of tokens.
#pragma once

#include "autograd/tensor/tensor.h"

namespace tapeformer {

struct Documents {
  Tensor first_tokens;  // i32 (B, T): the place in its row where a token's document begins
  Tensor positions;     // i32 (B, T): a token's place in its document, from 0
};

// Of ids i32 (B, T), where a document begins at every `token` and at the beginning of a row.
Documents find_documents(const Tensor& ids, std::int32_t token);

}  // namespace tapeformer
