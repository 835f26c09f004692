#include <array>
#include <utility>

#include "autograd/gradcheck/enumerators.h"
#include "autograd/gradcheck/op_table.h"
#include "autograd/ops/ops.h"

namespace tapeformer {

void add_attention(OpTable& t) {
  const auto attend = [](const AttentionOptions& options) {
    return [options](Inputs in) { return scaled_dot_product_attention(in[0], in[1], in[2], options); };
  };
  const auto row = [&](const char* label, std::int64_t queries, std::int64_t keys, std::int64_t value_dim,
                       const AttentionOptions& options) {
    t.add("scaled_dot_product_attention", label,
          {t.normal({2, 2, queries, 3}), t.normal({2, 2, keys, 3}), t.normal({2, 2, keys, value_dim})},
          attend(options));
  };
  const Tensor lengths = ids({2, 0}, {2});
  row("", 3, 3, 3, {});
  row("scale", 2, 3, 2, {.scale = 0.9});
  row("causal", 4, 4, 2, {.causal = true});
  row("causal, fewer queries than keys", 2, 4, 2, {.causal = true});
  row("causal, more queries than keys", 4, 2, 2, {.causal = true});
  row("key_lengths", 2, 3, 2, {.key_lengths = lengths});
  row("causal, key_lengths", 3, 3, 2, {.causal = true, .key_lengths = lengths});
  const Tensor key_begin = ids({0, 0, 1, 3, 0, 1, 1, 1}, {2, 4});
  row("key_begin", 4, 5, 2, {.key_begin = key_begin});
  row("causal, key_begin", 4, 4, 2, {.causal = true, .key_begin = key_begin});
  row("causal, key_begin, fewer queries than keys", 4, 6, 2, {.causal = true, .key_begin = key_begin});
  row("causal, key_lengths, key_begin, dropout", 4, 4, 2,
      {.causal = true, .key_lengths = ids({3, 4}, {2}), .key_begin = key_begin, .dropout = 0.4});
  row("dropout", 3, 4, 2, {.dropout = 0.4});
  row("causal, key_lengths, dropout", 3, 3, 2, {.causal = true, .key_lengths = lengths, .dropout = 0.4});
  const auto linear_row = [&](const char* label, std::int64_t heads, std::int64_t length, const Tensor& begin) {
    t.add("linear_attention", label,
          {t.normal({2, heads, length, 3}), t.normal({2, 2, length, 3}), t.normal({2, 2, length, 2})},
          [begin](Inputs in) { return linear_attention(in[0], in[1], in[2], {.key_begin = begin}); });
  };
  linear_row("", 2, 4, {});
  linear_row("key_begin, two query heads to a head of k and v", 4, 4, ids({0, 0, 2, 3, 0, 1, 1, 1}, {2, 4}));
  const auto grouped = [&](const char* label, std::int64_t kv_heads, const AttentionOptions& options) {
    t.add("scaled_dot_product_attention", label,
          {t.normal({2, 4, 3, 3}), t.normal({2, kv_heads, 4, 3}), t.normal({2, kv_heads, 4, 2})}, attend(options));
  };
  grouped("two query heads to a head of k and v", 2, {.causal = true});
  grouped("all query heads to a head of k and v, key_lengths, dropout", 1,
          {.key_lengths = ids({3, 4}, {2}), .dropout = 0.4});
  const auto self = [](const AttentionOptions& options) {
    return [options](Inputs in) { return packed_self_attention(in[0], 2, options); };
  };
  t.add({"packed_self_attention", "self_attention"}, "causal", {t.normal({2, 3, 12})}, self({.causal = true}));
  t.add({"packed_self_attention", "self_attention"}, "causal, key_begin, dropout", {t.normal({2, 4, 6})},
        self({.causal = true, .key_begin = key_begin, .dropout = 0.4}));
  t.add({"packed_self_attention", "self_attention"}, "grouped heads", {t.normal({2, 3, 12})}, [](Inputs in) {
    return packed_self_attention(in[0], {4, 1}, {.causal = true});
  });
  t.add({"packed_cross_attention", "cross_attention"}, "grouped heads", {t.normal({2, 2, 8}), t.normal({2, 3, 4})},
        [](Inputs in) {
          return packed_cross_attention(in[0], in[1], {4, 1}, {});
        });
  t.add({"packed_cross_attention", "cross_attention"}, "key_lengths, dropout",
        {t.normal({2, 2, 4}), t.normal({2, 3, 8})},
        [=](Inputs in) { return packed_cross_attention(in[0], in[1], 2, {.key_lengths = lengths, .dropout = 0.4}); });
  // q, k, v side by side in one row, as views.
  t.add("scaled_dot_product_attention", "packed q, k, v", {t.normal({2, 3, 12})}, [](Inputs in) {
    const auto heads = [](const Variable& x) { return transpose(reshape(x, {2, 3, 2, 2}), 1, 2); };
    const auto qkv = split(scale(in[0], 1.1), std::array<std::int64_t, 3>{4, 4, 4}, -1);
    const Variable out = scaled_dot_product_attention(heads(qkv[0]), heads(qkv[1]), heads(qkv[2]), {.causal = true});
    return reshape(transpose(out, 1, 2), {2, 3, 4});
  });
  const auto additive = [&](const char* label, const Tensor& key_lengths, bool with_weights) {
    t.add("additive_attention", label, {t.normal({2, 2, 3}), t.normal({2, 4, 3}), t.normal({3}), t.normal({2, 4, 5})},
          [=](Inputs in) {
            const auto [output, weights] = additive_attention(in[0], in[1], in[2], in[3], key_lengths);
            return with_weights ? concat(std::array{output, weights}, -1) : output;
          });
  };
  additive("", {}, false);
  additive("with its weights", {}, true);
  additive("key_lengths, with its weights", ids({3, 0}, {2}), true);
  const Tensor values = t.normal({1, 4, 2});
  t.add("additive_attention", "of the weights alone", {t.normal({1, 2, 3}), t.normal({1, 4, 3}), t.normal({3})},
        [values](Inputs in) {
          return additive_attention(in[0], in[1], in[2], Variable::constant(*in[0].tape(), values.to(in[0].dtype())))
              .weights;
        });
}

// Norms and rotations of heads, by themselves and within attention.
void add_head_transforms(OpTable& t) {
  // The transform of heads d wide; its table of rotations has the dtype of x.
  const auto transform = [](const Variable& x, std::int64_t d, RotaryPairs pairs, const Tensor& positions) {
    return HeadTransform{
        .norm_eps = 0.1,
        .rotation = {rotation_table(2, 3, rotation_angles(d, 50), x.value().dtype()), positions, pairs}};
  };
  const Tensor positions = ids({0, 1, 0, 2, 2, 1}, {2, 3});
  const auto heads = [&](const char* name, const std::string& label, std::vector<Tensor> inputs, auto&& how) {
    t.add({"transform_heads", name}, label, std::move(inputs),
          [how](Inputs in) { return transform_heads(in[0], in.size() > 1 ? in[1] : Variable(), 2, how(in[0])); });
  };
  heads("qk_norm", "norm", {t.normal({2, 3, 6}), t.normal({3})},
        [](const Variable&) { return HeadTransform{.norm_eps = 0.1}; });
  for (const Enumerator<RotaryPairs>& enumerator : enumerators<RotaryPairs>()) {
    const RotaryPairs pairs = enumerator.value;
    const std::string& name = enumerator.name;
    const auto by_place = [=](const Variable& x) { return transform(x, 4, pairs, {}); };
    heads("rotary", name, {t.normal({2, 3, 8})}, by_place);
    heads("rotary", name + ", norm", {t.normal({2, 3, 8}), t.normal({4})}, by_place);
    heads("rotary", name + ", positions", {t.normal({2, 3, 8})},
          [=](const Variable& x) { return transform(x, 4, pairs, positions); });
    t.add({"packed_self_attention", "self_attention"}, name + ", norms, grouped heads",
          {t.normal({2, 3, 8}), t.normal({2}), t.normal({2})}, [=](Inputs in) {
            return packed_self_attention(in[0], {2, 1}, {.causal = true}, {in[1], in[2]},
                                         transform(in[0], 2, pairs, positions));
          });
    t.add({"packed_self_attention", "self_attention"}, name, {t.normal({2, 3, 12})},
          [=](Inputs in) { return packed_self_attention(in[0], 1, {}, {}, transform(in[0], 4, pairs, {})); });
  }
}

// Packed heads whose values are wider or narrower than their keys.
void add_value_widths(OpTable& t) {
  t.add({"packed_self_attention", "self_attention"}, "grouped heads, wider values", {t.normal({2, 3, 14})},
        [](Inputs in) {
          return packed_self_attention(in[0], {4, 1, 4}, {.causal = true});
        });
  t.add({"packed_cross_attention", "cross_attention"}, "narrower values", {t.normal({2, 2, 6}), t.normal({2, 3, 8})},
        [](Inputs in) {
          return packed_cross_attention(in[0], in[1], {2, 2, 1}, {});
        });
}

}  // namespace tapeformer
