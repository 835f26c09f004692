#include "core/parallel.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

struct Moments {
  double mean = 0, deviation = 0, largest = 0;
  std::size_t count = 0;
};

Moments moments_of(const Tensor& tensor) {
  Moments moments;
  const std::vector<double> values = values_of(tensor);
  for (double value : values) {
    moments.mean += value;
    moments.deviation += value * value;
    moments.largest = std::max(moments.largest, std::abs(value));
  }
  moments.count = values.size();
  moments.mean /= static_cast<double>(values.size());
  moments.deviation = std::sqrt(moments.deviation / static_cast<double>(values.size()));
  return moments;
}

// Within five standard errors of a normal distribution's mean and deviation.
void check_normal(const Tensor& tensor, double deviation) {
  const Moments moments = moments_of(tensor);
  const double root = std::sqrt(static_cast<double>(moments.count));
  CHECK(std::abs(moments.mean) < 5 * deviation / root);
  CHECK(std::abs(moments.deviation / deviation - 1) < 5 / (std::sqrt(2.0) * root));
  CHECK(moments.largest < 7 * deviation);
}

Tensor initialized(const Dims& sizes, const Init& init, const RandomKey& key, DType dtype = DType::f64) {
  const Tensor tensor = Tensor::empty(sizes, dtype);
  initialize(tensor, init, key);
  return tensor;
}

}  // namespace

TEST_CASE("gpt: begins with GPT-2's deviations, biases at zero and norms at one") {
  GptConfig config = small_gpt(DType::f32);
  config.vocab = 300, config.context = 100, config.layers = 8;
  config.block.dim = 64, config.block.ff_dim = 256;
  config.tie_embeddings = false;
  const Gpt model(config);
  model.initialize_parameters(42);
  for (const NamedParameter& parameter : model.named_parameters()) {
    CAPTURE(parameter.name);
    const Tensor& value = parameter.variable.value();
    if (parameter.name.ends_with("norm.weight")) {
      CHECK(same_bits(value, Tensor::full(value.sizes(), DType::f32, 1)));
    } else if (parameter.name.ends_with(".bias")) {
      CHECK(same_bits(value, Tensor::zeros(value.sizes(), DType::f32)));
    } else if (parameter.name.ends_with("attention.out.weight") || parameter.name.ends_with("down.weight")) {
      check_normal(value, 0.02 / std::sqrt(16.0));
    } else {
      check_normal(value, 0.02);
    }
  }
}

TEST_CASE("transformer: embeddings begin with 1/√dim, sublayers' results by the number of them in their own stack") {
  TransformerConfig config = small_transformer(DType::f32);
  config.source_vocab = 300, config.target_vocab = 200, config.layers = 4;
  config.block.dim = 64, config.block.ff_dim = 256;
  config.tied = TiedEmbeddings::none;
  const Transformer model(config);
  model.initialize_parameters(42);
  for (const NamedParameter& parameter : model.named_parameters()) {
    CAPTURE(parameter.name);
    const Tensor& value = parameter.variable.value();
    if (parameter.name.ends_with("norm.weight") || parameter.name.ends_with(".bias")) {
      CHECK(same_bits(value, Tensor::full(value.sizes(), DType::f32, parameter.name.ends_with("norm.weight") ? 1 : 0)));
    } else if (parameter.name.ends_with("embedding.weight")) {
      check_normal(value, 1.0 / 8);
    } else if (parameter.name.ends_with("attention.out.weight") || parameter.name.ends_with("down.weight")) {
      check_normal(value, 0.02 / std::sqrt(parameter.name.starts_with("encoder") ? 2 * 4 : 3 * 4));
    } else {
      check_normal(value, 0.02);
    }
  }
}

TEST_CASE("gpt: the same seed the same parameters, another seed others, and no two parameters alike") {
  const Gpt a(small_gpt()), b(small_gpt()), c(small_gpt());
  a.initialize_parameters(1), b.initialize_parameters(1), c.initialize_parameters(2);
  CHECK(same_bits(a.state_dict(), b.state_dict()));
  const std::map<std::string, Tensor> first = a.state_dict(), other = c.state_dict();
  for (const char* name : {"token_embedding.weight", "position_embedding.weight", "blocks.0.attention.qkv.weight"}) {
    CHECK_FALSE(same_bits(first.at(name), other.at(name)));
  }
  for (const char* part : {"attention.qkv.weight", "attention.out.weight", "feed_forward.up.weight"}) {
    CHECK_FALSE(same_bits(first.at(str_cat("blocks.0.", part)), first.at(str_cat("blocks.1.", part))));
  }
  CHECK_FALSE(same_bits(first.at("token_embedding.weight").slice(0, 0, 12), first.at("position_embedding.weight")));
}

TEST_CASE("initialize: does not depend on the number of threads, and f32 is f64 rounded") {
  const int before = thread_count();
  for (const Init& init : {Init::normal(0.5), Init::xavier_uniform()}) {
    set_thread_count(1);
    const Tensor expected = initialized({401, 257}, init, {.seed = 9, .stream = 3});
    for (int threads : {2, 5}) {
      set_thread_count(threads);
      CHECK(same_bits(initialized({401, 257}, init, {.seed = 9, .stream = 3}), expected));
    }
    CHECK(same_bits(initialized({401, 257}, init, {.seed = 9, .stream = 3}, DType::f32), expected.to(DType::f32)));
  }
  set_thread_count(before);
}

TEST_CASE("initialize: xavier_uniform fills ±√(6/(fan_in + fan_out)) evenly") {
  const Tensor weight = initialized({300, 100}, Init::xavier_uniform(), {.seed = 1});
  const double bound = std::sqrt(6.0 / 400);
  const Moments moments = moments_of(weight);
  CHECK(moments.largest <= bound);
  CHECK(moments.largest > 0.999 * bound);
  CHECK(std::abs(moments.mean) < 5 * bound / std::sqrt(3.0 * 30000));
  CHECK(moments.deviation == doctest::Approx(bound / std::sqrt(3.0)).epsilon(0.015));
  CHECK_THROWS_WITH_AS(initialized({5}, Init::xavier_uniform(), {}), "xavier_uniform: expected a matrix, got (5)",
                       Error);
}

TEST_CASE("initialize: every kind tells ops that have saved the tensor that it was written") {
  for (const Init& init : {Init::ones(), Init::normal(1), Init::truncated_normal(1), Init::uniform(1)}) {
    const Tensor tensor = Tensor::zeros({4}, DType::f64);
    const StorageState before = tensor.storage_state();
    initialize(tensor, init, {});
    CHECK(before.changed());
  }
}

TEST_CASE("initialize: normal numbers are the standard ones times the deviation; constants are exact") {
  const RandomKey key{.seed = 4, .stream = 8};
  const std::vector<double> unit = values_of(initialized({50}, Init::normal(1), key));
  const std::vector<double> scaled = values_of(initialized({50}, Init::normal(0.25), key));
  for (std::size_t i = 0; i < unit.size(); ++i) CHECK(scaled[i] == unit[i] * 0.25);
  check_normal(initialized({200, 200}, Init::normal(3), key), 3);
  CHECK(same_bits(initialized({3}, Init::ones(), key), Tensor::full({3}, DType::f64, 1)));
  CHECK(same_bits(initialized({3}, Init::zeros(), key), Tensor::zeros({3}, DType::f64)));
}
