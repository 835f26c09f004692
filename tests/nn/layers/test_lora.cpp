// Adapters of low rank: what they compute, their gradients, and what they can learn.
#include "nn/layers/lora.h"

#include "autograd/kernels/gemm/precision.h"
#include "autograd/ops/ops.h"
#include "nn/attention/head_ablation.h"
#include "nn/optim/optimizers.h"
#include "nn/optim/parameter_slab.h"
#include "tests/nn/family_support.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

const LoraOptions kAdapters{.rank = 2, .alpha = 6};

std::set<std::string> adapter_names(const Module& model) {
  std::set<std::string> names;
  for (const NamedParameter& parameter : model.named_parameters()) {
    CHECK(parameter.variable.requires_grad() == is_adapter(parameter.name));
    if (is_adapter(parameter.name)) names.insert(parameter.name);
  }
  return names;
}

}  // namespace

TEST_CASE("lora: adapters change nothing at first, and merged with the weights they compute the same") {
  for (const GptConfig& config : {small_gpt(), modern_gpt()}) {
    Gpt model(config);
    randomize(model);
    const Tensor ids = ids_tensor(random_ids(24, config.vocab, 1), {2, 12});
    const Tensor before = logits_of(model, ids);
    add_adapters(model, kAdapters);
    for (const NamedParameter& parameter : model.named_parameters()) {
      if (is_adapter(parameter.name)) initialize(parameter.variable.value(), parameter.init, {.seed = 3});
    }
    CHECK(same_bits(logits_of(model, ids), before));
    for (const NamedParameter& parameter : model.named_parameters()) {
      if (is_adapter(parameter.name)) initialize(parameter.variable.value(), Init::normal(0.3), {.seed = 4});
    }
    const Tensor adapted = logits_of(model, ids);
    CHECK(distance(adapted, before) > 1e-3);
    const std::map<std::string, Tensor> names = Gpt(config).state_dict();
    merge_adapters(model);
    CHECK(model.state_dict().size() == names.size());
    CHECK(distance(logits_of(model, ids), adapted) < 1e-12);
  }
}

TEST_CASE("lora: gradients match finite differences, and frozen weights have none") {
  for (const std::vector<std::string>& targets :
       {std::vector<std::string>{}, std::vector<std::string>{"q", "v", "down", "up"}}) {
    Gpt model(modern_gpt());
    add_adapters(model, {.rank = 2, .alpha = 6, .targets = targets});
    randomize(model);
    const Tensor ids = ids_tensor(random_ids(24, 17, 1), {2, 12}),
                 expected = ids_tensor(random_ids(24, 17, 2), {2, 12});
    add_gradients(model, ids, expected);
    const Gradients gradients = gradients_of(model);
    CHECK(gradients.size() == adapter_names(model).size());
    check_gradients(model, gradients, [&] {
      Tape tape(no_grad);
      return model.loss(Variable::constant(tape, ids), Variable::constant(tape, expected), {}).value().item();
    });
  }
}

TEST_CASE("lora: with products in bf16, frozen weights in bf16 give the same loss and gradients to the bit") {
  GptConfig config = modern_gpt();
  config.block.dtype = DType::f32;
  Gpt model(config);
  add_adapters(model, {.rank = 2, .targets = {"qkv", "down"}});
  randomize(model);
  const Tensor ids = ids_tensor(random_ids(24, 17, 1), {2, 12}), expected = ids_tensor(random_ids(24, 17, 2), {2, 12});
  const kernels::MatmulPrecisionScope medium(kernels::MatmulPrecision::medium);
  add_gradients(model, ids, expected);
  const Gradients before = gradients_of(model);
  const Tensor logits = logits_of(model, ids);
  model.zero_grad();
  round_frozen_weights(model);
  int rounded = 0;
  for (const NamedParameter& parameter : model.named_parameters()) rounded += parameter.variable.dtype() == DType::bf16;
  CHECK(rounded == 4 * config.layers);
  add_gradients(model, ids, expected);
  CHECK(same_bits(logits_of(model, ids), logits));
  for (const auto& entry : gradients_of(model)) {
    CHECK_MESSAGE(same_bits(entry.second, before.at(entry.first)), entry.first);
  }
}

TEST_CASE("lora: targets are layers, or matrices that a layer stacks") {
  const auto shapes = [](const std::vector<std::string>& targets) {
    const auto model = model_of<CausalModel>("gpt", {{"layers", std::int64_t{1}},
                                                     {"dim", std::int64_t{8}},
                                                     {"heads", std::int64_t{2}},
                                                     {"activation", std::string("swiglu")},
                                                     {"ff_dim", std::int64_t{12}}});
    add_adapters(*model, {.rank = 3, .targets = targets});
    std::map<std::string, Dims> sizes;
    for (const NamedParameter& parameter : model->named_parameters()) {
      if (is_adapter(parameter.name)) sizes.emplace(parameter.name, parameter.variable.sizes());
    }
    return sizes;
  };
  const std::string block = "blocks.0.";
  CHECK(shapes({"qkv"}) == std::map<std::string, Dims>{{block + "attention.qkv.lora_a", {9, 8}},
                                                       {block + "attention.qkv.lora_b", {24, 3}}});
  CHECK(shapes({"v", "q"}) == std::map<std::string, Dims>{{block + "attention.qkv.lora_a", {6, 8}},
                                                          {block + "attention.qkv.lora_b", {16, 3}}});
  CHECK(shapes({"up", "down"}) == std::map<std::string, Dims>{{block + "feed_forward.gate_up.lora_a", {3, 8}},
                                                              {block + "feed_forward.gate_up.lora_b", {12, 3}},
                                                              {block + "feed_forward.down.lora_a", {3, 12}},
                                                              {block + "feed_forward.down.lora_b", {8, 3}}});
  CHECK(shapes({}).size() == 8);
  CHECK_THROWS_WITH_AS(shapes({"q", "query"}),
                       "train.lora.targets: expected linear layers of the model (down, gate, gate_up, k, out, q, qkv, "
                       "up, v), got query",
                       UsageError);
  const auto recurrent = model_of<CausalModel>("rnn", {{"dim", std::int64_t{8}}});
  CHECK_THROWS_WITH_AS(add_adapters(*recurrent, kAdapters),
                       "train.lora.rank: expected 0 for a model without linear layers, got 2", UsageError);
}

TEST_CASE("lora: a head that is removed adds nothing, by its adapter neither") {
  Gpt model(small_gpt());
  add_adapters(model, kAdapters);
  randomize(model);
  const Tensor ids = ids_tensor(random_ids(12, 17, 1), {1, 12});
  remove_heads(model, std::array{find_head(model, "0.1")});
  const Tensor removed = logits_of(model, ids);
  merge_adapters(model);
  remove_heads(model, std::array{find_head(model, "0.1")});
  CHECK(distance(logits_of(model, ids), removed) < 1e-12);
}

TEST_CASE("lora: adapters of full rank learn what full fine-tuning learns, and of a lower rank not") {
  constexpr std::int64_t kDim = 4;
  const auto normal = [](const Dims& sizes, std::uint64_t seed) {
    const Tensor tensor = Tensor::zeros(sizes, DType::f64);
    initialize(tensor, Init::normal(1), {.seed = seed});
    return tensor;
  };
  const Tensor x = normal({64, kDim}, 1), target = normal({kDim, kDim}, 2);
  const auto error_after = [&](std::int64_t rank) {
    Linear layer(kDim, kDim, false, Init::normal(0.5), DType::f64);
    add_adapters(layer, {.rank = rank, .alpha = static_cast<double>(std::max<std::int64_t>(rank, 1))});
    layer.initialize_parameters(3);
    const ParameterSlab slab(layer);
    const auto optimizer = make_optimizer("adam", slab, {{"weight_decay", 0.0}, {"clip", 0.0}});
    double loss = 0;
    for (int step = 1; step <= 1500; ++step) {
      Tape tape;
      slab.zero_grad();
      const Variable in = Variable::constant(tape, x);
      const Variable wanted = linear(in, Variable::constant(tape, target), {});
      const Variable error = mean(square(sub(layer.forward(in), wanted)));
      loss = error.value().item();
      tape.backward(error);
      slab.complete_gradients();
      optimizer->step(0.02 * (1 - step / 1501.0), step);
    }
    return loss;
  };
  CHECK(error_after(0) < 1e-6);  // all weights learn
  CHECK(error_after(kDim) < 1e-6);
  CHECK(error_after(1) > 0.1);
}
