// Classifiers on the vectors of text encoders, and parameters that learn at rates of their own.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/ops/losses/losses.h"
#include "autograd/tape/tape.h"
#include "nn/interfaces/encoder_for_classification.h"
#include "nn/models/bert.h"
#include "nn/models/gpt.h"
#include "nn/module/layer_name.h"
#include "nn/optim/optimizers.h"
#include "tasks/common/models.h"

using namespace tapeformer;

namespace {

std::unique_ptr<Model> small_bert() {
  BertConfig config{.vocab = 11, .context = 8, .layers = 2, .block = {}};
  config.block.dim = 8, config.block.heads = 2, config.block.ff_dim = 16;
  config.block.init = Init::normal(0.3);
  return std::make_unique<Bert>(config);
}

std::unique_ptr<Model> gpt_encoder() {
  GptConfig config{.vocab = 11, .context = 8, .layers = 2, .block = {}};
  config.block.dim = 8, config.block.heads = 2, config.block.ff_dim = 16;
  config.block.init = Init::normal(0.3);
  return std::make_unique<Gpt>(config);
}

Tensor ints(const std::vector<std::int32_t>& values, const Dims& sizes) {
  return Tensor::from(std::span<const std::int32_t>(values), sizes);
}

// The logits of three tokens of two rows, of which the second one has two tokens.
Variable logits_of(Tape& tape, const EncoderForClassification& model, std::int32_t padding = 0) {
  const Batch rows{.input_ids = Variable::constant(tape, ints({1, 2, 3, 4, 5, padding}, {2, 3})),
                   .lengths = ints({3, 2}, {2})};
  return model.logits(rows, ints({0, 2, 4}, {3}));
}

void add_gradients(const EncoderForClassification& model) {
  Tape tape({.training = true});
  tape.backward(cross_entropy(logits_of(tape, model), Variable::constant(tape, ints({0, 1, 2}, {3})), {}));
}

}  // namespace

TEST_CASE("encoder for classification: the encoder's parameters keep their names and come first, in bert and in gpt") {
  for (auto* make : {small_bert, gpt_encoder}) {
    const auto encoder = make();
    const std::vector<NamedParameter> names = encoder->named_parameters();
    const EncoderForClassification model(make(), {.labels = 3, .pooled = true, .mix = true});
    const std::vector<NamedParameter> all = model.named_parameters();
    REQUIRE(all.size() == names.size() + 6);
    for (std::size_t i = 0; i < names.size(); ++i) CHECK(all[i].name == names[i].name);
    CHECK(all[names.size()].name == "task.mix.weight");
    CHECK(all.back().name == "task.output.bias");
  }
}

TEST_CASE("encoder for classification: padding changes no logit, and a row's logits are those that it has alone") {
  for (auto* make : {small_bert, gpt_encoder}) {
    const EncoderForClassification model(make(), {.labels = 3, .mix = true});
    model.initialize_parameters(1);
    Tape tape(no_grad);
    const std::vector<float> both = logits_of(tape, model).value().to_vector<float>();
    CHECK(logits_of(tape, model, 9).value().to_vector<float>() == both);
    const Batch alone{.input_ids = Variable::constant(tape, ints({4, 5}, {1, 2}))};
    const std::vector<float> row = model.logits(alone, ints({1}, {1})).value().to_vector<float>();
    for (int i = 0; i < 3; ++i) CHECK(row[i] == doctest::Approx(both[6 + i]).epsilon(1e-5));
  }
}

TEST_CASE(
    "encoder for classification: a frozen encoder gets no gradient, and the classifier gets that of one that is not "
    "frozen") {
  const EncoderForClassification frozen(small_bert(), {.labels = 3, .freeze = true}), free(small_bert(), {.labels = 3});
  for (const EncoderForClassification* model : {&frozen, &free}) {
    model->initialize_parameters(1);
    add_gradients(*model);
  }
  const std::vector<NamedParameter> a = frozen.named_parameters(), b = free.named_parameters();
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(a[i].name);
    if (!a[i].name.starts_with("task.")) {
      CHECK_FALSE(a[i].variable.grad().defined());
      CHECK(frozen.rates(1)(a[i].name) == 0);
      continue;
    }
    CHECK(a[i].variable.grad().to_vector<float>() == b[i].variable.grad().to_vector<float>());
    CHECK(frozen.rates(1)(a[i].name) == 1);
  }
}

TEST_CASE("encoder for classification: rates fall from layer to layer, down to the embeddings") {
  const EncoderForClassification model(gpt_encoder(), {.labels = 3});
  const ParameterRates rates = model.rates(0.5);
  CHECK(rates("task.output.weight") == 1);
  CHECK(rates("final_norm.weight") == 1);
  CHECK(rates("blocks.1.attention.qkv.weight") == 1);
  CHECK(rates("blocks.0.attention.qkv.weight") == 0.5);
  CHECK(rates("position_embedding.weight") == 0.25);
  CHECK(rates("token_embedding.weight") == 0.25);
}

TEST_CASE("encoder for classification: what learns is what a gradient reaches, in every family") {
  for (const ModelFamily& family : model_families()) {
    if (!family.reads_text()) continue;
    for (const bool mix : {false, true}) {
      CAPTURE(family.name);
      CAPTURE(mix);
      Config config;
      config.model.type = family.name;
      const auto set = [&](const char* key, const KeyValue& value) {
        if (std::ranges::count(family.keys, key, &Key::name)) config.model.options[key] = value;
      };
      set("dim", std::int64_t{8}), set("layers", std::int64_t{2}), set("heads", std::int64_t{2});
      set("tie_embeddings", std::string("none")), set("segments", std::int64_t{2}), set("next_sentence", true);
      set("embedding_dim", std::int64_t{8}), set("direct", !mix);
      const ModelVocabulary vocabulary{.source = 11, .target = 11};
      const EncoderForClassification model(make_model_with_heads(resolve(config), vocabulary),
                                           {.labels = 3, .mix = mix});
      model.initialize_parameters(1);
      add_gradients(model);
      const ParameterRates rates = model.rates(0.5);
      std::int64_t learning = 0;
      for (const NamedParameter& parameter : model.named_parameters()) {
        CAPTURE(parameter.name);
        CHECK((rates(parameter.name) > 0) == parameter.variable.grad().defined());
        learning += rates(parameter.name) > 0;
      }
      CHECK(learning > 2);
    }
  }
}

TEST_CASE("optimizer: a parameter's rate multiplies its learning rate, and rate 0 leaves it out of the slab") {
  for (const char* name : {"adamw", "adam", "sgd"}) {
    CAPTURE(name);
    // One step each: all at the rate ¼ of lr 1, and some at ½ of lr ½.
    const auto step = [&](double lr, const ParameterRates& rates) {
      EncoderForClassification model(small_bert(), {.labels = 3});
      model.initialize_parameters(1);
      const ParameterSlab slab(model, rates);
      const auto optimizer = make_optimizer(name, slab, {{"weight_decay", 0.1}});
      slab.zero_grad();
      add_gradients(model);
      optimizer->step(lr, 1);
      std::map<std::string, std::vector<float>> values;
      for (const NamedParameter& p : model.named_parameters()) values[p.name] = p.variable.value().to_vector<float>();
      return values;
    };
    const auto half = step(0.5, {}), still = step(0, {});
    const auto some = step(1, [](std::string_view parameter) {
      return parameter.starts_with("task.") ? 1 : parameter.starts_with("blocks.") ? 0.5 : 0.0;
    });
    const auto whole = step(1, {});
    for (const auto& [name_of_parameter, values] : some) {
      const std::string& parameter = name_of_parameter;
      CAPTURE(parameter);
      const auto& expected = parameter.starts_with("task.") ? whole : parameter.starts_with("blocks.") ? half : still;
      CHECK(values == expected.at(parameter));
    }
    CHECK(half.at("task.output.weight") != whole.at("task.output.weight"));
  }
}

TEST_CASE("layer names: the first number in the name of a parameter") {
  CHECK(layer_name("blocks.3.attention.qkv.weight") == "blocks.3");
  CHECK(layer_name("encoder.layers.12.w2") == "encoder.layers.12");
  CHECK(layer_name("7") == "7");
  CHECK(layer_name("w2.weight").empty());
  CHECK(layer_number("encoder.layers.12.w2.0") == 12);
  CHECK_FALSE(layer_number("head.weight").has_value());
}
