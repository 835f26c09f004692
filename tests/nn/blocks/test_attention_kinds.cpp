// Attention in a window, and linear attention, which the tests of caches, documents, recomputation and hooks have too.
#include "autograd/ops/ops.h"
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

TEST_CASE(
    "window: the operations of attention are counted inside of it, and those of linear attention for any length") {
  const auto flops = [](const char* type, std::int64_t window, std::int64_t length, bool linear = false) {
    const ModelFamily& family = find_model_family(type);
    KeyValues options(family.keys);
    options.set("attention_window", window);
    if (linear) options.set("attention_kind", std::string("linear")), options.set("position", std::string("learned"));
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
  // Linear attention: 4 layers of 4 heads, 32 wide.
  CHECK(flops("gpt", 0, 100, true) == flops("gpt", 0, 100000, true));
  CHECK(flops("gpt", 0, 100, true) - flops("gpt", 0, 0) == 4.0 * 4 * 4 * 32 * 33);
}

namespace {

Variable random_heads(Tape& tape, const Dims& sizes, std::uint64_t seed) {
  const Tensor x = Tensor::empty(sizes, DType::f64);
  initialize(x, Init::normal(1), {.seed = seed});
  return Variable::constant(tape, x);
}

// φ(x) = elu(x) + 1 by elementary ops: max(x, 0) + e^min(x, 0).
Variable elu_plus_one(const Variable& x) { return add(relu(x), exp(neg(relu(neg(x))))); }

}  // namespace

TEST_CASE("linear attention: the recurrence over tokens and the parallel form are the definition, across chunks") {
  Tape tape(no_grad);
  const std::int64_t length = 150, d = 6, d_v = 5;
  const Variable q = random_heads(tape, {2, 4, length, d}, 1), k = random_heads(tape, {2, 2, length, d}, 2),
                 v = random_heads(tape, {2, 2, length, d_v}, 3);
  const Tensor parallel = linear_attention(q, k, v).value();
  const Tensor state = Tensor::zeros({2, 2, d, d_v + 1}, DType::f64);
  std::int64_t begin = 0;
  for (const std::int64_t end : {90, 91, 92, 93, 150}) {
    const auto part = [&, first = begin](const Variable& x) { return slice(x, 2, first, end); };
    const Tensor y = linear_attention(part(q), part(k), part(v), {.state = state}).value();
    CHECK(distance(y, parallel.slice(2, begin, end)) < 1e-10);
    begin = end;
  }
  // Weights φ(q)·φ(k), of the keys up to the query, over their sum.
  const auto repeated = [&](const Variable& x) {
    return reshape(expand(reshape(x, {2, 2, 1, length, -1}), {2, 2, 2, length, x.size(3)}), {2, 4, length, -1});
  };
  const Tensor causal = Tensor::zeros({length, length}, DType::f64);
  for (std::int64_t i = 0; i < length * length; ++i) causal.data<double>()[i] = i % length <= i / length;
  const Variable scores = mul(matmul(elu_plus_one(q), transpose(elu_plus_one(repeated(k)), 2, 3)),
                              expand(Variable::constant(tape, causal), {2, 4, length, length}));
  const Variable twin = matmul(div(scores, expand(sum(scores, -1, true), scores.sizes())), repeated(v));
  CHECK(distance(parallel, twin.value()) < 1e-12);
}

TEST_CASE(
    "linear attention: gradients across chunks and documents are those of documents alone and finite differences") {
  const std::int64_t length = 140;
  const Tensor begin = Tensor::zeros({1, length}, DType::i32);
  for (std::int64_t t = 0; t < length; ++t) {
    begin.data<std::int32_t>()[t] = t < 30 ? 0 : t < 64 ? 30 : t < 70 ? 64 : 70;
  }
  std::vector<Variable> inputs;
  for (const std::uint64_t seed : {1, 2, 3}) {
    Tape tape(no_grad);
    inputs.push_back(Variable::parameter(random_heads(tape, {1, 2, length, 4}, seed).value()));
  }
  Tape weights_tape(no_grad);
  const Tensor weights = random_heads(weights_tape, {1, 2, length, 4}, 4).value();
  const auto gradients = [&](const auto& attend) {
    for (const Variable& input : inputs) input.zero_grad();
    Tape tape;
    const Variable y = attend(inputs[0].on(tape), inputs[1].on(tape), inputs[2].on(tape));
    tape.backward(y, weights);
    std::vector<Tensor> all{y.value().clone()};
    for (const Variable& input : inputs) all.push_back(input.grad().clone());
    return all;
  };
  const auto packed = gradients([&](const Variable& q, const Variable& k, const Variable& v) {
    return linear_attention(q, k, v, {.key_begin = begin});
  });
  const auto alone = gradients([&](const Variable& q, const Variable& k, const Variable& v) {
    std::vector<Variable> parts;
    for (const auto& [from, to] : {std::pair{0, 30}, {30, 64}, {64, 70}, {70, 140}}) {
      parts.push_back(linear_attention(slice(q, 2, from, to), slice(k, 2, from, to), slice(v, 2, from, to)));
    }
    return concat(parts, 2);
  });
  for (std::size_t i = 0; i < packed.size(); ++i) CHECK(distance(packed[i], alone[i]) < 1e-12);
  // One element of each input in each chunk.
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    for (const std::int64_t t : {20, 64, 75, 139}) {
      double& value = inputs[input].value().data<double>()[t * 4 + 1];
      const auto contraction = [&](double moved) {
        const double before = std::exchange(value, value + moved);
        Tape tape(no_grad);
        const Variable y =
            linear_attention(inputs[0].on(tape), inputs[1].on(tape), inputs[2].on(tape), {.key_begin = begin});
        value = before;
        return sum(mul(y, Variable::constant(tape, weights))).value().item();
      };
      const double expected = (contraction(1e-5) - contraction(-1e-5)) / 2e-5;
      const double got = packed[input + 1].contiguous().data<double>()[t * 4 + 1];
      CHECK(got == doctest::Approx(expected).epsilon(1e-6));
    }
  }
}

TEST_CASE("linear attention: its cache has the same size for any number of tokens") {
  const Gpt model(linear_gpt());
  randomize(model);
  std::vector<std::int64_t> bytes;
  const auto cache = model.make_cache();
  for (int token = 0; token < 12; ++token) {
    Tape tape(no_grad);
    model.forward(Variable::constant(tape, Tensor::full({1, 1}, DType::i32, token)), cache.get());
    bytes.push_back(0);
    for (const auto& tensor : cache->tensors()) bytes.back() += tensor.second.bytes();
  }
  // 2 layers, 2 heads of keys 4 wide and of values 5 wide, and the sum of the keys.
  CHECK(bytes == std::vector<std::int64_t>(12, 2 * 2 * 4 * (5 + 1) * 8));
}

TEST_CASE("linear attention: a cache with cross-attention beside it selects the rows of a beam") {
  const BlockStack stack({.dim = 8, .heads = 2, .ff_dim = 16, .attention_kind = AttentionKind::linear}, 1,
                         NoPositions{}, /*cross=*/true);
  stack.initialize_parameters(1);
  Tape tape(no_grad);
  const auto random = [&](const Dims& sizes, std::uint64_t seed) {
    const Tensor tensor = Tensor::empty(sizes, DType::f32);
    initialize(tensor, Init::normal(1), RandomKey{.seed = seed});
    return Variable::constant(tape, tensor);
  };
  const EncoderOutput encoded{random({2, 3, 8}, 1), Tensor::full({2}, DType::i32, 3)};
  const auto cache = stack.make_cache(8, 3);
  stack.forward(random({4, 2, 8}, 2), {.encoded = encoded}, cache.get());  // two rows for each source
  const auto sums = [&] { return cache->tensors().front().second.to_vector<float>(); };
  const std::vector<float> before = sums();
  const std::int64_t rows[] = {1, 0, 2, 2};
  cache->select(rows);
  const std::vector<float> after = sums();
  const std::size_t width = before.size() / 4;
  REQUIRE(after.size() == before.size());
  for (std::size_t i = 0; i < after.size(); ++i) CHECK(after[i] == before[rows[i / width] * width + i % width]);
}

TEST_CASE("linear attention: what does not fit is refused in one line") {
  using Options = std::initializer_list<std::pair<std::string, KeyValue>>;
  const auto message = [](Options options) {
    try {
      model_of<CausalModel>("gpt", options);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::pair<std::string, KeyValue> linear{"attention_kind", std::string("linear")},
      learned{"position", std::string("learned")};
  CHECK(
      message({linear}) ==
      "model.position: expected another kind beside model.attention_kind = linear, since a rotation makes its weights "
      "negative, got rotary");
  CHECK(message({linear, learned, {"attention_window", std::int64_t{8}}}) ==
        "model.attention_window: expected 0 beside model.attention_kind = linear, got 8");
  CHECK(message({linear, learned, {"attention_scale", 0.5}}) ==
        "model.attention_scale: expected auto beside model.attention_kind = linear, got 0.5");
  CHECK(message({linear, learned, {"attention_dropout", 0.5}}) ==
        "model.attention_dropout: expected 0 beside model.attention_kind = linear, got 0.5");
  CHECK(message({linear, learned, {"dropout", 0.5}}).empty());
}
