// The models that write captions of images: their gradients, their caches, and what they refuse.
#include "autograd/ops/ops.h"
#include "nn/models/cnn_lstm.h"
#include "nn/models/vit.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

constexpr std::int64_t kCaptionVocab = 11;

// Each with every switch that its code tells apart.
std::vector<CnnLstmConfig> cnn_lstm_configs() {
  CnnLstmConfig config{.vocab = kCaptionVocab,
                       .image = {8, 2},
                       .convolutions = 1,
                       .channels = 2,
                       .stack = {.input_dim = 4, .dim = 5, .dtype = DType::f64}};
  CnnLstmConfig other = config;
  other.tied = true, other.attention_penalty = 0.7, other.convolutions = 2;
  return {config, other};
}

std::vector<VitConfig> vit_configs() {
  VitConfig config{.vocab = kCaptionVocab,
                   .image = {6, 2},
                   .context = 9,
                   .layers = 1,
                   .encoder_layers = 2,
                   .block = {.dim = 8, .heads = 2, .ff_dim = 8, .dtype = DType::f64}};
  VitConfig modern_one = config;
  modern_one.block = modern(config.block);
  modern_one.block.dtype = DType::f64;
  modern_one.position = Rotary{};
  modern_one.tied = false, modern_one.logit_softcap = 3;
  return {config, modern_one};
}

template <class Body>
void for_each_caption_model(const Body& body) {
  const auto with = [&](const auto& model) {
    randomize(model);
    body(model);
  };
  for (const CnnLstmConfig& config : cnn_lstm_configs()) with(CnnLstm(config));
  for (const VitConfig& config : vit_configs()) with(Vit(config));
}

Tensor random_images(std::int64_t count, std::int64_t size) {
  const Tensor images = Tensor::zeros({count, 3, size, size}, DType::f32);
  initialize(images, Init::uniform(1), {.seed = 5});
  return images;
}

// Three captions of 4, 2 and 5 tokens, with padding, of images of this size.
PairBatch caption_batch(std::int64_t size) {
  PairBatch batch;
  batch.source.images = random_images(3, size);
  batch.inputs = ids_tensor(random_ids(15, kCaptionVocab, 3), {3, 5});
  batch.targets = ids_tensor(random_ids(15, kCaptionVocab, 4), {3, 5});
  for (const auto& [row, length] : {std::pair{0, 4}, {1, 2}}) {
    batch.targets.slice(0, row, row + 1).slice(1, length, 5).copy_from(Tensor::full({1, 5 - length}, DType::i32, -1));
  }
  return batch;
}

double caption_loss(const EncoderDecoder& model, const PairBatch& batch, bool training) {
  Tape tape({.record = false, .training = training});
  return model
      .loss(batch.source, Variable::constant(tape, batch.inputs), Variable::constant(tape, batch.targets),
            {.smoothing = 0.1})
      .value()
      .item();
}

}  // namespace

TEST_CASE("captions: gradients match finite differences, those of the attention penalty among them") {
  for_each_caption_model([](const auto& model) {
    const PairBatch batch = caption_batch(model.config().image.size);
    model.zero_grad();
    const double loss = add_gradients(model, batch, {.smoothing = 0.1}, {.training = true});
    CHECK(loss == doctest::Approx(caption_loss(model, batch, true)).epsilon(1e-12));
    check_gradients(
        model, gradients_of(model), [&] { return caption_loss(model, batch, true); }, 1e-5);
  });
}

TEST_CASE("captions: two micro-steps give the loss of both, and padding of captions has no part") {
  for_each_caption_model([](const auto& model) {
    const PairBatch whole = caption_batch(model.config().image.size);
    const auto part_of = [](const PairBatch& batch, std::int64_t begin, std::int64_t end) {
      const auto rows = [&](const Tensor& x) { return x.slice(0, begin, end).contiguous(); };
      PairBatch part;
      part.source.images = rows(batch.source.images);
      part.inputs = rows(batch.inputs), part.targets = rows(batch.targets);
      return part;
    };
    const auto loss = [&](const PairBatch& batch) {
      return add_gradients(model, batch, {.normalizer = 11}, {.training = true});
    };
    CHECK(loss(part_of(whole, 0, 1)) + loss(part_of(whole, 1, 3)) == doctest::Approx(loss(whole)).epsilon(1e-12));
    CHECK(loss(whole) == doctest::Approx(add_gradients(model, whole, {}, {.training = true})).epsilon(1e-12));
    PairBatch refilled = whole;
    refilled.inputs = whole.inputs.clone();
    refilled.inputs.template data<std::int32_t>()[5 + 3] ^= 1;  // behind the end of the second caption
    CHECK(loss(refilled) == doctest::Approx(loss(whole)).epsilon(1e-12));
  });
}

TEST_CASE("captions: the penalty is λ Σ (1 − Σ α)², in training alone") {
  CnnLstmConfig config = cnn_lstm_configs()[1];
  const CnnLstm with(config);
  randomize(with);
  config.attention_penalty = 0;
  const CnnLstm without(config);
  without.load_state_dict(with.state_dict());
  const PairBatch batch = caption_batch(8);
  CHECK(caption_loss(with, batch, false) == caption_loss(without, batch, false));
  Tensor weights;
  const TensorObserver observer = [&](std::string_view name, const std::function<Tensor()>& tensor) {
    if (name == kCrossAttentionWeights) weights = tensor().contiguous();
  };
  Tape tape({.record = false, .observer = &observer});
  with.decode(Variable::constant(tape, batch.inputs), with.encode(tape, batch.source));
  REQUIRE(weights.sizes() == Dims{3, 1, 5, 4});
  double penalty = 0;
  for (std::int64_t row = 0; row < 3; ++row) {
    for (std::int64_t cell = 0; cell < 4; ++cell) {
      double sum = 0;
      for (std::int64_t t = 0; t < 5; ++t) {
        const bool scored = batch.targets.data<std::int32_t>()[row * 5 + t] >= 0;
        sum += scored ? weights.data<double>()[(row * 5 + t) * 4 + cell] : 0;
      }
      penalty += (1 - sum) * (1 - sum);
    }
  }
  CHECK(caption_loss(with, batch, true) - caption_loss(without, batch, true) ==
        doctest::Approx(0.7 * penalty / 11).epsilon(1e-9));
}

TEST_CASE("captions: the matrix of the patches begins as those of the blocks do") {
  VitConfig config = vit_configs()[0];
  config.block.init = Init::constant(0.25);
  const Vit model(config);
  model.initialize_parameters(1);
  for (const double value : values_of(model.state_dict().at("patches.weight"))) CHECK(value == 0.25);
}

TEST_CASE("captions: with a cache, pieces of any lengths give the logits of the whole, for every hypothesis") {
  for_each_caption_model([](const auto& model) {
    const SourceBatch source{{}, {}, random_images(2, model.config().image.size)};
    const SourceBatch repeated{{}, {}, select_rows(source.images, std::array<std::int64_t, 4>{0, 0, 1, 1})};
    const Tensor ids = ids_tensor(random_ids(4 * 5, kCaptionVocab, 2), {4, 5});
    const Tensor expected = logits_of(model, repeated, ids);
    Tape tape(no_grad);
    const EncoderOutput encoded = model.encode(tape, source);
    CHECK(encoded.hidden.size(1) == encoded.lengths.template data<std::int32_t>()[0]);
    const auto cache = model.make_cache(5, encoded.hidden.size(1));
    const auto piece = [&](std::int64_t begin, std::int64_t end) {
      const Variable part = Variable::constant(tape, ids.slice(1, begin, end).contiguous());
      return model.logits(model.decode(part, encoded, cache.get())).value();
    };
    CHECK(distance(piece(0, 2), expected.slice(1, 0, 2)) < 1e-12);
    CHECK(distance(piece(2, 5), expected.slice(1, 2, 5)) < 1e-12);
  });
}

TEST_CASE("captions: a model shows its layers, and refuses images that it is not made for") {
  for_each_caption_model([](const auto& model) {
    const std::int64_t size = model.config().image.size;
    Tape tape(no_grad);
    const Variable images = Variable::constant(tape, random_images(2, size).to(DType::f64));
    const std::vector<Variable> layers = model.hidden_states({.input_features = images});
    CHECK(layers.size() >= 2);
    const EncoderOutput encoded = model.encode(tape, {{}, {}, images.value().to(DType::f32)});
    CHECK(same_bits(layers.back().value().contiguous(), encoded.hidden.value().contiguous()));
    CHECK(layers.back().sizes()[1] == 4);
    const std::string name = std::is_same_v<std::decay_t<decltype(model)>, Vit> ? "vit" : "cnn_lstm";
    CHECK_THROWS_WITH_AS(
        model.encode(tape, {{}, {}, random_images(2, size + 1)}),
        str_cat(name, ": expected images (B, 3, ", size, ", ", size, "), got (2, 3, ", size + 1, ", ", size + 1, ")")
            .c_str(),
        Error);
    CHECK_THROWS_WITH_AS(model.encode(tape, {}), (name + ": expected images, got a batch without").c_str(), Error);
  });
}
