// Against PyTorch: golden/make_gpt_golden.py made the numbers and says what they are.
#include "nn/safetensors.h"
#include "tests/nn/support.h"
#include "train/optimizer.h"

using namespace tapeformer;

namespace {

using Golden = std::map<std::string, Tensor>;

const Golden& golden() {
  static const Golden tensors = read_safetensors(TEST_DATA "/golden/gpt.safetensors");
  return tensors;
}

GptConfig gpt2_config(DType dtype) {
  GptConfig config;
  config.vocab = 23, config.context = 12, config.layers = 2;
  config.block = {.dim = 16, .heads = 2, .ff_dim = 64, .dtype = dtype};
  return config;
}

GptConfig post_norm_config(DType dtype) {
  GptConfig config;
  config.vocab = 19, config.context = 10, config.layers = 2;
  config.block = {.dim = 12,
                  .heads = 3,
                  .ff_dim = 24,
                  .norm = NormPlace::post,
                  .activation = ActivationKind::relu,
                  .bias = false,
                  .dtype = dtype};
  config.position = PositionKind::sinusoidal;
  config.tie_embeddings = false;
  return config;
}

// The tensors PREFIX/NAME by NAME.
Golden part(const std::string& prefix) {
  Golden found;
  for (const auto& [name, tensor] : golden()) {
    if (name.starts_with(prefix + "/")) found.emplace(name.substr(prefix.size() + 1), tensor);
  }
  return found;
}

// The key's third of an attention bias gets the gradient zero by definition, since softmax does not change when every
// score of a row moves by as much. What rounding leaves of it, Adam divides by its own size: in f32 that part moves at
// random, without any effect, and cannot be compared.
Golden without_key_biases(const Golden& tensors) {
  Golden result = tensors;
  for (auto& [name, tensor] : result) {
    if (!name.ends_with("qkv.bias")) continue;
    tensor = tensor.clone();
    const std::int64_t dim = tensor.size(0) / 3;
    tensor.slice(0, dim, 2 * dim).fill(0);
  }
  return result;
}

void check_parts(const Golden& got, const Golden& expected, double tolerance) {
  REQUIRE(got.size() == expected.size());
  for (const auto& entry : expected) {
    CAPTURE(entry.first);
    REQUIRE(got.contains(entry.first));
    CHECK(distance(got.at(entry.first), entry.second) <= tolerance);
  }
}

// Every tensor to `tolerance` of its largest element.
void check_model(const std::string& model_name, const GptConfig& config, double smoothing, double tolerance) {
  const DType dtype = config.block.dtype;
  const Gpt model(config);
  Golden start;
  for (const auto& [name, tensor] : part(model_name + "/param")) start.emplace(name, tensor.to(dtype));
  model.load_state_dict(start);
  const ParameterSlab slab(model);
  AdamW optimizer(slab, {.beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9, .weight_decay = 0.1, .clip = 1});
  const Tensor ids = golden().at(model_name + "/ids"), targets = golden().at(model_name + "/targets");
  const std::vector<double> losses = values_of(golden().at(model_name + "/losses"));
  const std::vector<double> norms = values_of(golden().at(model_name + "/norms"));
  for (std::size_t step = 0; step < losses.size(); ++step) {
    CAPTURE(step);
    slab.zero_grad();
    const double loss = add_gradients(model, ids, targets, {.smoothing = smoothing}, {.training = true});
    CHECK(std::abs(loss - losses[step]) <= tolerance * losses[step]);
    if (step == 0) check_parts(gradients_of(model), part(model_name + "/grad"), tolerance);
    const double norm = optimizer.update(3e-3, static_cast<std::int64_t>(step) + 1);
    CHECK(std::abs(norm - norms[step]) <= tolerance * norms[step]);
  }
  const Golden after = part(model_name + "/after");
  if (dtype == DType::f64) {
    check_parts(model.state_dict(), after, tolerance);
  } else {
    check_parts(without_key_biases(model.state_dict()), without_key_biases(after), tolerance);
  }
}

}  // namespace

TEST_CASE("golden: a GPT-2 with PyTorch's loss, gradients and parameters after ten AdamW steps, f64") {
  check_model("gpt2", gpt2_config(DType::f64), 0, 1e-9);
}

TEST_CASE("golden: a GPT-2 with PyTorch's loss, gradients and parameters after ten AdamW steps, f32") {
  check_model("gpt2", gpt2_config(DType::f32), 0, 1e-5);
}

TEST_CASE("golden: post-norm, ReLU, sinusoids, no biases, an untied head and label smoothing agree too, f64") {
  check_model("post", post_norm_config(DType::f64), 0.1, 1e-9);
}

TEST_CASE("golden: post-norm, ReLU, sinusoids, no biases, an untied head and label smoothing agree too, f32") {
  check_model("post", post_norm_config(DType::f32), 0.1, 1e-5);
}

TEST_CASE("golden: the parameters move far enough for ten steps to be a test") {
  for (const char* model : {"gpt2", "post"}) {
    const Golden start = part(std::string(model) + "/param"), after = part(std::string(model) + "/after");
    for (const auto& [name, tensor] : start) CHECK(distance(after.at(name), tensor) > 1e-3);
  }
}
