// The switches of blocks and heads: value residual, zero initial weights, bounded logits. The architecture of
// switched_gpt() has them in the tests of caches, recomputation, documents and hooks too.
#include "autograd/ops/ops.h"
#include "tasks/masked_language_model/masked_language_model.h"
#include "tests/largest_difference.h"
#include "tests/nn/family_support.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

constexpr std::int64_t kWidth = 16;

}  // namespace

TEST_CASE("switches: a value residual mixes the first layer's values in as elementary ops do") {
  BlockConfig config{.dim = 8, .heads = 4, .kv_heads = 2, .value_residual = true, .dtype = DType::f64};
  const MultiHeadAttention attention(config);
  randomize(attention);
  const Tensor x = Tensor::empty({2, 5, 8}, DType::f64), first = Tensor::empty({2, 5, 4}, DType::f64);
  initialize(x, Init::normal(1), RandomKey{.seed = 5});
  initialize(first, Init::normal(1), RandomKey{.seed = 6});
  // Returns the output, and the gradients of all inputs and parameters of Σ output².
  const auto run = [&](const auto& forward) {
    attention.zero_grad();
    const Variable in = Variable::parameter(x.clone()), values = Variable::parameter(first.clone());
    Tape tape;
    const Variable y = forward(in.on(tape), values.on(tape));
    tape.backward(sum(square(y)));
    Gradients all = gradients_of(attention);
    all.emplace("x", in.grad().clone()), all.emplace("first", values.grad().clone());
    all.emplace("output", y.value().clone());
    return all;
  };
  const Gradients fused = run([&](const Variable& in, const Variable& values) {
    return attention.forward(in, {}, nullptr, {}, {.values = values});
  });
  const Gradients twin = run([&](const Variable& in, const Variable& values) {
    const Variable packed = attention.qkv.forward(in), share = attention.value_mix.on(*in.tape());
    const auto heads = [](const Variable& rows, std::int64_t count) {
      return transpose(reshape(rows, {2, 5, count, 2}), 1, 2);
    };
    const Variable v = add(mul(slice(packed, 2, 12, 16), share), mul(values, add_scalar(neg(share), 1)));
    const Variable read = scaled_dot_product_attention(
        heads(slice(packed, 2, 0, 8), 4), heads(slice(packed, 2, 8, 12), 2), heads(v, 2), {.causal = true});
    return attention.out.forward(reshape(transpose(read, 1, 2), {2, 5, 8}));
  });
  CHECK(fused.contains("value_mix"));
  CHECK(distance(fused, twin) < 1e-12);
}

TEST_CASE("switches: every layer but the first has a share of its values, which begins at one half") {
  const auto model = model_of<CausalModel>("gpt", {{"layers", std::int64_t{3}}, {"value_residual", true}});
  const auto weights = model->state_dict();
  CHECK_FALSE(weights.contains("blocks.0.attention.value_mix"));
  CHECK(weights.contains("blocks.1.attention.value_mix"));
  model->initialize_parameters(1);
  CHECK(weights.at("blocks.2.attention.value_mix").to_vector<float>() == std::vector<float>{0.5F});

  // With a share of 1 for its own values it is the model without a value residual.
  GptConfig config = switched_gpt();
  const Gpt mixed(config);
  randomize(mixed);
  config.block.value_residual = false;
  const Gpt plain(config);
  auto state = mixed.state_dict();
  std::erase_if(state, [](const auto& entry) { return entry.first.ends_with("value_mix"); });
  plain.load_state_dict(state);
  const Tensor ids = ids_tensor(random_ids(24, 17, 1), {2, 12});
  CHECK(distance(logits_of(mixed, ids), logits_of(plain, ids)) > 1e-3);
  for (const std::int64_t layer : {1, 2})
    mixed.state_dict().at(str_cat("blocks.", layer, ".attention.value_mix")).fill(1);
  CHECK(distance(logits_of(mixed, ids), logits_of(plain, ids)) < 1e-12);
}

TEST_CASE("switches: zero_init leaves the residual stream as it is at first, and the other weights as without it") {
  for (const char* family : {"gpt", "transformer", "bert"}) {
    CAPTURE(family);
    const auto plain = model_of<Module>(family, {{"dim", kWidth}}),
               zero = model_of<Module>(family, {{"dim", kWidth}, {"zero_init", true}});
    plain->initialize_parameters(1), zero->initialize_parameters(1);
    const auto expected = plain->state_dict();
    int zeros = 0;
    for (const auto& entry : zero->state_dict()) {
      const std::string& name = entry.first;
      const Tensor& tensor = entry.second;
      CAPTURE(name);
      if (name.ends_with("attention.out.weight") || name.ends_with("feed_forward.down.weight")) {
        CHECK(std::ranges::all_of(tensor.to_vector<float>(), [](float value) { return value == 0; }));
        ++zeros;
      } else {
        CHECK(same_bits(tensor, expected.at(name)));
      }
    }
    CHECK(zeros == (std::string(family) == "transformer" ? 4 * 2 + 4 * 3 : 4 * 2));
  }
}

TEST_CASE("switches: bounded logits are c tanh(z / c) in predictions and in the loss of every family") {
  const double cap = 0.5;
  const auto bounded = [&](const Tensor& z, const Tensor& capped) {
    std::vector<double> expected = values_of(z);
    for (double& value : expected) value = cap * std::tanh(value / cap);
    return largest_difference(values_of(capped), expected) < 1e-6;
  };
  const auto check_family = [&](auto& plain, auto& capped, const auto& logits, const auto& loss) {
    randomize(plain), randomize(capped);
    Tape tape(no_grad);
    const Variable z = logits(tape, plain), y = logits(tape, capped);
    CHECK(bounded(z.value(), y.value()));
    CHECK(loss(tape, capped).value().item() ==
          doctest::Approx(loss_of_logits(y, Tensor::full({4}, DType::i32, 3), {}).value().item()));
    CHECK(loss(tape, capped).value().item() != doctest::Approx(loss(tape, plain).value().item()));
  };
  const Tensor ids = Tensor::from<std::int32_t>({1, 2, 3, 4}, {1, 4}), targets = Tensor::full({1, 4}, DType::i32, 3);
  {
    const auto plain = model_of<CausalModel>("gpt", {{"dim", kWidth}}),
               capped = model_of<CausalModel>("gpt", {{"dim", kWidth}, {"logit_softcap", cap}});
    check_family(
        *plain, *capped,
        [&](Tape& tape, const CausalModel& m) { return m.logits(m.forward(Variable::constant(tape, ids))); },
        [&](Tape& tape, const CausalModel& m) {
          return m.loss(Variable::constant(tape, ids), Variable::constant(tape, targets), {});
        });
  }
  {
    const SourceBatch source{ids, Tensor::full({1}, DType::i32, 4)};
    const auto plain = model_of<EncoderDecoder>("transformer", {{"dim", kWidth}}),
               capped = model_of<EncoderDecoder>("transformer", {{"dim", kWidth}, {"logit_softcap", cap}});
    check_family(
        *plain, *capped,
        [&](Tape& tape, const EncoderDecoder& m) {
          return m.logits(m.decode(Variable::constant(tape, ids), m.encode(tape, source)));
        },
        [&](Tape& tape, const EncoderDecoder& m) {
          return m.loss(source, Variable::constant(tape, ids), Variable::constant(tape, targets), {});
        });
  }
  const auto masked = [&](double softcap) {
    return MaskedLanguageModel(model_of<Model>("bert", {{"dim", kWidth}}), {.dim = kWidth, .heads = 4}, false, softcap);
  };
  MaskedLanguageModel plain = masked(0), capped = masked(cap);
  const auto features = [&](Tape& tape, const MaskedLanguageModel& m) {
    return m.features({.input_ids = Variable::constant(tape, ids)});
  };
  check_family(
      plain, capped, [&](Tape& tape, const MaskedLanguageModel& m) { return m.logits(features(tape, m)); },
      [&](Tape& tape, const MaskedLanguageModel& m) { return m.loss(features(tape, m), targets, {}); });
}
