// A model whose blocks are recomputed: the same bits in far less memory.
#include "autograd/tensor/allocator.h"
#include "nn/optim/parameter_slab.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

TapeOptions options(bool recompute) {
  return {.training = true, .recompute = recompute, .random = {.seed = 3, .step = 7, .micro_step = 1}};
}

// The most bytes that tensors take in one pass beside parameters and their gradients.
template <class AddGradients>
std::int64_t activation_peak(const Module& model, const AddGradients& add_gradients) {
  model.initialize_parameters(1);
  const ParameterSlab slab(model);
  const std::int64_t before = memory_stats().in_use;
  reset_peak_memory();
  add_gradients();
  CHECK(memory_stats().in_use == before);
  return memory_stats().peak - before;
}

std::int64_t gpt_peak(std::int64_t layers, bool recompute) {
  GptConfig config = small_gpt(DType::f32);
  config.layers = layers;
  config.context = 64;
  const Gpt model(config);
  const Tensor ids = ids_tensor(random_ids(8 * 64, config.vocab, 1), {8, 64});
  return activation_peak(model, [&] { add_gradients(model, ids, ids, {.deferred = true}, options(recompute)); });
}

std::int64_t transformer_peak(std::int64_t layers, bool recompute) {
  TransformerConfig config = small_transformer(DType::f32);
  config.layers = layers;
  config.context = 64;
  const Transformer model(config);
  const PairBatch batch = full_batch(config, 8, 64, 64);
  return activation_peak(model, [&] { add_gradients(model, batch, {.deferred = true}, options(recompute)); });
}

// Two micro-steps into the same gradients, by add_gradients(tape options), with and without recomputation.
template <class AddGradients>
void check_same_bits(const Module& model, const AddGradients& add_gradients) {
  const auto run = [&](bool recompute) {
    model.zero_grad();
    double loss = 0;
    for (int micro = 0; micro < 2; ++micro) loss += add_gradients(options(recompute));
    return std::pair{loss, gradients_of(model)};
  };
  const auto plain = run(false), again = run(true);
  CHECK(again.first == plain.first);
  CHECK(again.second.size() == model.named_parameters().size());
  CHECK(same_bits(again.second, plain.second));
}

// Returns a configuration with a block to recompute in the middle, and with dropout.
template <class Config>
Config dropping(Config config) {
  config.layers = 3;
  config.block.dropout = config.block.attention_dropout = 0.2;
  return config;
}

}  // namespace

TEST_CASE("gpt: recomputed blocks give the same loss and gradients to the bit, in every architecture") {
  for (DType dtype : {DType::f64, DType::f32}) {
    for (const GptConfig& config : architectures(dtype)) {
      CAPTURE(name_of(config));
      const Gpt model(dropping(config));
      randomize(model);
      const Tensor ids = ids_tensor(random_ids(48, config.vocab, 1), {4, 12});
      std::vector<std::int32_t> scored = random_ids(48, config.vocab, 2);
      scored[5] = scored[47] = -1;
      check_same_bits(model, [&](const TapeOptions& tape_options) {
        return add_gradients(model, ids, ids_tensor(scored, {4, 12}), {.smoothing = 0.1, .deferred = true},
                             tape_options);
      });
    }
  }
}

TEST_CASE("transformer: recomputed blocks give the same loss and gradients to the bit, the encoder's too") {
  for (DType dtype : {DType::f64, DType::f32}) {
    for (const TransformerConfig& config : transformer_architectures(dtype)) {
      CAPTURE(name_of(config));
      const Transformer model(dropping(config));
      randomize(model);
      const std::int64_t source_lengths[] = {9, 4, 1}, target_lengths[] = {3, 8, 5};
      const PairBatch batch = batch_of(config, random_pairs(config, source_lengths, target_lengths), 9, 8);
      check_same_bits(model, [&](const TapeOptions& tape_options) {
        return add_gradients(model, batch, {.smoothing = 0.1, .deferred = true}, tape_options);
      });
    }
  }
}

TEST_CASE("gpt: all blocks but the last are recomputed, and random numbers go on as without") {
  GptConfig config = small_gpt();
  config.layers = 4;
  config.block.dropout = config.block.attention_dropout = 0.2;
  const Gpt model(config);
  randomize(model);
  const Tensor ids = ids_tensor(random_ids(24, config.vocab, 1), {2, 12});
  Tape plain(options(false)), tape(options(true));
  const Variable expected = model.forward(Variable::constant(plain, ids)),
                 hidden = model.forward(Variable::constant(tape, ids));
  CHECK(same_bits(hidden.value(), expected.value()));
  const auto count = [&](const char* name) { return std::ranges::count(tape.node_names(), name); };
  CHECK(count("recompute") == 3);
  CHECK(count("packed_self_attention") == 1);
  CHECK(tape.next_random_key().stream == plain.next_random_key().stream);

  const std::unique_ptr<Cache> cache_owner = model.make_cache();
  Cache& cache = *cache_owner;
  TapeOptions silent = no_grad;
  silent.recompute = true;
  Tape generating(silent);
  CHECK(same_bits(model.forward(Variable::constant(generating, ids), &cache).value(),
                  model.forward(Variable::constant(generating, ids)).value()));
}

TEST_CASE("transformer: all blocks of each stack but its last are recomputed") {
  TransformerConfig config = small_transformer();
  config.layers = 4;
  const Transformer model(config);
  randomize(model);
  const PairBatch batch = full_batch(config, 2, 6, 5);
  Tape tape(options(true));
  model.decode(Variable::constant(tape, batch.inputs), model.encode(tape, batch.source));
  const auto count = [&](const char* name) { return std::ranges::count(tape.node_names(), name); };
  CHECK(count("recompute") == 2 * 3);
  CHECK(count("packed_self_attention") == 1 + 1);
  CHECK(count("packed_cross_attention") == 1);
}

TEST_CASE("models: recomputed, a further layer costs the memory of its input alone") {
  constexpr std::int64_t kInput = 8 * 64 * 16 * 4;  // (B, T, dim) of f32
  const std::int64_t few = 8, many = 24;
  const auto of_a_layer = [&](const auto& peak, bool recompute) {
    return static_cast<double>(peak(many, recompute) - peak(few, recompute)) /
           static_cast<double>((many - few) * kInput);
  };
  CHECK(of_a_layer(gpt_peak, true) == 1);
  // The input of each layer norm, q, k, v, attention's result, and the hidden layer before its activation.
  CHECK(of_a_layer(gpt_peak, false) > 8);
  CHECK(gpt_peak(many, true) < gpt_peak(many, false) / 5);
  CHECK(of_a_layer(transformer_peak, true) == 2);  // of the encoder's and of the decoder's
  CHECK(of_a_layer(transformer_peak, false) > 2 * 8);
  CHECK(transformer_peak(many, true) < transformer_peak(many, false) / 5);
}
