#include "nn/attention.h"

#include <algorithm>

#include "autograd/ops/ops.h"
#include "autograd/tape/tape.h"

namespace tapeformer {
namespace {

std::int64_t checked_dim(const BlockConfig& config) {
  if (config.heads < 1 || config.dim % config.heads != 0) {
    fail_usage("model.heads: ", config.heads, " does not divide model.dim, which is ", config.dim);
  }
  return config.dim;
}

}  // namespace

void KeyValueCache::append(const Tensor& k, const Tensor& v) {
  const std::int64_t more = k.size(2);
  check(length_ + more <= capacity_, "key/value cache: ", length_, " tokens and ", more,
        " more exceed its capacity of ", capacity_);
  if (!keys_.defined() || (length_ == 0 && keys_.size(0) != k.size(0))) {
    keys_ = Tensor::empty({k.size(0), k.size(1), capacity_, k.size(3)}, k.dtype());
    values_ = Tensor::empty({v.size(0), v.size(1), capacity_, v.size(3)}, v.dtype());
  }
  check(keys_.size(0) == k.size(0), "key/value cache: holds a batch of ", keys_.size(0), ", got ", k.size(0));
  keys_.slice(2, length_, length_ + more).copy_from(k);
  values_.slice(2, length_, length_ + more).copy_from(v);
  length_ += more;
}

MultiHeadAttention::MultiHeadAttention(const BlockConfig& config)
    : qkv(checked_dim(config), 3 * config.dim, config.bias, config.init, config.dtype),
      out(config.dim, config.dim, config.bias, config.residual_init, config.dtype),
      heads_(config.heads),
      dropout_(config.dropout) {
  register_module("qkv", qkv);
  register_module("out", out);
}

Variable MultiHeadAttention::forward(const Variable& x, const NormWeights& norm, KeyValueCache* cache) const {
  const std::int64_t batch = x.size(0), length = x.size(1), dim = x.size(2);
  const std::int64_t thirds[] = {dim, dim, dim};
  const Variable joined = layer_norm_linear(x, norm, qkv.weight, qkv.bias);
  std::vector<Variable> parts = split(joined, thirds, -1);  // (B, T, dim) each
  for (Variable& part : parts) part = transpose(reshape(part, {batch, length, heads_, dim / heads_}), 1, 2);
  if (cache) {
    check(!x.tape()->options().record, "attention: a key/value cache works without recording only");
    cache->append(parts[1].value(), parts[2].value());
    parts[1] = Variable::constant(*x.tape(), cache->keys());
    parts[2] = Variable::constant(*x.tape(), cache->values());
  }
  const Variable heads = scaled_dot_product_attention(parts[0], parts[1], parts[2],
                                                      {.causal = true, .dropout = dropout_});  // (B, h, T, d_k)
  return out.forward(reshape(transpose(heads, 1, 2), {batch, length, dim}));
}

}  // namespace tapeformer
