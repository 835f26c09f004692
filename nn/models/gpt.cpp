#include "nn/models/gpt.h"

#include <algorithm>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/products.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "nn/documents.h"

namespace tapeformer {
namespace {

bool has_token(const Tensor& ids, std::int32_t token) {
  const Tensor dense = ids.contiguous();
  return std::ranges::find(dense.span<std::int32_t>(), token) != dense.span<std::int32_t>().end();
}

}  // namespace

Gpt::Gpt(const GptConfig& config)
    : config_(config),
      token_embedding_(config.vocab, config.block.dim, config.block.init, config.block.dtype),
      positions_(config.position, config.context, config.block.dim, config.position_base, config.block.init,
                 config.block.dtype),
      dropout_(config.block.dropout),
      stack_(config.block, config.layers) {
  register_module("token_embedding", token_embedding_);
  register_module("position_embedding", positions_);
  register_module("", stack_);
  if (config.tie_embeddings) {
    head_ = token_embedding_.weight;
    register_tied("head.weight", head_);
  } else {
    head_ = register_parameter("head.weight", {config.vocab, config.block.dim}, config.block.dtype, config.block.init);
  }
}

Variable Gpt::forward(const Variable& ids, StackCache* cache) const {
  check(ids.value().rank() == 2, "gpt: expected ids (B, T), got ", ids.sizes());
  const std::int64_t first = cache ? cache->front().self.length() : 0, length = ids.size(1);
  const std::int32_t token = config_.document_token;
  SelfMask mask;
  Positions positions{.first = first};
  if (token >= 0 && !cache) {
    const Documents documents = find_documents(ids.value(), token);
    mask.key_begin = documents.first_tokens;
    positions.of_tokens = documents.positions;
  } else {
    check(token < 0 || !has_token(ids.value().slice(1, first == 0, length), token),
          "gpt: the key/value cache holds one document, but another one begins");
  }
  const Variable x = add(token_embedding_.forward(ids), positions_.forward(*ids.tape(), positions, length));
  return stack_.forward(dropout_.forward(x), {.mask = mask, .positions = positions}, cache);
}

Variable Gpt::logits(const Variable& hidden) const { return linear(hidden, head_, {}); }

Variable Gpt::loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options) const {
  const Variable rows = reshape(forward(ids), {-1, config_.block.dim});
  const Variable flat_targets = Variable::constant(*ids.tape(), targets.value().reshape({-1}));
  return linear_cross_entropy(rows, head_, {}, flat_targets, options);
}

}  // namespace tapeformer
