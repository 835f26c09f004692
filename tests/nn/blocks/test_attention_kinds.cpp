// Attention in a window.
#include "nn/attention/documents.h"
#include "tests/nn/family_support.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

TEST_CASE("window: a layer of rotary attention predicts from the last tokens what it predicts from them alone") {
  GptConfig config = modern_gpt();
  config.layers = 1, config.context = 150;
  const Gpt full(config);
  config.block.attention_window = 70;
  const Gpt windowed(config);
  randomize(full);
  windowed.load_state_dict(full.state_dict());
  const Tensor ids = ids_tensor(random_ids(2 * 150, 17, 1), {2, 150});
  const Tensor logits = logits_of(windowed, ids);
  for (const std::int64_t t : {0, 40, 69, 70, 71, 127, 128, 149}) {
    CAPTURE(t);
    const std::int64_t begin = std::max<std::int64_t>(0, t - 69);
    const Tensor alone = logits_of(full, ids.slice(1, begin, t + 1).contiguous());
    CHECK(distance(alone.slice(1, t - begin, t - begin + 1), logits.slice(1, t, t + 1)) < 1e-10);
  }
  CHECK(distance(logits_of(full, ids), logits) > 1e-3);
}

TEST_CASE("window: the gradients are those of finite differences, and the maps show no weight outside of it") {
  GptConfig config = small_gpt();
  config.block.attention_window = 3;
  const Gpt model(config);
  randomize(model);
  const Tensor ids = ids_tensor(random_ids(24, 17, 1), {2, 12}), targets = ids_tensor(random_ids(24, 17, 2), {2, 12});
  add_gradients(model, ids, targets);
  check_gradients(model, gradients_of(model), [&] {
    Tape tape(no_grad);
    return model.loss(Variable::constant(tape, ids), Variable::constant(tape, targets), {}).value().item();
  });
  int layers = 0;
  const TensorObserver observer = [&](std::string_view name, const std::function<Tensor()>& tensor) {
    if (name != kSelfAttentionWeights) return;
    ++layers;
    const Tensor weights = tensor().contiguous();  // (2, 4, 12, 12)
    for (std::int64_t i = 0; i < weights.numel(); ++i) {
      const std::int64_t t = i / 12 % 12, j = i % 12;
      CHECK((weights.data<double>()[i] > 0) == (t - 3 < j && j <= t));
    }
  };
  logits_of(model, ids, {.record = false, .observer = &observer});
  CHECK(layers == 2);
}

TEST_CASE("window: the decoder of a transformer has it, cached or not, and its encoder has none") {
  TransformerConfig config = transformer_architectures().front();
  config.block.attention_window = 2;
  const Transformer windowed(config);
  config.block.attention_window = 0;
  const Transformer full(config);
  randomize(full);
  windowed.load_state_dict(full.state_dict());
  const Tensor ids = ids_tensor(random_ids(6, 11, 1), {1, 6});
  const SourceBatch source{ids, Tensor::full({1}, DType::i32, 6)};
  Tape tape(no_grad);
  const EncoderOutput encoded = windowed.encode(tape, source);
  CHECK(same_bits(encoded.hidden.value(), full.encode(tape, source).hidden.value()));
  const Tensor whole = windowed.decode(Variable::constant(tape, ids), encoded).value();
  CHECK(distance(whole, full.decode(Variable::constant(tape, ids), encoded).value()) > 1e-3);
  const auto cache = windowed.make_cache(6, 6);
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 3}, {3, 4}, {4, 6}}) {
    const Variable piece = Variable::constant(tape, ids.slice(1, begin, end).contiguous());
    CHECK(distance(windowed.decode(piece, encoded, cache.get()).value(), whole.slice(1, begin, end)) < 1e-12);
  }
}

TEST_CASE("window: the operations of attention are counted inside of it") {
  const auto flops = [](const char* type, std::int64_t window, std::int64_t length) {
    const ModelFamily& family = find_model_family(type);
    KeyValues options(family.keys);
    options.set("attention_window", window);
    family.resolve(options, true);
    const ModelVocabulary vocabulary{.source = 17, .target = 17};
    const ShapesOnly shapes;
    return family.flops(options, *family.make_module(options, vocabulary), vocabulary, length).blocks;
  };
  // 100 queries see 10 keys each, but the first ones fewer, beside 50 on average: 4 layers, 2·2·128 operations a key.
  CHECK(flops("gpt", 0, 100) - flops("gpt", 10, 100) == doctest::Approx(4 * 4 * 128 * (50 - 9.5)));
  CHECK(flops("transformer", 0, 100) - flops("transformer", 10, 100) == doctest::Approx(4 * 4 * 128 * (50 - 9.5)));
  CHECK(flops("gpt", 100, 100) == flops("gpt", 0, 100));
  CHECK(flops("gpt", 10, 0) == flops("gpt", 0, 0));
}
