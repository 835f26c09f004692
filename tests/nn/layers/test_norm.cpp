// The norms that a block may use, and blocks that use them.
#include "nn/layers/norm.h"

#include "autograd/ops/ops.h"
#include "autograd/tensor/allocator.h"
#include "tests/nn/support.h"

using namespace tapeformer;

namespace {

BlockConfig rms_config(NormPlace place) {
  return {.dim = 8, .heads = 2, .ff_dim = 12, .norm = place, .norm_kind = NormKind::rms, .dtype = DType::f64};
}

Tensor random(const Dims& sizes, std::uint64_t seed) {
  const Tensor tensor = Tensor::empty(sizes, DType::f64);
  initialize(tensor, Init::normal(1), RandomKey{.seed = seed});
  return tensor;
}

Variable rms(const Variable& x, const Variable& gamma) {
  return mul(div(x, sqrt(add_scalar(mean(mul(x, x), -1, true), 1e-5))), gamma);
}

}  // namespace

TEST_CASE("norm: RMSNorm is a gain of ones times x over its root mean square") {
  BlockConfig config = rms_config(NormPlace::pre);
  const std::unique_ptr<Norm> norm = make_norm(config);
  norm->initialize_parameters(1);
  REQUIRE(norm->named_parameters().size() == 1);
  CHECK(norm->named_parameters()[0].name == "weight");
  Tape tape;
  const Variable x = Variable::constant(tape, random({3, 8}, 1));
  const Variable ones = Variable::constant(tape, Tensor::full({8}, DType::f64, 1));
  CHECK(distance(norm->forward(x).value(), rms(x, ones).value()) < 1e-14);
  config.norm_kind = NormKind::layer;
  CHECK(make_norm(config)->named_parameters().size() == 2);
}

TEST_CASE("norm: a block with RMSNorm is its formula, before or after each sublayer") {
  for (NormPlace place : {NormPlace::pre, NormPlace::post}) {
    const BlockConfig config = rms_config(place);
    const Block block(config);
    randomize(block);
    const MultiHeadAttention attention(config);
    const FeedForward feed_forward(config);
    std::map<std::string, Tensor> attention_state, feed_forward_state;
    std::map<std::string, Variable> gains;
    for (const NamedParameter& parameter : block.named_parameters()) {
      const std::string& name = parameter.name;
      const auto strip = [&](const std::string& prefix) { return name.substr(prefix.size()); };
      if (name.starts_with("attention.")) attention_state.emplace(strip("attention."), parameter.variable.value());
      if (name.starts_with("feed_forward."))
        feed_forward_state.emplace(strip("feed_forward."), parameter.variable.value());
      if (name.find("norm") != std::string::npos) gains.emplace(name, parameter.variable);
    }
    attention.load_state_dict(attention_state);
    feed_forward.load_state_dict(feed_forward_state);
    REQUIRE(gains.size() == 2);

    Tape tape;
    const Variable first = gains.at("attention_norm.weight").on(tape),
                   second = gains.at("feed_forward_norm.weight").on(tape);
    const Variable x = Variable::constant(tape, random({2, 5, 8}, 1));
    const bool pre = place == NormPlace::pre;
    const Variable middle = pre ? add(x, attention.forward(rms(x, first))) : rms(add(x, attention.forward(x)), first);
    const Variable expected = pre ? add(middle, feed_forward.forward(rms(middle, second)))
                                  : rms(add(middle, feed_forward.forward(middle)), second);
    CHECK(distance(block.forward(x).value(), expected.value()) < 1e-13);

    const Tensor dy = random({2, 5, 8}, 2);
    tape.backward(expected, dy);
    Gradients by_formula;
    for (const auto& [name, gain] : gains) by_formula.emplace(name, gain.grad().clone());
    block.zero_grad();
    Tape again;
    again.backward(block.forward(Variable::constant(again, x.value())), dy);
    for (const auto& [name, gain] : gains) CHECK(distance(gain.grad(), by_formula.at(name)) < 1e-12);
  }
}

TEST_CASE("norm: a GPT with RMSNorm keeps as little for backward as with LayerNorm, and learns") {
  const auto peak = [](NormKind kind) {
    GptConfig config = small_gpt(DType::f32);
    config.context = 64, config.layers = 3;
    config.block.dim = 64, config.block.ff_dim = 256, config.block.norm_kind = kind;
    const Gpt model(config);
    model.initialize_parameters(1);
    const Tensor ids = ids_tensor(random_ids(256, config.vocab, 1), {4, 64}),
                 targets = ids_tensor(random_ids(256, config.vocab, 2), {4, 64});
    add_gradients(model, ids, targets);
    reset_peak_memory();
    const std::int64_t before = memory_stats().in_use;
    const double loss = add_gradients(model, ids, targets);
    const std::int64_t bytes = memory_stats().peak - before;
    for (const NamedParameter& parameter : model.named_parameters()) {
      const Tensor value = parameter.variable.value(), gradient = parameter.variable.grad();
      for (std::int64_t i = 0; i < value.numel(); ++i) value.data<float>()[i] -= 0.1F * gradient.data<float>()[i];
    }
    CHECK(add_gradients(model, ids, targets) < loss);
    return bytes;
  };
  CHECK(peak(NormKind::rms) <= peak(NormKind::layer));
}
