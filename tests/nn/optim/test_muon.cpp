// Muon against PyTorch (golden/make_muon_golden.py), and what it takes for a hidden matrix.
#include <cmath>
#include <map>

#include "autograd/kernels/gemm/precision.h"
#include "autograd/kernels/optim/newton_schulz.h"
#include "autograd/ops/ops.h"
#include "autograd/tensor/allocator.h"
#include "core/parallel.h"
#include "nn/interfaces/encoder_for_classification.h"
#include "nn/models/bert.h"
#include "nn/optim/optimizers.h"
#include "tasks/common/models.h"
#include "tests/nn/support.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

struct MuonModule : Module {
  explicit MuonModule(DType dtype) {
    const auto add = [&](const char* name, const Dims& sizes, const ParameterRole& role) {
      register_parameter(name, sizes, dtype, Init::zeros(), role);
    };
    add("wide", {5, 12}, ParameterKind::matrix);
    add("vector", {5}, ParameterKind::vector);
    add("tall", {12, 5}, ParameterKind::matrix);
    add("square", {6, 6}, ParameterKind::matrix);
    add("embedding", {7, 5}, ParameterKind::embedding);
    add("packed", {16, 8}, ParameterRole::stacked({8, 4, 4}));
    add("head", {3, 5}, ParameterKind::head);
  }
};

const OptimizerSettings kSettings{{"lr", 0.02}, {"adamw_lr", 0.003}};

using Numbers = std::map<std::string, Tensor>;

Numbers golden_part(const std::string& prefix, DType dtype) {
  static const Numbers all = read_safetensors(TEST_DATA "/golden/muon.safetensors");
  Numbers found;
  for (const auto& [name, tensor] : all) {
    if (name.starts_with(prefix + "/")) found.emplace(name.substr(prefix.size() + 1), tensor.to(dtype));
  }
  REQUIRE(found.size() == 7);
  return found;
}

// A backward whose gradients are these.
void give_gradients(const Module& module, const Numbers& gradients) {
  Tape tape;
  Variable sum_of_all;
  for (const NamedParameter& parameter : module.named_parameters()) {
    const Variable gradient = Variable::constant(tape, gradients.at(parameter.name));
    const Variable product = sum(mul(parameter.variable.on(tape), gradient));
    sum_of_all = sum_of_all.defined() ? add(sum_of_all, product) : product;
  }
  tape.backward(sum_of_all);
}

// Three steps on the golden gradients.
Numbers train(const std::string& name, DType dtype, const OptimizerSettings& settings, double lr = 0.02,
              const ParameterRates& rates = {}) {
  const MuonModule module(dtype);
  module.load_state_dict(golden_part(name + "/param", dtype));
  const ParameterSlab slab(module, rates);
  const auto optimizer = make_optimizer("muon", slab, settings);
  for (int step = 0; step < 3; ++step) {
    slab.zero_grad();
    give_gradients(module, golden_part(str_cat(name, "/grad.", step), dtype));
    optimizer->step(lr, step + 1);
  }
  Numbers after;
  for (const auto& [key, value] : module.state_dict()) after.emplace(key, value.clone());
  return after;
}

// The roles of a model's parameters, by name: "matrix", "embedding"; "8+4+4" for stacked matrices.
std::map<std::string, std::string> roles(const Module& model) {
  std::map<std::string, std::string> found;
  for (const NamedParameter& parameter : model.named_parameters()) {
    std::string role = word_of(parameter.role.kind);
    for (std::size_t i = 0; i < parameter.role.heights.size(); ++i) {
      role = (i ? role + "+" : "") + std::to_string(parameter.role.heights[i]);
    }
    if (role != "vector") found[parameter.name] = role;
  }
  return found;
}

}  // namespace

TEST_CASE("muon: three steps give PyTorch's numbers, for wide, tall and stacked matrices and for the others") {
  for (const DType dtype : {DType::f64, DType::f32}) {
    for (const bool nesterov : {true, false}) {
      CAPTURE(dtype);
      CAPTURE(nesterov);
      const std::string name = nesterov ? "nesterov" : "plain";
      OptimizerSettings settings = kSettings;
      settings["nesterov"] = nesterov;
      const Numbers after = train(name, dtype, settings), expected = golden_part(name + "/after", dtype);
      for (const auto& entry : expected) {
        const std::string& key = entry.first;
        const auto& value = entry.second;
        CAPTURE(key);
        CHECK(distance(after.at(key), value) <= (dtype == DType::f64 ? 1e-13 : 1e-5));
        CHECK(distance(after.at(key), golden_part(name + "/param", dtype).at(key)) > 1e-3);
      }
    }
  }
}

TEST_CASE("muon: the schedule moves both rates, and a parameter's own rate counts for both") {
  const auto change = [](const Numbers& after, const std::string& key) {
    return distance(after.at(key), golden_part("nesterov/param", DType::f64).at(key));
  };
  OptimizerSettings settings = kSettings;
  settings["weight_decay"] = 0.0;
  const Numbers whole = train("nesterov", DType::f64, settings);
  const Numbers half = train("nesterov", DType::f64, settings, 0.01);
  const ParameterRates halved = [](std::string_view) { return 0.5; };
  const Numbers slow = train("nesterov", DType::f64, settings, 0.02, halved);
  for (const char* key : {"wide", "tall", "packed", "embedding", "head", "vector"}) {
    CAPTURE(key);
    CHECK(distance(half.at(key), slow.at(key)) <= 1e-14);
    CHECK(change(half, key) == doctest::Approx(change(whole, key) / 2).epsilon(1e-9));
  }
  const ParameterRates frozen = [](std::string_view name) { return name == "tall" || name == "head" ? 0 : 1; };
  const Numbers some = train("nesterov", DType::f64, settings, 0.02, frozen);
  CHECK(change(some, "tall") == 0);
  CHECK(change(some, "head") == 0);
  CHECK(same_bits(some.at("wide"), whole.at("wide")));
  settings["lr"] = 0.0;
  CHECK_THROWS_WITH_AS(
      train("nesterov", DType::f64, settings),
      "optimizer.lr: expected above 0 beside optimizer.adamw_lr, which is a rate for the same schedule, got 0", Error);
}

TEST_CASE("muon: it keeps one number for each element of a hidden matrix and two of the others, each by its name") {
  const MuonModule module(DType::f32);
  const ParameterSlab slab(module);
  const std::int64_t before = memory_stats().in_use;
  const auto optimizer = make_optimizer("muon", slab, {});
  const std::int64_t matrices = 60 + 60 + 36 + 128, others = 5 + 35 + 15;
  std::int64_t numbers = 0;
  std::map<std::string, Dims> sizes;
  for (const auto& [name, values] : optimizer->state()) sizes[name] = values.sizes(), numbers += values.numel();
  CHECK(numbers == matrices + 2 * others);
  CHECK(sizes.at("momentum.packed") == Dims{16, 8});
  CHECK(sizes.at("m.embedding") == Dims{7, 5});
  CHECK(sizes.at("v.vector") == Dims{5});
  CHECK_FALSE(sizes.contains("m.wide"));
  CHECK_FALSE(sizes.contains("momentum.head"));
  // Each parameter is padded to a cache line, and the allocator rounds up: but no slab of the size of all is unused.
  CHECK(memory_stats().in_use - before < 4 * (matrices + 2 * others) + 4096);
}

TEST_CASE("muon: the same bits for any number of threads, and the precision of the run's products") {
  const int threads = thread_count();
  Numbers first, rounded;
  for (const int count : {1, 2, 3}) {
    set_thread_count(count);
    const Numbers after = train("nesterov", DType::f32, kSettings);
    const kernels::MatmulPrecisionScope scope(kernels::MatmulPrecision::medium);
    const Numbers after_rounded = train("nesterov", DType::f32, kSettings);
    if (count == 1) first = after, rounded = after_rounded;
    for (const auto& entry : after) {
      const std::string& key = entry.first;
      const auto& value = entry.second;
      CAPTURE(key);
      CHECK(same_bits(value, first.at(key)));
      CHECK(same_bits(after_rounded.at(key), rounded.at(key)));
      CHECK(distance(value, after_rounded.at(key)) < 2e-2);
    }
  }
  CHECK_FALSE(same_bits(first.at("wide"), rounded.at("wide")));

  // One matrix alone, so large that a product of it would take several threads.
  struct OneMatrix : Module {
    Variable w = register_parameter("w", {200, 300}, DType::f32, Init::normal(1), ParameterKind::matrix);
  };
  Tensor alone;
  for (const int count : {1, 4}) {
    set_thread_count(count);
    const OneMatrix module;
    module.initialize_parameters(1);
    const ParameterSlab slab(module);
    initialize(slab.gradients(), Init::normal(1), {.seed = 2});
    const auto optimizer = make_optimizer("muon", slab, kSettings);
    optimizer->apply({.lr = 0.1, .step = 1, .gradient_scale = 1});
    if (count == 1) alone = module.w.value().clone();
    CHECK(same_bits(module.w.value(), alone));
  }
  set_thread_count(threads);
}

TEST_CASE("muon: orthogonalized matrices have singular values near 1, zeros stay zeros, and a NaN is not hidden") {
  // The values are random. The sum of their squares is the trace of XᵀX = V S² Vᵀ: that of the squared singular values.
  std::vector<double> x(24 * 40);
  RandomStream random({.seed = 3});
  for (double& value : x) value = random.normal();
  kernels::orthogonalize(x.data(), 24, 40);
  double squares = 0;
  for (const double value : x) squares += value * value;
  CHECK(squares > 24 * 0.7 * 0.7);
  CHECK(squares < 24 * 1.2 * 1.2);
  std::vector<float> zeros(12, 0.0F);
  kernels::orthogonalize(zeros.data(), 3, 4);
  CHECK(zeros == std::vector<float>(12, 0.0F));
  std::vector<float> broken(12, 1.0F);
  broken[5] = NAN;
  kernels::orthogonalize(broken.data(), 3, 4);
  CHECK(std::ranges::all_of(broken, [](float value) { return std::isnan(value); }));
}

TEST_CASE("roles: hidden matrices, embeddings and heads are what the models say") {
  GptConfig gpt = small_gpt();
  const std::int64_t dim = gpt.block.dim;
  const auto packed = [&](std::int64_t keys) { return str_cat(dim, "+", keys, "+", keys); };
  auto found = roles(Gpt(gpt));
  CHECK(found.at("token_embedding.weight") == "embedding");
  CHECK(found.at("blocks.0.attention.qkv.weight") == packed(dim));
  CHECK(found.at("blocks.0.attention.out.weight") == "matrix");
  CHECK(found.at("blocks.0.feed_forward.up.weight") == "matrix");
  CHECK_FALSE(found.contains("head.weight"));
  gpt.tie_embeddings = false;
  gpt.block.kv_heads = 1;
  gpt.block.activation = ActivationKind::swiglu;
  found = roles(Gpt(gpt));
  CHECK(found.at("head.weight") == "head");
  CHECK(found.at("blocks.0.attention.qkv.weight") == packed(dim / gpt.block.heads));
  CHECK(found.at("blocks.0.feed_forward.gate_up.weight") == str_cat(gpt.block.ff_dim, "+", gpt.block.ff_dim));
}

TEST_CASE("roles: in every family what has a side as long as the vocabulary is an embedding or a head") {
  constexpr std::int64_t kVocab = 1013;
  for (const ModelFamily& family : model_families()) {
    CAPTURE(family.name);
    Config config;
    config.model.type = family.name;
    const ShapesOnly shapes;
    const std::unique_ptr<Model> model = make_model_with_heads(resolve(config), {.source = kVocab, .target = kVocab});
    int tables = 0, hidden = 0;
    for (const NamedParameter& parameter : model->named_parameters()) {
      CAPTURE(parameter.name);
      const Dims sizes = parameter.variable.sizes();
      const ParameterKind kind = parameter.role.kind;
      const bool table = kind == ParameterKind::embedding || kind == ParameterKind::head;
      if (sizes.rank() < 2) continue;
      CHECK((sizes[0] != kVocab || table));
      CHECK(parameter.name.ends_with("embedding.weight") == (kind == ParameterKind::embedding));
      (table ? tables : hidden) += 1;
    }
    CHECK(tables > 0);
    CHECK((hidden > 0 || family.name == "word2vec" || family.name == "glove"));
  }
  BertConfig bert;
  bert.vocab = 9, bert.context = 4, bert.layers = 1;
  bert.block = small_gpt().block;
  const auto found = roles(EncoderForClassification(std::make_unique<Bert>(bert), {.labels = 3, .pooled = true}));
  CHECK(found.at("task.output.weight") == "head");
  CHECK(found.at("task.pooler.weight") == "matrix");
}

TEST_CASE("roles: the gates of a recurrent layer are matrices of their own") {
  Config config;
  config.model.type = "rnn";
  apply_override(config, "model.cell", "gru");
  apply_override(config, "model.dim", "24");
  const ShapesOnly shapes;
  const auto found =
      roles(*find_model_family("rnn").make_model(resolve(config).model.options, {.source = 9, .target = 9}));
  int layers = 0;
  for (const auto& [name, role] : found) {
    if (name.find("weight_") == name.npos) continue;
    CHECK(role == "24+24+24");
    ++layers;
  }
  CHECK(layers >= 2);
}

TEST_CASE("roles: a parameter of two axes has to say what it is, and stacked matrices fill it") {
  struct Wrong : Module {
    Wrong(const Dims& sizes, const ParameterRole& role) {
      register_parameter("w", sizes, DType::f32, Init::zeros(), role);
    }
  };
  CHECK_THROWS_WITH_AS(Wrong({2, 3}, ParameterKind::vector),
                       "register_parameter: w (2, 3): expected a matrix, an embedding or a head, got vector", Error);
  CHECK_THROWS_WITH_AS(Wrong({2}, ParameterKind::matrix), "register_parameter: w (2): expected a vector, got matrix",
                       Error);
  CHECK_THROWS_WITH_AS(Wrong({4, 3}, ParameterRole::stacked({2, 1})),
                       "register_parameter: w (4, 3): expected stacked matrices of as many rows, got 3", Error);
}
