#include "nn/attention/documents.h"

#include <algorithm>

namespace tapeformer {

Documents find_documents(const Tensor& ids, std::int32_t token) {
  const Tensor dense = ids.contiguous();
  const Documents documents{Tensor::empty(ids.sizes(), DType::i32), Tensor::empty(ids.sizes(), DType::i32)};
  const std::int32_t* id = dense.data<std::int32_t>();
  auto *first = documents.first_tokens.data<std::int32_t>(), *position = documents.positions.data<std::int32_t>();
  for (std::int64_t row = 0; row < ids.size(0); ++row) {
    std::int32_t begin = 0;
    for (std::int32_t t = 0; t < ids.size(1); ++t) {
      if (*id++ == token) begin = t;
      *first++ = begin;
      *position++ = t - begin;
    }
  }
  return documents;
}

Documents documents_from(const Tensor& first_tokens) {
  const Tensor positions = first_tokens.clone();
  auto* position = positions.data<std::int32_t>();
  for (std::int64_t row = 0; row < positions.size(0); ++row) {
    for (std::int32_t t = 0; t < positions.size(1); ++t, ++position) *position = t - *position;
  }
  return {first_tokens, positions};
}

Tensor first_keys_of_window(std::int64_t batch, std::int64_t length, std::int64_t first, std::int64_t window,
                            const Tensor& key_begin) {
  const Tensor keys = key_begin.defined() ? key_begin.clone() : Tensor::zeros({batch, length}, DType::i32);
  auto* key = keys.data<std::int32_t>();
  for (std::int64_t row = 0; row < batch; ++row) {
    for (std::int64_t t = 0; t < length; ++t, ++key) {
      *key = std::max(*key, static_cast<std::int32_t>(std::max<std::int64_t>(first + t + 1 - window, 0)));
    }
  }
  return keys;
}

}  // namespace tapeformer
