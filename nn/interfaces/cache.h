// The cache of a model: what it keeps of the tokens that it has read, so that it need not read them again for the next
// token.
#pragma once

#include <memory>
#include <span>

#include "nn/formats/safetensors.h"

namespace tapeformer {

// Keys and values, a recurrent state, or whatever else a model needs of the tokens before. A cache has one row for each
// row of ids that was read. It belongs to the model that has made it.
class Cache {
 public:
  virtual ~Cache() = default;
  // Forgets all tokens. The next ids may have another number of rows.
  virtual void clear() = 0;
  // Replaces row i by the old row rows[i]. A row may be used several times, or not at all. In an encoder-decoder the
  // rows of a source must stay side by side, and all sources must keep the same number of rows (selected_sources()); a
  // source that loses all its rows is dropped. Throws Error for a row that is not there. Does nothing if no token was
  // read.
  virtual void select(std::span<const std::int64_t> rows) = 0;
  // Returns the named tensors of the cache in a fixed order; an empty list if no token was read. They share the memory
  // of the cache.
  virtual NamedTensors tensors() const = 0;
};

// Returns `cache` as the kind of cache that the calling model makes; null for null. Throws Error, which begins with the
// name of the model, if another model has made it.
template <class Own>
Own* own_cache(Cache* cache, const char* model) {
  auto* const own = dynamic_cast<Own*>(cache);
  check(!cache || own, model, ": the cache is another model's");
  return own;
}

// Returns a tensor whose row i is row rows[i] of x (B, …). This is x itself if `rows` are all rows in their order.
// Throws Error for a row that is not there.
Tensor select_rows(const Tensor& x, std::span<const std::int64_t> rows);

}  // namespace tapeformer
