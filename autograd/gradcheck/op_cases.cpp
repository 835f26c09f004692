#include "autograd/gradcheck/op_cases.h"

#include <array>
#include <utility>

#include "autograd/gradcheck/enumerators.h"
#include "autograd/ops/ops.h"
#include "autograd/tape/hook_gradient.h"
#include "autograd/tape/recompute.h"

namespace tapeformer {
namespace {

using Inputs = std::span<const Variable>;

// Collects the rows. Every input has its own random stream.
class Table {
 public:
  std::vector<OpCase> rows;

  // An op, and the name under which a row is shown, where it is another one.
  struct Name {
    std::string op, shown = {};
    Name(const char* op) : op(op) {}  // NOLINT
    Name(const char* op, std::string shown) : op(op), shown(std::move(shown)) {}
  };

  void add(Name name, std::string label, std::vector<Tensor> inputs, TapeFunction function) {
    rows.push_back(
        {std::move(name.op), std::move(label), std::move(inputs), std::move(function), std::move(name.shown)});
  }

  Tensor normal(const Dims& sizes) { return random_normal(sizes, ++stream_); }
  // In [0.5, 2).
  Tensor positive(const Dims& sizes) {
    RandomStream random = next_stream();
    const Tensor tensor = Tensor::empty(sizes, DType::f64);
    for (double& value : tensor.span<double>()) value = 0.5 + 1.5 * random.uniform();
    return tensor;
  }
  // Values 0.1 apart in random order, at least 0.03 away from 0: away from the kinks of max and relu.
  Tensor distinct(const Dims& sizes) {
    RandomStream random = next_stream();
    const Tensor tensor = Tensor::empty(sizes, DType::f64);
    const std::span<double> values = tensor.span<double>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 0.1 * (static_cast<double>(i) - static_cast<double>(values.size() / 2)) + 0.03;
      std::swap(values[i], values[random.below(i + 1)]);
    }
    return tensor;
  }

 private:
  RandomStream next_stream() { return RandomStream(RandomKey{.stream = ++stream_}); }
  std::uint64_t stream_ = 0;
};

Tensor ids(std::initializer_list<std::int32_t> values, const Dims& sizes) { return Tensor::from(values, sizes); }

void add_arithmetic(Table& t) {
  const auto binary = [&](const char* op, Variable (*f)(const Variable&, const Variable&), auto&& right) {
    const auto function = [f](Inputs in) { return f(in[0], in[1]); };
    t.add(op, "equal shapes", {t.normal({2, 3}), right(Dims{2, 3})}, function);
    t.add(op, "broadcast", {t.normal({2, 1, 3}), right(Dims{4, 1})}, function);
    t.add(op, "with a scalar", {t.normal({2, 3}), right(Dims{})}, function);
  };
  const auto normal = [&](const Dims& sizes) { return t.normal(sizes); };
  const auto positive = [&](const Dims& sizes) { return t.positive(sizes); };
  binary("add", add, normal);
  binary("sub", sub, normal);
  binary("mul", mul, normal);
  binary("div", div, positive);
  // Elements of the two inputs are never within 0.03 of each other.
  const auto apart = [&](const Dims& sizes) {
    const Tensor values = t.distinct(sizes);
    values.add_from(Tensor::full(sizes, DType::f64, 0.05));
    return values;
  };
  const auto smaller_or_larger = [&](const char* op, Variable (*f)(const Variable&, const Variable&)) {
    const auto function = [f](Inputs in) { return f(in[0], in[1]); };
    t.add(op, "equal shapes", {t.distinct({2, 3}), apart({2, 3})}, function);
    t.add(op, "broadcast", {t.distinct({2, 1, 3}), apart({4, 1})}, function);
    t.add(op, "with a scalar", {t.distinct({2, 3}), apart({})}, function);
  };
  smaller_or_larger("minimum", minimum);
  smaller_or_larger("maximum", maximum);
  t.add("abs", "", {t.distinct({3, 4})}, [](Inputs in) { return abs(in[0]); });
  t.add("clamp", "", {t.distinct({4, 5})}, [](Inputs in) { return clamp(in[0], -0.5, 0.2); });
  t.add("square", "", {t.normal({2, 3})}, [](Inputs in) { return square(in[0]); });
  t.add("scale", "neg", {t.normal({2, 3})}, [](Inputs in) { return neg(in[0]); });
  t.add("div", "of a number", {t.positive({2, 3})}, [](Inputs in) { return 1.5 / in[0]; });
  t.add("scale", "", {t.normal({2, 3})}, [](Inputs in) { return scale(in[0], -1.7); });
  t.add("add_scalar", "", {t.normal({2, 3})}, [](Inputs in) { return add_scalar(in[0], 0.3); });
  t.add("exp", "", {t.normal({2, 3})}, [](Inputs in) { return exp(in[0]); });
  t.add("log", "", {t.positive({2, 3})}, [](Inputs in) { return log(in[0]); });
  t.add("sqrt", "", {t.positive({2, 3})}, [](Inputs in) { return sqrt(in[0]); });
}

void add_views(Table& t) {
  t.add("permute", "transpose", {t.normal({2, 3, 4})}, [](Inputs in) { return transpose(in[0], 0, -1); });
  t.add("permute", "three axes", {t.normal({2, 3, 4})}, [](Inputs in) { return permute(in[0], {2, 0, -2}); });
  t.add("slice", "", {t.normal({3, 4})}, [](Inputs in) { return slice(in[0], 1, 1, 3); });
  t.add("slice", "step", {t.normal({5, 2})}, [](Inputs in) { return slice(in[0], -2, 0, 5, 2); });
  t.add("expand", "axis of one", {t.normal({2, 1, 3})}, [](Inputs in) { return expand(in[0], {2, 4, 3}); });
  t.add("expand", "axes in front", {t.normal({1, 3})}, [](Inputs in) { return expand(in[0], {2, 2, 2, 3}); });
  t.add("reshape", "", {t.normal({2, 6})}, [](Inputs in) { return reshape(in[0], {3, -1}); });
  t.add("reshape", "of a transpose (a copy)", {t.normal({2, 6})}, [](Inputs in) {
    return reshape(transpose(in[0], 0, 1), {3, 4});
  });
  static constexpr std::array<std::int64_t, 3> kParts{2, 1, 2};
  t.add("split", "", {t.normal({3, 5})}, [](Inputs in) {
    const auto parts = split(in[0], kParts, -1);
    return mul(mul(parts[0], parts[1]), parts[2]);
  });
  t.add("split", "an unused part, a part used twice", {t.normal({5, 3})}, [](Inputs in) {
    const auto parts = split(in[0], kParts, 0);
    return add(mul(parts[2], parts[2]), parts[1]);
  });
  t.add("split", "with the whole", {t.normal({5, 3})}, [](Inputs in) {
    const Variable whole = tanh(in[0]);
    const auto parts = split(whole, kParts, 0);
    return concat(Inputs(std::array{mul(parts[0], parts[2]), whole}), 0);
  });
  t.add("concat", "first axis", {t.normal({1, 3}), t.normal({2, 3}), t.normal({2, 3})},
        [](Inputs in) { return concat(in, 0); });
  t.add("concat", "last axis", {t.normal({2, 3}), t.normal({2, 1})}, [](Inputs in) { return concat(in, -1); });
}

void add_reductions(Table& t) {
  for (int axis : {0, 1, -1}) {
    const std::string along = "axis " + std::to_string(axis);
    t.add("sum", along, {t.normal({2, 3, 4})}, [axis](Inputs in) { return sum(in[0], axis); });
    t.add("max", along, {t.distinct({2, 3, 4})}, [axis](Inputs in) { return max(in[0], axis); });
  }
  t.add("sum", "axis kept", {t.normal({2, 3})}, [](Inputs in) { return sum(in[0], 0, true); });
  t.add("max", "axis kept", {t.distinct({2, 3})}, [](Inputs in) { return max(in[0], 1, true); });
  t.add("sum", "all elements", {t.normal({2, 3})}, [](Inputs in) { return sum(in[0]); });
  t.add("sum", "mean of an axis", {t.normal({2, 3})}, [](Inputs in) { return mean(in[0], -1); });
  t.add("sum", "mean", {t.normal({2, 3})}, [](Inputs in) { return mean(in[0]); });
}

void add_functions(Table& t) {
  const auto unary = [&](const char* op, Variable (*f)(const Variable&)) {
    t.add(op, "", {t.distinct({3, 5})}, [f](Inputs in) { return f(in[0]); });
    t.add(op, "far from 0", {Tensor::from<double>({-9, -4, -2.5, 2.5, 4, 9}, {6})},
          [f](Inputs in) { return f(in[0]); });
  };
  unary("relu", relu);
  unary("tanh", tanh);
  unary("sigmoid", sigmoid);
  unary("softplus", softplus);
  unary("gelu", gelu);
  unary("gelu_tanh", gelu_tanh);
  unary("softcap", [](const Variable& x) { return softcap(x, 1.3); });
  unary("softmax", softmax);
  unary("log_softmax", log_softmax);
  t.add("dropout", "", {t.normal({4, 5})}, [](Inputs in) { return dropout(in[0], 0.4); });
}

void add_products(Table& t) {
  const auto product = [](Inputs in) { return matmul(in[0], in[1]); };
  t.add("matmul", "", {t.normal({2, 3}), t.normal({3, 4})}, product);
  t.add("matmul", "square", {t.normal({3, 3}), t.normal({3, 3})}, product);
  t.add("matmul", "vectors", {t.normal({1, 4}), t.normal({4, 1})}, product);
  t.add("matmul", "batched", {t.normal({2, 2, 3}), t.normal({2, 3, 2})}, product);
  t.add("matmul", "batch by matrix", {t.normal({2, 2, 3}), t.normal({3, 4})}, product);
  t.add("matmul", "matrix by batch", {t.normal({2, 3}), t.normal({2, 3, 2})}, product);
  t.add("matmul", "broadcast batches", {t.normal({2, 1, 2, 3}), t.normal({3, 3, 2})}, product);
  const auto affine = [](Inputs in) { return linear(in[0], in[1], in.size() > 2 ? in[2] : Variable()); };
  t.add("linear", "bias", {t.normal({3, 4}), t.normal({2, 4}), t.normal({2})}, affine);
  t.add("linear", "no bias", {t.normal({3, 4}), t.normal({2, 4})}, affine);
  t.add("linear", "axes in front", {t.normal({2, 2, 3}), t.normal({4, 3}), t.normal({4})}, affine);
  t.add("linear", "one vector", {t.normal({3}), t.normal({3, 3}), t.normal({3})}, affine);
}

void add_layers(Table& t) {
  const auto lookup = [](Inputs in) { return embedding(in[0], in[1]); };
  t.add("embedding", "repeated ids", {t.normal({4, 3}), ids({2, 0, 2, 2, 3}, {5})}, lookup);
  t.add("embedding", "two axes of ids", {t.normal({4, 3}), ids({2, 0, 2, 1, 3, 3}, {2, 3})}, lookup);
  for (const Enumerator<ActivationKind>& activation : enumerators<ActivationKind>()) {
    const ActivationKind kind = activation.value;
    const std::int64_t parts = is_gated(kind) ? 2 : 1;
    const Table::Name name("feed_forward", is_gated(kind) ? activation.name : "");
    t.add(name, activation.name + ", biases",
          {t.normal({3, 4}), t.normal({parts * 6, 4}), t.normal({parts * 6}), t.normal({5, 6}), t.normal({5})},
          [kind](Inputs in) {
            return feed_forward(in[0], {in[1], in[2], in[3], in[4]}, kind);
          });
    t.add(name, activation.name + ", no biases", {t.normal({2, 2, 3}), t.normal({parts * 5, 3}), t.normal({3, 5})},
          [kind](Inputs in) {
            return feed_forward(in[0], {in[1], Variable(), in[2], Variable()}, kind);
          });
  }

  // A row that is expanded along its only axis has no variance. With a small eps its output would be rounding errors
  // times 1/√eps, which finite differences cannot resolve.
  constexpr double kEps = 0.1;
  const auto norm = [](Inputs in) { return layer_norm(in[0], in[1], in.size() > 2 ? in[2] : Variable(), kEps); };
  t.add("layer_norm", "beta", {t.normal({3, 5}), t.normal({5}), t.normal({5})}, norm);
  t.add("layer_norm", "no beta", {t.normal({2, 2, 4}), t.normal({4})}, norm);
  t.add("layer_norm", "one vector", {t.normal({4}), t.normal({4}), t.normal({4})}, norm);
  const auto rms = [](Inputs in) { return rms_norm(in[0], in[1], 1e-5); };
  t.add("rms_norm", "", {t.normal({2, 2, 4}), t.normal({4})}, rms);
  t.add("rms_norm", "one vector", {t.normal({4}), t.normal({4})}, rms);
}

void add_attention(Table& t) {
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
void add_head_transforms(Table& t) {
  // The transform of heads d wide; its table of rotations has the dtype of x.
  const auto transform = [](const Variable& x, std::int64_t d, RotaryPairs pairs, const Tensor& positions) {
    return HeadTransform{.norm_eps = 0.1,
                         .rotation = {rotation_table(2, 3, d, 50, x.value().dtype()), positions, pairs}};
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

void add_recurrent(Table& t) {
  constexpr std::int64_t kSteps = 3, kBatch = 2, kSize = 2;
  // All states, so that gradients come from every time and from the cells too.
  const auto layer = [](const RecurrentOptions& options) {
    return [options](Inputs in) {
      const bool lstm = options.cell == CellKind::lstm;
      const auto [h, c] = recurrent(in[0], in[1], lstm ? in[4] : Variable(), in[2], in[3], options);
      return lstm ? concat(std::array{h, c}, -1) : h;
    };
  };
  for (const Enumerator<CellKind>& cell : enumerators<CellKind>()) {
    const CellKind kind = cell.value;
    const std::string name = kind == CellKind::tanh ? "rnn_tanh" : cell.name;
    const std::int64_t gates = kSize * (kind == CellKind::lstm ? 4 : kind == CellKind::gru ? 3 : 1);
    const auto row = [&](const std::string& label, RecurrentOptions options) {
      options.cell = kind;
      std::vector<Tensor> inputs{t.normal({kSteps, kBatch, gates}), t.normal({kBatch, kSize}), t.normal({gates, kSize}),
                                 t.normal({gates})};
      if (kind == CellKind::lstm) inputs.push_back(t.normal({kBatch, kSize}));
      t.add({"recurrent", name}, cell.name + label, std::move(inputs), layer(options));
    };
    row("", {});
    row(", reverse", {.reverse = true});
    row(", lengths", {.lengths = ids({2, 0}, {2})});
    row(", reverse, lengths", {.reverse = true, .lengths = ids({1, 3}, {2})});
    t.add({"recurrent", name}, cell.name + ", from zero, no bias",
          {t.normal({kSteps, kBatch, gates}), t.normal({gates, kSize})},
          [kind](Inputs in) { return recurrent(in[0], {}, {}, in[1], {}, {.cell = kind}).h; });
  }
}

void add_losses(Table& t) {
  const Tensor targets = ids({1, 0, -1, 4}, {4});
  const std::pair<const char*, CrossEntropyOptions> options[] = {
      {"ignored target", {}},
      {"smoothing", {.smoothing = 0.1}},
      {"normalizer", {.normalizer = 2.5}},
      {"smoothing, normalizer", {.smoothing = 0.3, .normalizer = 7}},
      {"smoothing, deferred", {.smoothing = 0.1, .deferred = true}},
      {"z_loss", {.z_loss = 0.2}},
      {"z_loss, smoothing, normalizer, deferred", {.smoothing = 0.1, .z_loss = 0.2, .normalizer = 7, .deferred = true}},
  };
  for (const auto& [label, option] : options) {
    t.add("cross_entropy", label, {t.normal({4, 5}), targets},
          [option = option](Inputs in) { return cross_entropy(in[0], in[1], option); });
    t.add("linear_cross_entropy", std::string("bias, ") + label,
          {t.normal({4, 3}), t.normal({5, 3}), t.normal({5}), targets},
          [option = option](Inputs in) { return linear_cross_entropy(in[0], in[1], in[2], in[3], option); });
    t.add("linear_cross_entropy", std::string("capped, ") + label,
          {t.normal({4, 3}), t.normal({5, 3}), t.normal({5}), targets},
          [option = option](Inputs in) { return linear_cross_entropy(in[0], in[1], in[2], in[3], option, 1.3); });
    t.add("linear_cross_entropy", std::string("no bias, ") + label, {t.normal({4, 3}), t.normal({5, 3}), targets},
          [option = option](Inputs in) { return linear_cross_entropy(in[0], in[1], Variable(), in[2], option); });
  }
  t.add("linear_cross_entropy", "as many rows as words", {t.normal({3, 2}), t.normal({3, 2}), ids({2, 0, 1}, {3})},
        [](Inputs in) { return linear_cross_entropy(in[0], in[1], Variable(), in[2], {}); });
}

// Hooks that leave the gradient, and one that returns a copy of it.
void add_hooks(Table& t) {
  t.add("hook_gradient", "", {t.normal({2, 3})},
        [](Inputs in) { return hook_gradient(in[0], [](const Tensor&) { return Tensor(); }); });
  t.add("hook_gradient", "of a value in use elsewhere", {t.normal({2, 3})}, [](Inputs in) {
    const Variable x = exp(in[0]);
    return mul(hook_gradient(x, [](const Tensor& gradient) { return gradient.clone(); }), x);
  });
}

void add_recompute(Table& t) {
  using Function = std::function<Variable(const Variable&)>;
  const auto layer = [](const Variable& weight) -> Function {
    return [weight](const Variable& x) { return tanh(linear(dropout(x, 0.3), weight, {})); };
  };
  t.add("recompute", "", {t.normal({2, 3}), t.normal({3, 3})},
        [layer](Inputs in) { return recompute(layer(in[1]), in[0]); });
  t.add("recompute", "between other uses of its inputs", {t.normal({2, 3}), t.normal({3, 3})}, [layer](Inputs in) {
    const Variable x = layer(in[1])(in[0]);
    return mul(layer(in[1])(recompute(layer(in[1]), x)), x);
  });
  t.add("recompute", "of a constant", {t.normal({3, 3})}, [layer, x = t.normal({2, 3})](Inputs in) {
    return recompute(layer(in[0]), Variable::constant(*in[0].tape(), x));
  });
  t.add("recompute", "nested", {t.normal({2, 3}), t.normal({3, 3})}, [layer](Inputs in) {
    const Function inner = layer(in[1]);
    return recompute([inner](const Variable& x) { return add(inner(recompute(inner, x)), x); }, in[0]);
  });
}

// Packed heads whose values are wider or narrower than their keys.
void add_value_widths(Table& t) {
  t.add({"packed_self_attention", "self_attention"}, "grouped heads, wider values", {t.normal({2, 3, 14})},
        [](Inputs in) {
          return packed_self_attention(in[0], {4, 1, 4}, {.causal = true});
        });
  t.add({"packed_cross_attention", "cross_attention"}, "narrower values", {t.normal({2, 2, 6}), t.normal({2, 3, 8})},
        [](Inputs in) {
          return packed_cross_attention(in[0], in[1], {2, 2, 1}, {});
        });
}

}  // namespace

std::vector<OpCase> op_cases() {
  Table table;
  add_arithmetic(table);
  add_views(table);
  add_reductions(table);
  add_functions(table);
  add_products(table);
  add_layers(table);
  add_attention(table);
  add_head_transforms(table);
  add_recurrent(table);
  add_losses(table);
  add_recompute(table);
  add_value_widths(table);
  add_hooks(table);
  return std::move(table.rows);
}

}  // namespace tapeformer
