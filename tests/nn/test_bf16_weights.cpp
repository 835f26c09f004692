// Models whose matrices are held in bf16 or q8_0, for generation.
#include <random>

#include "autograd/kernels/gemm/precision.h"
#include "autograd/tensor/allocator.h"
#include "nn/models/rnn.h"
#include "nn/optim/optimizers.h"
#include "tests/nn/encoder_decoders.h"
#include "tests/temp_folder.h"

using namespace tapeformer;

namespace {

Tensor rounded(const Tensor& x) {
  const Tensor y = x.clone();
  for (float& value : y.span<float>()) value = kernels::widen(kernels::round_to_bf16(value));
  return y;
}

Tensor logits_in(const CausalModel& model, const Tensor& ids, Cache* cache = nullptr) {
  Tape tape({.record = false});
  return model.logits(model.forward(Variable::constant(tape, ids), cache)).value().clone();
}

void save(const Module& model, const std::filesystem::path& file) {
  NamedTensors parameters;
  for (const auto& [name, value] : model.state_dict()) parameters.emplace_back(name, value);
  write_safetensors(file, parameters);
}

// Returns a model with the weights of `model`, whose matrices (is_matrix) are held in bf16, and rounds those of
// `model`.
template <class Model, class IsMatrix>
std::unique_ptr<Model> halved(const Model& model, const IsMatrix& is_matrix) {
  const TempFolder folder;
  save(model, folder.path / "model.safetensors");
  const WeightFormatScope scope(WeightFormat::bf16);
  auto half = std::make_unique<Model>(model.config());
  half->load_state_dict(SafetensorsFile(folder.path / "model.safetensors"));
  for (const NamedParameter& parameter : model.named_parameters()) {
    const Tensor& value = parameter.variable.value();
    if (is_matrix(parameter)) value.copy_from(rounded(value));
    CHECK(half->state_dict().at(parameter.name).dtype() == (is_matrix(parameter) ? DType::bf16 : DType::f32));
  }
  return half;
}

}  // namespace

TEST_CASE("bf16 weights: a model gives what it gives in medium with matrices that are rounded beforehand") {
  const kernels::MatmulPrecisionScope precision(kernels::MatmulPrecision::medium);
  for (GptConfig config : architectures(DType::f32)) {
    CAPTURE(name_of(config));
    const Gpt model(config);
    randomize(model);
    const std::unique_ptr<Gpt> half = halved(model, [](const NamedParameter& parameter) {
      return parameter.variable.value().rank() == 2 && parameter.name != "position_embedding.weight";
    });
    const Tensor ids = Tensor::from<std::int32_t>({1, 5, 3, 8, 2, 16, 0, 4, 4, 9}, {1, 10});
    const std::vector<float> expected = logits_in(model, ids).to_vector<float>();
    CHECK(logits_in(*half, ids).to_vector<float>() == expected);  // ten rows: the same kernel
    // Token by token: dot products, which add up in another order.
    const auto cache = half->make_cache();
    for (std::int64_t i = 0; i < 10; ++i) {
      const std::vector<float> got = logits_in(*half, ids.slice(1, i, i + 1).clone(), cache.get()).to_vector<float>();
      for (std::int64_t j = 0; j < config.vocab; ++j) {
        REQUIRE(got[j] == doctest::Approx(expected[i * config.vocab + j]).epsilon(1e-4).scale(1));
      }
    }
  }
}

TEST_CASE("bf16 weights: those of recurrent layers too") {
  const kernels::MatmulPrecisionScope precision(kernels::MatmulPrecision::medium);
  const RnnConfig config{.vocab = 17, .stack = {.layers = 2, .input_dim = 12, .dim = 20}};
  const Rnn model(config);
  randomize(model);
  const std::unique_ptr<Rnn> half =
      halved(model, [](const NamedParameter& parameter) { return parameter.variable.value().rank() == 2; });
  const Tensor ids = Tensor::from<std::int32_t>({1, 5, 3, 8, 2, 16, 0, 4, 4, 9}, {1, 10});
  const std::vector<float> expected = logits_in(model, ids).to_vector<float>(),
                           got = logits_in(*half, ids).to_vector<float>();
  for (std::size_t i = 0; i < got.size(); ++i) REQUIRE(got[i] == doctest::Approx(expected[i]).epsilon(1e-4).scale(1));
}

TEST_CASE("bf16 weights: they take half of the memory, also while they are read, and cannot be trained") {
  const TempFolder folder;
  GptConfig config = small_gpt(DType::f32);
  config.vocab = 5000, config.block.dim = 64, config.block.ff_dim = 256;
  {
    const Gpt model(config);
    model.initialize_parameters(1);
    save(model, folder.path / "model.safetensors");
  }
  const std::int64_t before = memory_stats().in_use;
  reset_peak_memory();
  const WeightFormatScope scope(WeightFormat::bf16);
  const Gpt half(config);
  half.load_state_dict(SafetensorsFile(folder.path / "model.safetensors"));
  const std::int64_t parameter_bytes = 4 * half.parameter_count();
  CHECK(memory_stats().peak - before < parameter_bytes * 52 / 100);
  CHECK_THROWS_AS(half.initialize_parameters(1), Error);
  Tape tape({.training = true});
  const Variable ids = Variable::constant(tape, Tensor::zeros({1, 4}, DType::i32));
  CHECK_THROWS_AS(tape.backward(half.loss(ids, ids, {})), Error);
}

namespace {

// Returns a model with the weights of `model`, whose matrices are held in `format`.
template <class Model>
std::unique_ptr<Model> held_in(WeightFormat format, const Model& model) {
  const TempFolder folder;
  save(model, folder.path / "model.safetensors");
  const WeightFormatScope scope(format);
  auto held = std::make_unique<Model>(model.config());
  held->load_state_dict(SafetensorsFile(folder.path / "model.safetensors"));
  return held;
}

// Some steps of training, until the model knows a part of the targets.
void learn(const Gpt& model, const Tensor& ids, const Tensor& targets) {
  model.initialize_parameters(1);
  const ParameterSlab slab(model);
  const auto optimizer = make_optimizer("adamw", slab, {{"weight_decay", 0.1}, {"clip", 1.0}});
  for (std::uint32_t step = 1; step <= 40; ++step) {
    slab.zero_grad();
    add_gradients(model, ids, targets, {.deferred = true}, {.training = true, .random = {.seed = 1, .step = step}});
    optimizer->step(5e-3, step);
  }
}

double loss_of(const CausalModel& model, const Tensor& ids, const Tensor& targets) {
  Tape tape(no_grad);
  return model.loss(Variable::constant(tape, ids), Variable::constant(tape, targets), {}).value().item();
}

}  // namespace

TEST_CASE("q8_0 weights: half of the memory of bf16, the perplexity within 0.5 %, token by token as at once") {
  const GptConfig config{
      .vocab = 64,
      .context = 32,
      .layers = 2,
      .block = {.dim = 64, .heads = 4, .kv_heads = 2, .ff_dim = 96, .norm_kind = NormKind::rms, .bias = false}};
  const Gpt model(config);
  const Tensor ids = ids_tensor(random_ids(4 * 32, config.vocab, 1), {4, 32}),
               targets = ids_tensor(random_ids(4 * 32, config.vocab, 2), {4, 32});
  learn(model, ids, targets);
  for (const auto precision : {kernels::MatmulPrecision::highest, kernels::MatmulPrecision::medium}) {
    const kernels::MatmulPrecisionScope scope(precision);
    const std::unique_ptr<Gpt> held = held_in(WeightFormat::q8_0, model);
    for (const NamedParameter& parameter : held->named_parameters()) {
      const Tensor& value = parameter.variable.value();
      if (value.rank() < 2 || parameter.name == "position_embedding.weight") continue;
      CHECK(value.dtype() == DType::q8_0);
      CHECK(value.bytes() * 32 == value.numel() * 34);
    }
    const double loss = loss_of(model, ids, targets), loss_of_held = loss_of(*held, ids, targets);
    CHECK(loss < 3);  // of 4.2 before it learned
    CHECK(std::exp(std::abs(loss_of_held - loss)) < 1.005);

    const Tensor row = ids.slice(0, 0, 1).clone();
    const Tensor at_once = logits_in(*held, row);
    const auto cache = held->make_cache();
    std::vector<float> got;
    for (std::int64_t i = 0; i < row.size(1); ++i) {
      for (const float logit : logits_in(*held, row.slice(1, i, i + 1).clone(), cache.get()).to_vector<float>()) {
        got.push_back(logit);
      }
    }
    CHECK(distance(Tensor::from<float>(got, at_once.sizes()), at_once) < 0.05);
    const bool rounds = precision == kernels::MatmulPrecision::medium;
    CHECK(cache->tensors().front().second.dtype() == (rounds ? DType::bf16 : DType::f32));
  }
}

TEST_CASE("q8_0 weights: recurrent encoder-decoders, whose first layer's matrix is cut in two, give nearly the same") {
  for (RnnSeq2SeqConfig config : rnn_seq2seq_architectures(DType::f32)) {
    CAPTURE(name_of(config));
    config.stack.input_dim = config.stack.dim = 32;
    const RnnSeq2Seq model(config);
    model.initialize_parameters(1);
    const std::unique_ptr<RnnSeq2Seq> held = held_in(WeightFormat::q8_0, model);
    const PairBatch batch = batch_of(config, random_pairs(config, kSourceLengths, kTargetLengths), 9, 8);
    const Tensor expected = logits_of(model, batch.source, batch.inputs);
    CHECK(distance(logits_of(*held, batch.source, batch.inputs), expected) < 0.05);
  }
}

TEST_CASE("q8_0 weights: a linear layer reads a transposed view, as of the cells of one image") {
  const WeightFormatScope scope(WeightFormat::q8_0);
  const Linear layer(32, 3, /*with_bias=*/false, Init::zeros(), DType::f32);
  layer.weight.freeze();
  layer.weight.replace_frozen(Tensor::full({3, 32}, DType::f32, 0.5).to(DType::q8_0));
  const Tensor x = Tensor::empty({32, 9}, DType::f32);
  for (std::int64_t i = 0; i < x.numel(); ++i) x.span<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i % 7);
  const auto output = [&](const Tensor& rows) {
    Tape tape({.record = false});
    return layer.forward(Variable::constant(tape, rows)).value().to_vector<float>();
  };
  CHECK(output(x.transpose(0, 1)) == output(x.transpose(0, 1).contiguous()));
}

TEST_CASE("q8_0 weights: matrices whose rows are no whole blocks are bf16, parts and training are refused") {
  GptConfig config = small_gpt(DType::f32);
  const WeightFormatScope scope(WeightFormat::q8_0);
  const Gpt model(config);
  for (const NamedParameter& parameter : model.named_parameters()) {
    if (parameter.role.kind == ParameterKind::vector || parameter.name == "position_embedding.weight") continue;
    const bool has_blocks = parameter.variable.size(1) % kernels::kQ8Block == 0;
    CHECK(parameter.variable.dtype() == (has_blocks ? DType::q8_0 : DType::bf16));
  }
  const Tensor x = Tensor::full({4, 64}, DType::f32, 0.5).to(DType::q8_0);
  CHECK(x.to(DType::f32).to_vector<float>() ==
        std::vector<float>(4 * 64, 127 * kernels::widen_f16(*x.q8_rows().scales)));
  CHECK_THROWS_WITH_AS(x.slice(0, 1, 2).q8_rows(), "q8_0: expected a whole tensor, got a part, (1, 64)", Error);
  CHECK_THROWS_WITH_AS(Tensor::empty({2, 40}, DType::q8_0),
                       "empty: shape (2, 40) of q8_0: expected rows of blocks of 32", Error);
  CHECK_THROWS_AS(model.initialize_parameters(1), Error);
}
