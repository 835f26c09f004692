// Transformers beside PyTorch's.
#include "tests/nn/golden_support.h"
#include "tests/nn/heads_support.h"

using namespace tapeformer;

namespace {

constexpr std::pair<DType, double> kTolerances[] = {{DType::f64, 1e-9}, {DType::f32, 1e-5}};

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
  config.position = SinusoidalPositions{};
  config.tie_embeddings = false;
  return config;
}

TransformerConfig translator_config(DType dtype) {
  TransformerConfig config = small_transformer(dtype);
  config.source_vocab = config.target_vocab = 23;
  config.context = 9;
  config.block.dim = 12, config.block.heads = 2, config.block.ff_dim = 20;
  return config;
}

TransformerConfig pre_translator_config(DType dtype) {
  TransformerConfig config = translator_config(dtype);
  config.source_vocab = 17, config.target_vocab = 21;
  config.block.heads = 4, config.block.norm = NormPlace::pre, config.block.activation = ActivationKind::gelu;
  config.position = LearnedPositions{};
  config.tied = TiedEmbeddings::none;
  return config;
}

GptConfig llama_config(DType dtype) {
  GptConfig config;
  config.vocab = 23, config.context = 12, config.layers = 2;
  config.block = {.dim = 16,
                  .heads = 4,
                  .kv_heads = 2,
                  .ff_dim = 24,
                  .norm_kind = NormKind::rms,
                  .activation = ActivationKind::swiglu,
                  .bias = false,
                  .dtype = dtype};
  config.position = Rotary{};
  return config;
}

GptConfig interleaved_llama_config(DType dtype) {
  GptConfig config = llama_config(dtype);
  config.vocab = 19, config.context = 10;
  config.block.dim = 24, config.block.kv_heads = 1, config.block.ff_dim = 20;
  config.block.activation = ActivationKind::geglu;
  config.position = Rotary{.base = 50, .pairs = RotaryPairs::interleaved};
  config.block.qk_norm = true;
  config.tie_embeddings = false;
  return config;
}

TransformerConfig llama_translator_config(DType dtype) {
  TransformerConfig config;
  config.source_vocab = config.target_vocab = 17;
  config.context = 9, config.layers = 2;
  config.block = llama_config(dtype).block;
  config.block.qk_norm = true;
  config.position = Rotary{};
  return config;
}

void check_model(const std::string& model_name, const GptConfig& config, double smoothing, double tolerance,
                 double z_loss = 0) {
  const Gpt model(config);
  const Tensor ids = golden().at(model_name + "/ids"), targets = golden().at(model_name + "/targets");
  check_training(model_name, model, config.block.dtype, 0.1, tolerance, [&] {
    return add_gradients(model, ids, targets, {.smoothing = smoothing, .z_loss = z_loss}, {.training = true});
  });
}

void check_model(const std::string& model_name, const TransformerConfig& config, double smoothing, double tolerance) {
  check_translator(model_name, Transformer(config), config.block.dtype, smoothing, tolerance);
}

void check_bert(DType dtype, double tolerance) {
  const MaskedBert model(
      {.vocab = 19,
       .context = 9,
       .layers = 2,
       .block = {.dim = 12, .heads = 3, .ff_dim = 20, .norm = NormPlace::post, .norm_eps = 1e-12, .dtype = dtype},
       .segments = 2});
  const auto rows = [](Tape& tape) -> MaskedRows {
    return {.text = {.input_ids = Variable::constant(tape, golden().at("bert/ids")),
                     .lengths = golden().at("bert/lengths"),
                     .token_type_ids = golden().at("bert/segments")},
            .targets = golden().at("bert/targets"),
            .sentence_labels = golden().at("bert/labels")};
  };
  check_training("bert", model, dtype, 0.1, tolerance, [&] {
    Tape tape({.training = true});
    const Variable loss = model.loss(rows(tape), {});
    tape.backward(loss);
    return loss.value().item();
  });
  load_start("bert", model, dtype);
  Tape tape(no_grad);
  const MaskedRows masked = rows(tape);
  const std::vector<Variable> layers = model.hidden_states(masked.text);
  const Variable features = layers.back();
  const Variable chosen = scored_positions(features, masked.targets).features;
  CHECK(distance(model.logits(chosen).value(), golden().at("bert/logits")) <= tolerance);
  CHECK(distance(model.next_sentence_logits(features).value(), golden().at("bert/sentence_logits")) <= tolerance);
  check_layers("bert", layers, masked.text.lengths, tolerance);
}

}  // namespace

TEST_CASE("golden: a GPT-2 with PyTorch's loss, gradients and parameters after ten AdamW steps, f64 and f32") {
  for (const auto& [dtype, tolerance] : kTolerances) check_model("gpt2", gpt2_config(dtype), 0, tolerance);
}

TEST_CASE("golden: post-norm, ReLU, sinusoids, no biases, an untied head and label smoothing agree too, f64 and f32") {
  for (const auto& [dtype, tolerance] : kTolerances) check_model("post", post_norm_config(dtype), 0.1, tolerance);
}

TEST_CASE("golden: an encoder-decoder with PyTorch's loss, gradients and parameters after ten steps, f64 and f32") {
  for (const auto& [dtype, tolerance] : kTolerances)
    check_model("translator", translator_config(dtype), 0.1, tolerance);
}

TEST_CASE("golden: a pre-norm encoder-decoder, learned positions, GELU and nothing tied agree too, f64 and f32") {
  for (const auto& [dtype, tolerance] : kTolerances)
    check_model("pre_translator", pre_translator_config(dtype), 0, tolerance);
}

TEST_CASE("golden: a Llama with RMS norms, rotary halves, SwiGLU and grouped queries, after ten AdamW steps") {
  for (const auto& [dtype, tolerance] : kTolerances) check_model("llama", llama_config(dtype), 0, tolerance);
}

TEST_CASE("golden: interleaved rotary pairs, GEGLU, one head of keys and values, QK-norm and a z-loss agree too") {
  for (const auto& [dtype, tolerance] : kTolerances) {
    check_model("llama_interleaved", interleaved_llama_config(dtype), 0, tolerance, 0.01);
  }
}

TEST_CASE("golden: an encoder-decoder of the same blocks, with a z-loss and padding, agrees too") {
  for (const auto& [dtype, tolerance] : kTolerances) {
    const Transformer model(llama_translator_config(dtype));
    check_translator("llama_translator", model, dtype, 0.1, tolerance, 0.02);
  }
}

TEST_CASE("golden: a BERT of torch.nn.TransformerEncoderLayer with segments, padding and both heads, after ten steps") {
  for (const auto& [dtype, tolerance] : kTolerances) check_bert(dtype, tolerance);
}

TEST_CASE("golden: the parameters of Transformers move far enough for ten steps to be a test") {
  for (const char* model :
       {"gpt2", "post", "translator", "pre_translator", "bert", "llama", "llama_interleaved", "llama_translator"}) {
    check_moves(model);
  }
}
