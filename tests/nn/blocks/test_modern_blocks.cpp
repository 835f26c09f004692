// The blocks of today's language models: what the keys of a family make of a model.
#include "autograd/tensor/allocator.h"
#include "tests/long_test.h"
#include "tests/nn/family_support.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

std::vector<std::string> parameter_names(const Module& module) {
  std::vector<std::string> names;
  for (const NamedParameter& parameter : module.named_parameters()) names.push_back(parameter.name);
  return names;
}

}  // namespace

TEST_CASE("modern blocks: norm_kind = rms gives every block of a gpt and of a transformer norms without biases") {
  for (const char* family : {"gpt", "transformer"}) {
    CAPTURE(family);
    const auto layer = model_of<Module>(family, {{"norm_kind", std::string("layer")}, {"bias", true}}),
               rms = model_of<Module>(family, {{"norm_kind", std::string("rms")}, {"bias", true}});
    const auto norms = [](const Module& model, std::string_view end) {
      return std::ranges::count_if(parameter_names(model),
                                   [&](const std::string& name) { return name.ends_with(end); });
    };
    CHECK(norms(*layer, "_norm.bias") == norms(*layer, "_norm.weight"));
    CHECK(norms(*rms, "_norm.bias") == 0);
    CHECK(norms(*rms, "_norm.weight") == norms(*layer, "_norm.weight"));
    CHECK(norms(*rms, "qkv.bias") == norms(*layer, "qkv.bias"));
  }
}

TEST_CASE("modern blocks: kv_heads narrows the product of keys and values, and qk_norm adds a weight for each") {
  const auto gpt = model_of<Module>("gpt", {{"heads", std::int64_t{4}},
                                            {"dim", std::int64_t{64}},
                                            {"kv_heads", std::int64_t{2}},
                                            {"qk_norm", true},
                                            {"bias", true}})
                       ->state_dict();
  CHECK(gpt.at("blocks.0.attention.qkv.weight").sizes() == Dims{64 + 2 * 32, 64});
  CHECK(gpt.at("blocks.0.attention.qkv.bias").sizes() == Dims{64 + 2 * 32});
  CHECK(gpt.at("blocks.0.attention.q_norm.weight").sizes() == Dims{16});
  CHECK(gpt.at("blocks.0.attention.k_norm.weight").sizes() == Dims{16});
  const auto transformer = model_of<Module>("transformer", {{"kv_heads", std::int64_t{1}}, {"qk_norm", true}});
  const auto weights = transformer->state_dict();
  CHECK(weights.at("encoder.blocks.0.attention.qkv.weight").sizes() == Dims{128 + 2 * 32, 128});
  CHECK(weights.at("decoder.blocks.0.cross_attention.kv.weight").sizes() == Dims{2 * 32, 128});
  CHECK(weights.at("decoder.blocks.0.cross_attention.k_norm.weight").sizes() == Dims{32});
}

TEST_CASE(
    "modern blocks: rotary positions and sinusoids have no parameters and reach beyond the context that the model "
    "names") {
  for (const auto& [kind, pairs] :
       {std::pair{"rotary", "halves"}, {"rotary", "interleaved"}, {"sinusoidal", "halves"}}) {
    const auto model = model_of<CausalModel>("gpt", {{"position", std::string(kind)},
                                                     {"rotary_pairs", std::string(pairs)},
                                                     {"dim", std::int64_t{16}},
                                                     {"context", std::int64_t{12}}});
    CHECK(model->parameter_count("position_embedding.") == 0);
    CHECK(model->context() == 12);
    CHECK(model->can_exceed_context());
    randomize(*model);
    const Tensor ids = ids_tensor(random_ids(40, 17, 1), {1, 40});
    const Tensor longer = logits_of(*model, ids);
    CHECK(distance(logits_of(*model, ids.slice(1, 0, 12).contiguous()), longer.slice(1, 0, 12)) < 1e-5);
    // Token by token with the cache, far behind the context too.
    const std::unique_ptr<Cache> cache = model->make_cache();
    for (std::int64_t t = 0; t < 40; ++t) {
      Tape tape(no_grad);
      const Variable one = Variable::constant(tape, ids.slice(1, t, t + 1).contiguous());
      const Tensor logits = model->logits(model->forward(one, cache.get())).value();
      CHECK(distance(logits, longer.slice(1, t, t + 1)) < 1e-5);
    }
  }
  CHECK_FALSE(model_of<CausalModel>("gpt", {{"position", std::string("learned")}})->can_exceed_context());
}

TEST_CASE("modern blocks: a rotary model tells the order of tokens apart, and only by it") {
  GptConfig config = modern_gpt();
  config.layers = 1;  // the second layer of any causal model knows the order of the tokens before
  const Gpt model(config);
  randomize(model);
  const auto distance_of_orders = [](const Gpt& of) {
    const auto last = [&](std::initializer_list<std::int32_t> ids) {
      const auto length = static_cast<std::int64_t>(ids.size());
      return logits_of(of, Tensor::from(ids, {1, length})).slice(1, length - 1, length).contiguous();
    };
    return distance(last({1, 2, 3}), last({2, 1, 3}));
  };
  CHECK(distance_of_orders(model) > 1e-3);
  GptConfig still = config;  // the same without rotation: positions that are all alike
  still.position = LearnedPositions{};
  const Gpt unordered(still);
  randomize(unordered);
  unordered.state_dict().at("position_embedding.weight").fill(0);
  CHECK(distance_of_orders(unordered) < 1e-12);
  config.position = Rotary{.base = 7};
  const Gpt other(config);
  other.load_state_dict(model.state_dict());
  CHECK(distance(logits_of(other, ids_tensor(random_ids(12, 17, 1), {1, 12})),
                 logits_of(model, ids_tensor(random_ids(12, 17, 1), {1, 12}))) > 1e-3);
}

TEST_CASE("modern blocks: the cache of grouped queries takes the share of its heads of keys and values") {
  const auto bytes = [](std::int64_t kv_heads) {
    GptConfig config = small_gpt(DType::f32);
    config.block.heads = 8, config.block.kv_heads = kv_heads;
    config.context = 64;
    const Gpt model(config);
    randomize(model);
    const Tensor ids = ids_tensor(random_ids(64, config.vocab, 1), {1, 64});
    const std::unique_ptr<Cache> cache = model.make_cache();
    const std::int64_t before = memory_stats().in_use;
    {
      Tape tape(no_grad);
      model.forward(Variable::constant(tape, ids), cache.get());
    }
    return memory_stats().in_use - before;
  };
  CHECK(bytes(8) == 2 * 2 * 64 * 16 * 4);  // layers, keys and values, tokens, width, bytes
  CHECK(bytes(0) == bytes(8));
  CHECK(bytes(2) == bytes(8) / 4);
  CHECK(bytes(1) == bytes(8) / 8);
}

TEST_CASE("modern blocks: without biases no parameter is one") {
  for (const char* family : {"gpt", "transformer"}) {
    const auto model = model_of<Module>(
        family, {{"bias", false}, {"norm_kind", std::string("rms")}, {"qk_norm", true}, {"kv_heads", std::int64_t{2}}});
    for (const std::string& name : parameter_names(*model)) CHECK_FALSE(name.ends_with("bias"));
  }
}

TEST_CASE("modern blocks: a gated layer has as many parameters as one of four times the width, to a multiple of 32") {
  for (const char* activation : {"swiglu", "geglu"}) {
    for (const auto& [dim, ff_dim] : {std::pair{128, 352}, {96, 256}, {384, 1024}, {12, 32}, {768, 2048}}) {
      const auto model = model_of<Module>("gpt", {{"activation", std::string(activation)},
                                                  {"dim", std::int64_t{dim}},
                                                  {"layers", std::int64_t{1}},
                                                  {"heads", std::int64_t{2}},
                                                  {"bias", true}});
      const auto weights = model->state_dict();
      CHECK(weights.at("blocks.0.feed_forward.gate_up.weight").sizes() == Dims{2 * ff_dim, dim});
      CHECK(weights.at("blocks.0.feed_forward.gate_up.bias").sizes() == Dims{2 * ff_dim});
      CHECK(weights.at("blocks.0.feed_forward.down.weight").sizes() == Dims{dim, ff_dim});
    }
  }
  const auto given =
      model_of<Module>("transformer", {{"activation", std::string("swiglu")}, {"ff_dim", std::int64_t{9}}});
  CHECK(given->state_dict().at("encoder.blocks.0.feed_forward.gate_up.weight").sizes() == Dims{18, 128});
}

TEST_CASE("modern blocks: the cost counts the weights of groups and gates, and attention by its query heads") {
  const ModelFamily& family = find_model_family("gpt");
  KeyValues options(family.keys);
  options.set("kv_heads", std::int64_t{1}), options.set("activation", std::string("swiglu"));
  options.set("norm_kind", std::string("rms")), options.set("bias", false);
  options.set("position", std::string("rotary")), options.set("layers", std::int64_t{2});
  family.resolve(options, true);
  const ModelVocabulary vocabulary{.source = 17, .target = 17};
  const auto model = std::get<CausalModelMaker>(family.make)(options, vocabulary);
  const std::int64_t block = 128 * (128 + 2 * 32) + 128 * 128 + 3 * 128 * 352 + 2 * 128;
  CHECK(model->parameter_count("blocks.") == 2 * block);
  const ForwardFlops flops = family.flops(options, *model, vocabulary, 50);
  CHECK(flops.blocks == 2.0 * 2 * block + 2 * 2.0 * 128 * 50);
  CHECK(flops.other == 2.0 * (128 + 17 * 128));
}

TEST_CASE("modern blocks: errors name the key, what it takes and what it got") {
  const auto error = [](std::initializer_list<std::pair<std::string, KeyValue>> options) -> std::string {
    try {
      model_of<Module>("gpt", options);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "none";
  };
  CHECK(error({{"kv_heads", std::int64_t{3}}}) ==
        "model.kv_heads: expected a divisor of model.heads, which is 4, got 3");
  CHECK(error({{"position", std::string("rotary")}, {"dim", std::int64_t{12}}}) ==
        "model.dim: expected heads of even width for rotary positions, got 12 for 4 heads, which is 3 each");
  CHECK(error({{"position", std::string("learned")}, {"position_scaling", std::string("linear")}}) ==
        "model.position_scaling: expected none beside model.position = learned, got linear");
  CHECK(error({{"position_scaling", std::string("llama3")}, {"position_low_freq", 4.0}}) ==
        "model.position_high_freq: expected more than model.position_low_freq, which is 4, got 4");
  GptConfig config = small_gpt();
  config.block.kv_heads = 3;
  CHECK_THROWS_WITH_AS(Gpt{config}, "model.kv_heads: 3 does not divide model.heads, which is 4", UsageError);
}

TEST_CASE("modern blocks: gradients of a gpt and of a transformer match finite differences" * long_test()) {
  for (const GptConfig& config : {modern_gpt(), switched_gpt(), bare_gpt()}) {
    const Gpt model(config);
    randomize(model);
    const Tensor ids = ids_tensor(random_ids(24, config.vocab, 1), {2, 12});
    const Tensor targets = ids_tensor(random_ids(24, config.vocab, 2), {2, 12});
    model.zero_grad();
    add_gradients(model, ids, targets);
    const Gradients gradients = gradients_of(model);
    check_gradients(model, gradients, [&] {
      Tape tape(no_grad);
      return model.loss(Variable::constant(tape, ids), Variable::constant(tape, targets), {}).value().item();
    });
  }
  const TransformerConfig config = transformer_architectures()[3];
  const Transformer model(config);
  randomize(model);
  const std::int64_t source_lengths[] = {9, 4}, target_lengths[] = {3, 8};
  const PairBatch batch = batch_of(config, random_pairs(config, source_lengths, target_lengths), 9, 8);
  model.zero_grad();
  add_gradients(model, batch);
  const Gradients gradients = gradients_of(model);
  check_gradients(model, gradients, [&] {
    Tape tape(no_grad);
    return model.loss(batch.source, Variable::constant(tape, batch.inputs), Variable::constant(tape, batch.targets), {})
        .value()
        .item();
  });
}
