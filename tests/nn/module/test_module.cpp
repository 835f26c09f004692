// Names, counts, state dictionaries.
#include "autograd/tensor/allocator.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

std::vector<std::string> names_of(const Module& model) {
  std::vector<std::string> names;
  for (const NamedParameter& parameter : model.named_parameters()) names.push_back(parameter.name);
  return names;
}

// Copies of a model's values, to see that nothing changed.
std::map<std::string, Tensor> copies_of(const Module& model) {
  std::map<std::string, Tensor> copies;
  for (const auto& [name, tensor] : model.state_dict()) copies.emplace(name, tensor.clone());
  return copies;
}

}  // namespace

TEST_CASE("gpt: GPT-2 small's shape has 124,439,808 parameters") {
  {
    GptConfig config;
    config.vocab = 50257, config.context = 1024, config.layers = 12;
    config.block = {.dim = 768, .heads = 12, .ff_dim = 3072};
    CHECK(Gpt(config).parameter_count() == 124'439'808);
  }
  release_cached_memory();  // half a gigabyte
}

TEST_CASE("transformer: the paper's base configuration has 63,082,496 parameters, and no other memory") {
  {
    TransformerConfig config;
    config.source_vocab = config.target_vocab = 37000;
    config.position = SinusoidalPositions{};
    config.block = {.dim = 512, .heads = 8, .ff_dim = 2048, .norm = NormPlace::post};
    const std::int64_t before = memory_stats().in_use;
    reset_peak_memory();
    const Transformer model(config);
    std::map<std::string, std::int64_t> counts;
    for (const NamedParameter& parameter : model.named_parameters()) {
      counts[parameter.name.substr(0, parameter.name.find('.'))] += parameter.variable.value().numel();
    }
    CHECK(counts == std::map<std::string, std::int64_t>{
                        {"source_embedding", 18'944'000}, {"encoder", 18'914'304}, {"decoder", 25'224'192}});
    CHECK(model.parameter_count() == 63'082'496);
    const std::int64_t bytes = 63'082'496 * 4;
    CHECK(memory_stats().peak - before < bytes + bytes / 8);  // what the allocator rounds up, and the sinusoids
  }
  release_cached_memory();  // a quarter of a gigabyte
}

TEST_CASE("gpt: parameter counts follow from the parts") {
  const std::int64_t v = 17, t = 12, d = 16, f = 32, layers = 2;
  GptConfig config = small_gpt();
  const std::int64_t block = (3 * d * d + 3 * d) + (d * d + d) + (d * f + f) + (f * d + d) + 4 * d;
  CHECK(Gpt(config).parameter_count() == v * d + t * d + layers * block + 2 * d);
  config.tie_embeddings = false;
  CHECK(Gpt(config).parameter_count() == 2 * v * d + t * d + layers * block + 2 * d);
  config.block.bias = false;
  config.position = SinusoidalPositions{};
  config.block.norm = NormPlace::post;
  CHECK(Gpt(config).parameter_count() == 2 * v * d + layers * (4 * d * d + 2 * d * f + 2 * d));
}

TEST_CASE("gpt: parameter names in the order of registration, a tied weight once") {
  GptConfig config = small_gpt();
  config.layers = 1;
  CHECK(names_of(Gpt(config)) ==
        std::vector<std::string>{
            "token_embedding.weight", "position_embedding.weight", "blocks.0.attention_norm.weight",
            "blocks.0.attention_norm.bias", "blocks.0.attention.qkv.weight", "blocks.0.attention.qkv.bias",
            "blocks.0.attention.out.weight", "blocks.0.attention.out.bias", "blocks.0.feed_forward_norm.weight",
            "blocks.0.feed_forward_norm.bias", "blocks.0.feed_forward.up.weight", "blocks.0.feed_forward.up.bias",
            "blocks.0.feed_forward.down.weight", "blocks.0.feed_forward.down.bias", "final_norm.weight",
            "final_norm.bias"});
  config.layers = 2;
  config.block.bias = false;
  config.block.norm = NormPlace::post;
  config.position = SinusoidalPositions{};
  config.tie_embeddings = false;
  CHECK(names_of(Gpt(config)) ==
        std::vector<std::string>{
            "token_embedding.weight", "blocks.0.attention_norm.weight", "blocks.0.attention.qkv.weight",
            "blocks.0.attention.out.weight", "blocks.0.feed_forward_norm.weight", "blocks.0.feed_forward.up.weight",
            "blocks.0.feed_forward.down.weight", "blocks.1.attention_norm.weight", "blocks.1.attention.qkv.weight",
            "blocks.1.attention.out.weight", "blocks.1.feed_forward_norm.weight", "blocks.1.feed_forward.up.weight",
            "blocks.1.feed_forward.down.weight", "head.weight"});
}

TEST_CASE("transformer: parameter names in the order of registration") {
  TransformerConfig config = small_transformer();
  config.layers = 1;
  config.block.bias = false;
  const std::vector<std::string> blocks = {
      "encoder.blocks.0.attention_norm.weight",      "encoder.blocks.0.attention.qkv.weight",
      "encoder.blocks.0.attention.out.weight",       "encoder.blocks.0.feed_forward_norm.weight",
      "encoder.blocks.0.feed_forward.up.weight",     "encoder.blocks.0.feed_forward.down.weight",
      "decoder.blocks.0.attention_norm.weight",      "decoder.blocks.0.attention.qkv.weight",
      "decoder.blocks.0.attention.out.weight",       "decoder.blocks.0.cross_attention_norm.weight",
      "decoder.blocks.0.cross_attention.q.weight",   "decoder.blocks.0.cross_attention.kv.weight",
      "decoder.blocks.0.cross_attention.out.weight", "decoder.blocks.0.feed_forward_norm.weight",
      "decoder.blocks.0.feed_forward.up.weight",     "decoder.blocks.0.feed_forward.down.weight"};
  const auto check_names = [&](std::vector<std::string> expected, const std::vector<std::string>& behind) {
    expected.insert(expected.end(), blocks.begin(), blocks.end());
    expected.insert(expected.end(), behind.begin(), behind.end());
    CHECK(names_of(Transformer(config)) == expected);
  };
  check_names({"source_embedding.weight"}, {});
  config.tied = TiedEmbeddings::output;
  check_names({"source_embedding.weight", "target_embedding.weight"}, {});
  config.tied = TiedEmbeddings::none;
  config.position = LearnedPositions{};
  check_names({"source_embedding.weight", "target_embedding.weight", "source_position_embedding.weight",
               "target_position_embedding.weight"},
              {"head.weight"});

  config.source_vocab = 13;
  const std::map<std::string, Tensor> state = Transformer(config).state_dict();
  CHECK(state.at("source_embedding.weight").sizes() == Dims{13, 16});
  CHECK(state.at("target_embedding.weight").sizes() == Dims{17, 16});
  CHECK(state.at("head.weight").sizes() == Dims{17, 16});
  CHECK(state.at("source_position_embedding.weight").sizes() == Dims{12, 16});
  CHECK(state.at("decoder.blocks.0.cross_attention.kv.weight").sizes() == Dims{32, 16});
}

TEST_CASE("transformer: biases of every linear layer and norm, and the final norms of pre-norm stacks") {
  const std::int64_t v = 17, d = 16, f = 32, layers = 2;
  TransformerConfig config = small_transformer();
  const std::int64_t encoder = 4 * d * d + 2 * d * f + 2 * d, decoder = 8 * d * d + 2 * d * f + 3 * d;
  const std::int64_t encoder_biases = 4 * d + f + d + 2 * d, decoder_biases = 8 * d + f + d + 3 * d;
  CHECK(Transformer(config).parameter_count() ==
        v * d + layers * (encoder + encoder_biases + decoder + decoder_biases));
  config.block.bias = false;
  CHECK(Transformer(config).parameter_count() == v * d + layers * (encoder + decoder));
  config.block.norm = NormPlace::pre;
  CHECK(Transformer(config).parameter_count() == v * d + layers * (encoder + decoder) + 2 * d);
}

TEST_CASE("gpt: a tied weight gathers the gradients of both its uses") {
  GptConfig config = small_gpt();
  const Gpt tied(config);
  config.tie_embeddings = false;
  const Gpt untied(config);
  randomize(tied);
  std::map<std::string, Tensor> state = copies_of(tied);
  state.emplace("head.weight", state.at("token_embedding.weight"));
  untied.load_state_dict(state);
  const Tensor ids = ids_tensor(random_ids(24, 17, 1), {2, 12}), targets = ids_tensor(random_ids(24, 17, 2), {2, 12});
  CHECK(add_gradients(tied, ids, targets) == add_gradients(untied, ids, targets));
  Gradients expected = gradients_of(untied);
  expected.at("token_embedding.weight").add_from(expected.at("head.weight"));
  expected.erase("head.weight");
  CHECK(distance(gradients_of(tied), expected) < 1e-14);
}

TEST_CASE("state_dict: shares the parameters' memory, and load_state_dict copies into it") {
  const Gpt a(small_gpt()), b(small_gpt());
  randomize(a, 1), randomize(b, 2);
  const std::map<std::string, Tensor> state = a.state_dict(), target = b.state_dict();
  CHECK(state.size() == a.named_parameters().size());
  CHECK_FALSE(same_bits(target, state));
  b.load_state_dict(state);
  CHECK(same_bits(target, state));
  const Tensor weight = state.at("token_embedding.weight");
  weight.fill(3);
  CHECK(a.named_parameters()[0].variable.value().to_vector<double>()[5] == 3);
  CHECK(target.at("token_embedding.weight").to_vector<double>()[5] != 3);
}

TEST_CASE("load_state_dict: errors say what does not fit, and nothing has changed") {
  const Gpt model(small_gpt());
  randomize(model);
  const std::map<std::string, Tensor> before = copies_of(model);
  // Every value differs from the model's, so that any copy would show.
  std::map<std::string, Tensor> good;
  for (const auto& [name, tensor] : before) good.emplace(name, Tensor::full(tensor.sizes(), DType::f64, 7));

  const auto check_error = [&](const std::map<std::string, Tensor>& state, const std::string& message) {
    CHECK_THROWS_WITH_AS(model.load_state_dict(state), message.c_str(), Error);
    CHECK(same_bits(model.state_dict(), before));
  };
  std::map<std::string, Tensor> bad = good;
  bad.erase("final_norm.bias");
  check_error(bad, "load_state_dict: the parameter final_norm.bias is missing");
  check_error({}, "load_state_dict: the parameter token_embedding.weight is missing");

  bad = good;
  bad.emplace("head.weight", Tensor::zeros({17, 16}, DType::f64));
  check_error(bad, "load_state_dict: the model has no parameter head.weight");

  bad = good;
  bad["blocks.1.feed_forward.down.weight"] = Tensor::zeros({32, 16}, DType::f64);
  check_error(bad, "load_state_dict: blocks.1.feed_forward.down.weight: the model has (16, 32) f64, got (32, 16) f64");

  bad = good;
  bad["blocks.0.attention.qkv.bias"] = Tensor::zeros({48}, DType::f32);
  check_error(bad, "load_state_dict: blocks.0.attention.qkv.bias: the model has (48) f64, got (48) f32");

  model.load_state_dict(good);
  CHECK(same_bits(model.state_dict(), good));
}

TEST_CASE("gpt: errors for heads that do not divide the dimension and for ids of another rank") {
  GptConfig config = small_gpt();
  config.block.heads = 3;
  CHECK_THROWS_WITH_AS(Gpt{config}, "model.heads: 3 does not divide model.dim, which is 16", UsageError);
  config.block.heads = 0;
  CHECK_THROWS_WITH_AS(Gpt{config}, "model.heads: 0 does not divide model.dim, which is 16", UsageError);
  CHECK_THROWS_WITH_AS(logits_of(Gpt(small_gpt()), Tensor::zeros({12}, DType::i32)),
                       "gpt: expected ids (B, T), got (12)", Error);
}

TEST_CASE("transformer: errors of the configuration and of shapes") {
  TransformerConfig config = small_transformer();
  config.source_vocab = 13;
  CHECK_THROWS_WITH_AS(Transformer{config},
                       "model.tie_embeddings: all needs one vocabulary, the source's has 13 tokens, the target's 17",
                       UsageError);
  config.tied = TiedEmbeddings::output;
  CHECK_NOTHROW(Transformer{config});
  config.block.heads = 3;
  CHECK_THROWS_WITH_AS(Transformer{config}, "model.heads: 3 does not divide model.dim, which is 16", UsageError);

  config = small_transformer();
  config.position = LearnedPositions{};
  const Transformer model(config);
  const auto run = [&](const Dims& source, const Dims& lengths, const Dims& inputs) {
    logits_of(model, {Tensor::zeros(source, DType::i32), Tensor::zeros(lengths, DType::i32)},
              Tensor::zeros(inputs, DType::i32));
  };
  CHECK_NOTHROW(run({2, 12}, {2}, {2, 12}));
  CHECK_THROWS_WITH_AS(run({2, 13}, {2}, {2, 5}), "positions: 13 tokens are more than the context of 12", Error);
  CHECK_THROWS_WITH_AS(run({2, 5}, {2}, {2, 13}), "positions: 13 tokens are more than the context of 12", Error);
  CHECK_THROWS_WITH_AS(run({2}, {2}, {2, 5}),
                       "transformer: expected source ids (B, S) and lengths (B), got (2) and (2)", Error);
  CHECK_THROWS_WITH_AS(run({2, 5}, {3}, {2, 5}),
                       "transformer: expected source ids (B, S) and lengths (B), got (2, 5) and (3)", Error);
  CHECK_THROWS_WITH_AS(run({2, 5}, {2}, {10}), "transformer: expected target ids (R, T), got (10)", Error);
  CHECK_THROWS_WITH_AS(run({2, 5}, {2}, {3, 5}), "cross-attention: 3 rows cannot share 2 encoded ones", Error);
  Tape tape;
  const Variable stream = Variable::constant(tape, Tensor::zeros({2, 5, 16}, DType::f64));
  CHECK_THROWS_WITH_AS(Block(small_transformer().block, /*cross=*/true).forward(stream),
                       "block: cross-attention needs an encoder's result", Error);
}

TEST_CASE("module: zero_grad forgets every gradient") {
  const Gpt model(small_gpt());
  randomize(model);
  const Tensor ids = ids_tensor(random_ids(12, 17, 1), {1, 12});
  add_gradients(model, ids, ids);
  CHECK(gradients_of(model).size() == model.named_parameters().size());
  model.zero_grad();
  CHECK(gradients_of(model).empty());
}

TEST_CASE("module: a name that is registered twice is an error, of a parameter, a buffer and a submodule") {
  struct Twice : Module {
    explicit Twice(int kind) {
      register_parameter("w", {2}, DType::f32, Init::ones());
      if (kind == 0) register_parameter("w", {2}, DType::f32, Init::zeros());
      if (kind == 1) register_matrix("w", {2, 2}, DType::f32, Init::zeros());
      if (kind == 2) register_buffer("w", {2}, DType::f32, 0);
      if (kind == 3) register_module("w", *this);
    }
  };
  for (const int kind : {0, 1, 2, 3}) CHECK_THROWS_WITH_AS(Twice{kind}, "module: w is registered twice", Error);
}
