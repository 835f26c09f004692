// Batch norm beside PyTorch's (golden/make_batch_norm_golden.py), and models that have it.
#include "autograd/ops/ops.h"
#include "core/ignored_target.h"
#include "nn/interfaces/encoder_for_classification.h"
#include "nn/models/bert.h"
#include "tests/nn/family_support.h"
#include "tests/nn/golden_support.h"

using namespace tapeformer;

namespace {

BlockConfig batch_config(BlockConfig config) {
  config.norm_kind = NormKind::batch;
  return config;
}

GptConfig batch_gpt(NormPlace place = NormPlace::pre) {
  GptConfig config = small_gpt();
  config.layers = 3;
  config.block = batch_config(config.block);
  config.block.norm = place;
  return config;
}

std::vector<std::vector<double>> buffers_of(const Module& model) {
  std::vector<std::vector<double>> values;
  for (const auto& buffer : model.named_buffers()) values.push_back(values_of(buffer.second));
  return values;
}

// Overwrites the ids at or past the lengths, which are padding.
Tensor with_padding(const Tensor& ids, std::initializer_list<std::int64_t> lengths, double padding) {
  const Tensor padded = ids.clone();
  std::int64_t row = 0;
  for (const std::int64_t length : lengths) {
    const Tensor end = padded.slice(0, row, row + 1).slice(1, length, ids.size(1));
    end.copy_from(Tensor::full(end.sizes(), DType::i32, padding));
    ++row;
  }
  return padded;
}

}  // namespace

TEST_CASE("batch norm: outputs, gradients and running statistics are those of torch.nn.BatchNorm1d") {
  const Golden all = read_safetensors(TEST_DATA "/golden/batch_norm.safetensors");
  const auto tensor = [&](const std::string& name) { return all.at("batch_norm/" + name); };
  for (const auto& [dtype, tolerance] : {std::pair{DType::f64, 1e-9}, {DType::f32, 1e-5}}) {
    const BatchNorm norm(6, true, 1e-3, dtype);
    norm.weight.value().copy_from(tensor("weight").to(dtype));
    norm.bias.value().copy_from(tensor("bias").to(dtype));
    for (const std::string pass : {"first", "second", "evaluation"}) {
      CAPTURE(pass);
      norm.zero_grad();
      const Variable x = Variable::parameter(tensor(pass + "/x").to(dtype));
      Tape tape({.training = pass != "evaluation"});
      const Variable y = norm.forward_rows(x.on(tape), tensor("lengths"));
      tape.backward(y, tensor(pass + "/cotangent").to(dtype));
      const auto expect = [&, tolerance = tolerance](const Tensor& got, const std::string& name) {
        CAPTURE(name);
        CHECK(distance(got, tensor(str_cat(pass, "/", name))) < tolerance);
      };
      expect(y.value(), "y"), expect(x.grad(), "dx");
      expect(norm.weight.grad(), "dweight"), expect(norm.bias.grad(), "dbias");
      expect(norm.state_dict().at("running_mean"), "running_mean");
      expect(norm.state_dict().at("running_var"), "running_var");
    }
  }
}

TEST_CASE("batch norm: one token leaves the running statistics as they are, and sizes that do not fit are refused") {
  const BatchNorm norm(4, true, 1e-3, DType::f64);
  const auto before = buffers_of(norm);
  Tape tape({.training = true});
  const Variable one = Variable::constant(tape, Tensor::full({1, 4}, DType::f64, 3));
  CHECK(values_of(norm.forward(one).value()) == std::vector<double>(4, 0));
  CHECK(buffers_of(norm) == before);
  CHECK_THROWS_AS(norm.forward_rows(one, Tensor::full({1}, DType::i32, 1)), Error);
  CHECK_THROWS_AS(norm.forward(Variable::constant(tape, Tensor::zeros({2, 3}, DType::f64))), Error);
}

TEST_CASE("batch norm: a length beyond a row is that of the row, and one below 0 is 0, as in attention") {
  const auto random = [](std::uint64_t seed) {
    const Tensor tensor = Tensor::empty({2, 3, 4}, DType::f64);
    initialize(tensor, Init::normal(1), RandomKey{.seed = seed});
    return tensor;
  };
  std::vector<std::vector<std::vector<double>>> results;
  for (const Tensor& lengths : {Tensor::from<std::int32_t>({3, 0}, {2}), Tensor::from<std::int32_t>({9, -2}, {2})}) {
    const BatchNorm norm(4, true, 1e-3, DType::f64);
    norm.initialize_parameters(1);
    const Variable x = Variable::parameter(random(1));
    Tape tape({.training = true});
    const Variable y = norm.forward_rows(x.on(tape), lengths);
    tape.backward(y, random(2));
    results.push_back(buffers_of(norm));
    results.back().push_back(values_of(y.value())), results.back().push_back(values_of(x.grad()));
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("batch norm: recomputed blocks have the same gradients, and change the running statistics once") {
  for (const NormPlace place : {NormPlace::pre, NormPlace::post}) {
    std::vector<Gradients> gradients;
    std::vector<std::vector<std::vector<double>>> buffers;
    for (const bool recompute : {false, true}) {
      const Gpt model(batch_gpt(place));
      randomize(model);
      const Tensor ids = ids_tensor(random_ids(24, 17, 1), {2, 12});
      add_gradients(model, ids, ids, {}, {.training = true, .recompute = recompute});
      gradients.push_back(gradients_of(model)), buffers.push_back(buffers_of(model));
    }
    CHECK(same_bits(gradients[0], gradients[1]));
    CHECK(buffers[0] == buffers[1]);
    CHECK(buffers[0].size() == (place == NormPlace::pre ? 2 * 7 : 2 * 6));
  }
}

TEST_CASE("batch norm: the gradients of a model in training are those of finite differences") {
  GptConfig config = batch_gpt();
  config.block.bias = false;  // a bias that is added to all tokens, which batch norm takes away, has no gradient
  const Gpt model(config);
  randomize(model);
  const Tensor ids = ids_tensor(random_ids(24, 17, 1), {2, 12}), targets = ids_tensor(random_ids(24, 17, 2), {2, 12});
  add_gradients(model, ids, targets, {}, {.training = true});
  check_gradients(
      model, gradients_of(model),
      [&] {
        Tape tape({.record = false, .training = true});
        return model.loss(Variable::constant(tape, ids), Variable::constant(tape, targets), {}).value().item();
      },
      1e-6);
}

TEST_CASE("batch norm: padding changes neither gradients nor statistics, in bert and on both sides of a transformer") {
  const Tensor ids = ids_tensor(random_ids(24, 17, 1), {2, 12}), targets = ids_tensor(random_ids(24, 17, 2), {2, 12});
  const Tensor lengths = Tensor::from<std::int32_t>({7, 12}, {2});
  std::vector<std::vector<std::vector<double>>> buffers;
  std::vector<Gradients> gradients;
  for (const double padding : {0, 5}) {
    const Tensor inputs = with_padding(ids, {7, 12}, padding);
    BertConfig config{.vocab = 17, .context = 12, .layers = 2, .block = batch_config(small_gpt().block)};
    const Bert bert(config);
    randomize(bert);
    {
      Tape tape({.training = true});
      const Variable x = bert.features({.input_ids = Variable::constant(tape, inputs), .lengths = lengths});
      tape.backward(sum(square(slice(slice(x, 1, 0, 7), 2, 0, 5))));
    }
    TransformerConfig pair = small_transformer();
    pair.block = batch_config(pair.block);
    const Transformer transformer(pair);
    randomize(transformer);
    {
      Tape tape({.training = true});
      const auto constant = [&](const Tensor& x) { return Variable::constant(tape, x); };
      tape.backward(transformer.loss({inputs, lengths}, constant(inputs),
                                     constant(with_padding(targets, {7, 12}, kIgnoredTarget)), {}));
    }
    for (const Module* model : {static_cast<const Module*>(&bert), static_cast<const Module*>(&transformer)}) {
      gradients.push_back(gradients_of(*model)), buffers.push_back(buffers_of(*model));
    }
  }
  // The embeddings of the padding get no gradient either.
  for (const std::size_t i : {0, 1}) {
    CHECK(buffers[i] == buffers[i + 2]);
    CHECK(distance(gradients[i], gradients[i + 2]) < 1e-12);
  }
}

TEST_CASE("batch norm: a cached model predicts by the running statistics what it predicts without a cache") {
  const Gpt model(batch_gpt());
  randomize(model);
  const Tensor ids = ids_tensor(random_ids(24, 17, 1), {2, 12});
  add_gradients(model, ids, ids, {}, {.training = true});
  const auto before = buffers_of(model);
  const Tensor expected = logits_of(model, ids);
  const auto cache = model.make_cache();
  for (std::int64_t t = 0; t < 12; ++t) {
    Tape tape(no_grad);
    const Variable token = Variable::constant(tape, ids.slice(1, t, t + 1).contiguous());
    const Tensor got = model.logits(model.forward(token, cache.get())).value();
    CHECK(distance(got, expected.slice(1, t, t + 1)) < 1e-12);
  }
  CHECK(buffers_of(model) == before);
}

TEST_CASE("module: buffers are stored and loaded with the parameters, and no parameters themselves") {
  const Gpt trained(batch_gpt()), loaded(batch_gpt());
  randomize(trained);
  const Tensor ids = ids_tensor(random_ids(24, 17, 1), {2, 12});
  add_gradients(trained, ids, ids, {}, {.training = true});
  CHECK(buffers_of(trained) != buffers_of(loaded));
  loaded.load_state_dict(trained.state_dict());
  CHECK(buffers_of(trained) == buffers_of(loaded));
  CHECK(trained.named_tensors().size() == trained.named_parameters().size() + trained.named_buffers().size());
  auto state = trained.state_dict();
  state.erase("final_norm.running_var");
  CHECK_THROWS_WITH_AS(loaded.load_state_dict(state),
                       "load_state_dict: the parameter final_norm.running_var is missing", Error);
}

TEST_CASE("module: a model whose parameters have no memory has its buffers, so a classifier can be put on it") {
  const ShapesOnly shapes;
  const EncoderForClassification model(std::make_unique<Gpt>(batch_gpt()), {.labels = 3});
  CHECK(model.named_buffers().size() == 2 * 7);
}
