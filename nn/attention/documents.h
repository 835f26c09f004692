// Finds the documents that follow each other in rows of tokens.
#pragma once

#include "autograd/tensor/tensor.h"

namespace tapeformer {

struct Documents {
  Tensor first_tokens;  // i32 (B, T): for each token, the index in its row where its document begins
  Tensor positions;     // i32 (B, T): for each token, its position in its document, counted from 0
};

// Returns i32 (B, T): the first key that each of T causal queries sees, if query t has position first + t and sees the
// last `window` keys up to its position, but none before `key_begin` (i32 (B, T); undefined: none is hidden).
Tensor first_keys_of_window(std::int64_t batch, std::int64_t length, std::int64_t first, std::int64_t window,
                            const Tensor& key_begin);

// Returns the documents with these first_tokens i32 (B, T), and the positions that follow from them.
Documents documents_from(const Tensor& first_tokens);

// Finds the documents in ids i32 (B, T). A document begins at every `token` and at the beginning of each row.
Documents find_documents(const Tensor& ids, std::int32_t token);

}  // namespace tapeformer
