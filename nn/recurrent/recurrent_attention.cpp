#include "nn/recurrent/recurrent_attention.h"

#include "autograd/ops/helpers/products.h"
#include "autograd/ops/views.h"
#include "nn/attention/attention.h"

namespace tapeformer {

RecurrentAttention::RecurrentAttention(AttentionScore score, std::int64_t dim, DType dtype) : score_(score) {
  check(score != AttentionScore::none, "recurrent attention: expected a score, got none");
  if (score == AttentionScore::dot) return;
  key_weight_ = register_matrix("key.weight", {dim, dim}, dtype, Init::xavier_uniform());
  if (score == AttentionScore::bilinear) return;
  query_weight_ = register_matrix("query.weight", {dim, dim}, dtype, Init::xavier_uniform());
  score_weight_ = register_parameter("score.weight", {dim}, dtype, Init::uniform_fan_in(dim));
}

Variable RecurrentAttention::keys(const Variable& hidden) const {
  return score_ == AttentionScore::dot ? hidden : linear(hidden, key_weight_, {});
}

Variable RecurrentAttention::forward(const Variable& query, const Variable& keys, const EncoderOutput& encoded,
                                     Variable* weights) const {
  return call([&] { return run(query, keys, encoded, weights); });
}

Variable RecurrentAttention::run(const Variable& query, const Variable& keys, const EncoderOutput& encoded,
                                 Variable* weights) const {
  if (score_ == AttentionScore::additive) {
    const AttentionResult result =
        additive_attention(linear(query, query_weight_, {}), keys, score_weight_, encoded.hidden, encoded.lengths);
    if (weights) *weights = result.weights;
    return result.output;
  }
  // There is one head, and the score is the unscaled product.
  const auto one_head = [](const Variable& x) { return reshape(x, {x.size(0), 1, x.size(1), x.size(2)}); };
  const AttentionOptions options{.key_lengths = encoded.lengths, .scale = 1};
  const Variable q = one_head(query), k = one_head(keys);
  if (weights) {
    const Tensor seen = attention_weights(q.value(), k.value(), options);
    *weights = Variable::constant(*query.tape(), seen.reshape({query.size(0), query.size(1), keys.size(1)}));
  }
  return reshape(scaled_dot_product_attention(q, k, one_head(encoded.hidden), options), query.sizes());
}

}  // namespace tapeformer
