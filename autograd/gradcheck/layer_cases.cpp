#include <array>
#include <utility>

#include "autograd/gradcheck/enumerators.h"
#include "autograd/gradcheck/op_table.h"
#include "autograd/ops/ops.h"

namespace tapeformer {

void add_products(OpTable& t) {
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
  const auto adapted = [](std::vector<LoraPart> parts) {
    return [parts](Inputs in) {
      const bool bias = in.size() > 5;
      return lora_linear(in[0], in[1], bias ? in[5] : Variable(), in[2], {in[3], in[4], parts, 0.7});
    };
  };
  t.add("lora_linear", "bias",
        {t.normal({3, 4}), t.normal({5, 4}), t.normal({3, 4}), t.normal({2, 4}), t.normal({5, 2}), t.normal({5})},
        adapted({{0, 5}}));
  t.add("lora_linear", "two parts of three",
        {t.normal({2, 2, 3}), t.normal({6, 3}), t.normal({2, 2, 3}), t.normal({4, 3}), t.normal({3, 2})},
        adapted({{0, 2}, {5, 1}}));
}

void add_layers(OpTable& t) {
  const auto lookup = [](Inputs in) { return embedding(in[0], in[1]); };
  t.add("embedding", "repeated ids", {t.normal({4, 3}), ids({2, 0, 2, 2, 3}, {5})}, lookup);
  t.add("embedding", "two axes of ids", {t.normal({4, 3}), ids({2, 0, 2, 1, 3, 3}, {2, 3})}, lookup);
  for (const Enumerator<ActivationKind>& activation : enumerators<ActivationKind>()) {
    const ActivationKind kind = activation.value;
    const std::int64_t parts = is_gated(kind) ? 2 : 1;
    const OpTable::Name name("feed_forward", is_gated(kind) ? activation.name : "");
    t.add(name, activation.name + ", biases",
          {t.normal({3, 4}), t.normal({parts * 6, 4}), t.normal({parts * 6}), t.normal({5, 6}), t.normal({5})},
          [kind](Inputs in) {
            return feed_forward(in[0], {in[1], in[2], in[3], in[4]}, kind);
          });
    t.add(name, activation.name + ", no biases", {t.normal({2, 2, 3}), t.normal({parts * 5, 3}), t.normal({3, 5})},
          [kind](Inputs in) {
            return feed_forward(in[0], {in[1], Variable(), in[2], Variable()}, kind);
          });
    t.add("activate", activation.name, {t.normal({2, 3, parts * 2})},
          [kind](Inputs in) { return activate(in[0], kind); });
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
  // Each call begins with the same running statistics. Few tokens have little variance, so that eps is large.
  const auto batch = [](const Tensor& lengths) {
    return [lengths](Inputs in) {
      const Dims& sizes = in[1].sizes();
      const RunningStatistics running{Tensor::zeros(sizes, in[0].dtype()), Tensor::full(sizes, in[0].dtype(), 1)};
      return batch_norm(in[0], in[1], in.size() > 2 ? in[2] : Variable(), running, 0.1, lengths);
    };
  };
  t.add("batch_norm", "beta", {t.normal({5, 3}), t.normal({3}), t.normal({3})}, batch({}));
  t.add("batch_norm", "no beta, lengths", {t.normal({2, 3, 2}), t.normal({2})}, batch(ids({3, 1}, {2})));
}

// Windows that overlap, that touch, that leave pixels out, and that reach over the edges.
void add_convolutions(OpTable& t) {
  const std::pair<const char*, WindowOptions2d> all[] = {{"overlapping", {3, 1, 0}},
                                                         {"padded", {3, 1, 1}},
                                                         {"apart", {1, 2, 0}},
                                                         {"stride 2, padded", {3, 2, 1}},
                                                         {"touching", {2, 2, 0}}};
  for (const auto& [label, windows] : all) {
    const std::int64_t k = windows.kernel;
    const ConvolutionOptions options{windows.stride, windows.padding};
    t.add("unfold", label, {t.normal({2, 2, 4, 5})}, [w = windows](Inputs in) { return unfold(in[0], w); });
    t.add({"linear", "conv2d"}, label, {t.normal({2, 2, 4, 5}), t.normal({3, 2, k, k}), t.normal({3})},
          [options](Inputs in) { return conv2d(in[0], in[1], in[2], options); });
    t.add("max_pool2d", label, {t.distinct({2, 2, 4, 5})}, [w = windows](Inputs in) { return max_pool2d(in[0], w); });
  }
  t.add({"linear", "conv2d"}, "no bias", {t.normal({1, 2, 3, 3}), t.normal({2, 2, 3, 3})},
        [](Inputs in) { return conv2d(in[0], in[1], Variable()); });
}

void add_recurrent(OpTable& t) {
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

void add_losses(OpTable& t) {
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

}  // namespace tapeformer
