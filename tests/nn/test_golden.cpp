// Against PyTorch: the scripts golden/make_*_golden.py made the numbers and say what they are.
#include "autograd/ops/ops.h"
#include "nn/formats/safetensors.h"
#include "nn/models/bert.h"
#include "nn/models/rnn.h"
#include "nn/models/rnn_seq2seq.h"
#include "nn/optim/optimizers.h"
#include "tests/nn/encoder_support.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

using Golden = std::map<std::string, Tensor>;

const Golden& golden() {
  static const Golden tensors = [] {
    Golden all;
    for (const char* file : {"gpt", "transformer", "rnn", "bilm", "rnn_seq2seq", "llama", "bert"}) {
      all.merge(read_safetensors(str_cat(TEST_DATA "/golden/", file, ".safetensors")));
    }
    return all;
  }();
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

TransformerConfig translator_config(DType dtype) {
  TransformerConfig config;
  config.source_vocab = config.target_vocab = 23;
  config.context = 9, config.layers = 2;
  config.block = {
      .dim = 12, .heads = 2, .ff_dim = 20, .norm = NormPlace::post, .activation = ActivationKind::relu, .dtype = dtype};
  return config;
}

TransformerConfig pre_translator_config(DType dtype) {
  TransformerConfig config = translator_config(dtype);
  config.source_vocab = 17, config.target_vocab = 21;
  config.block.heads = 4, config.block.norm = NormPlace::pre, config.block.activation = ActivationKind::gelu;
  config.position = PositionKind::learned;
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
                  .rotary = Rotary{},
                  .bias = false,
                  .dtype = dtype};
  config.position = PositionKind::rotary;
  return config;
}

GptConfig interleaved_llama_config(DType dtype) {
  GptConfig config = llama_config(dtype);
  config.vocab = 19, config.context = 10;
  config.block.dim = 24, config.block.kv_heads = 1, config.block.ff_dim = 20;
  config.block.activation = ActivationKind::geglu;
  config.block.rotary = {.base = 50, .pairs = RotaryPairs::interleaved};
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
  config.position = PositionKind::rotary;
  return config;
}

RnnConfig rnn_config(CellKind cell, DType dtype) {
  switch (cell) {
    case CellKind::lstm:
      return {.vocab = 19, .stack = {.cell = cell, .layers = 2, .input_dim = 7, .dim = 9, .dtype = dtype}};
    case CellKind::gru:
      return {.vocab = 17,
              .stack = {.cell = cell, .layers = 2, .input_dim = 8, .dim = 8, .dtype = dtype},
              .tie_embeddings = true};
    case CellKind::tanh:
      return {.vocab = 13, .stack = {.cell = cell, .layers = 3, .input_dim = 6, .dim = 10, .dtype = dtype}};
  }
  return {};
}

// A recurrent encoder-decoder of make_rnn_seq2seq_golden.py.
struct RecurrentTranslator {
  const char* name;
  CellKind cell;
  std::int64_t layers;
  AttentionScore score;
  AttentionOrder order;
  EncoderKind encoder;
  TiedEmbeddings tied;
};

constexpr RecurrentTranslator kRecurrentTranslators[] = {
    {"previous_dot", CellKind::gru, 1, AttentionScore::dot, AttentionOrder::previous, EncoderKind::bidirectional,
     TiedEmbeddings::none},
    {"previous_bilinear", CellKind::lstm, 2, AttentionScore::bilinear, AttentionOrder::previous,
     EncoderKind::bidirectional, TiedEmbeddings::output},
    {"previous_additive", CellKind::gru, 1, AttentionScore::additive, AttentionOrder::previous,
     EncoderKind::bidirectional, TiedEmbeddings::all},
    {"current_dot", CellKind::lstm, 2, AttentionScore::dot, AttentionOrder::current, EncoderKind::forward,
     TiedEmbeddings::none},
    {"current_bilinear", CellKind::gru, 2, AttentionScore::bilinear, AttentionOrder::current,
     EncoderKind::bidirectional, TiedEmbeddings::output},
    {"current_additive", CellKind::tanh, 1, AttentionScore::additive, AttentionOrder::current, EncoderKind::forward,
     TiedEmbeddings::all},
    {"no_attention", CellKind::gru, 2, AttentionScore::none, AttentionOrder::previous, EncoderKind::forward,
     TiedEmbeddings::none},
};

RnnSeq2SeqConfig config_of(const RecurrentTranslator& of, DType dtype) {
  return {.source_vocab = of.tied == TiedEmbeddings::all ? 9 : 7,
          .target_vocab = 9,
          .stack = {.cell = of.cell, .layers = of.layers, .input_dim = 3, .dim = 4, .dtype = dtype},
          .score = of.score,
          .order = of.order,
          .encoder = of.encoder,
          .tied = of.tied};
}

// The tensors PREFIX/NAME by NAME.
Golden part(const std::string& prefix) {
  Golden found;
  for (const auto& [name, tensor] : golden()) {
    if (name.starts_with(prefix + "/")) found.emplace(name.substr(prefix.size() + 1), tensor);
  }
  return found;
}

// The part of an attention bias that makes the keys gets the gradient zero by definition, since softmax does not change
// when every score of a row moves by as much. What rounding leaves of it, Adam divides by its own size: in f32 that
// part moves at random, without any effect, and cannot be compared.
Golden without_key_biases(const Golden& tensors) {
  Golden result = tensors;
  for (auto& [name, tensor] : result) {
    const std::int64_t rows = name.ends_with("qkv.bias") || name.ends_with(".kv.bias") ? tensor.size(0) : 0;
    if (rows == 0) continue;
    tensor = tensor.clone();
    if (name.ends_with("qkv.bias")) tensor.slice(0, rows / 3, 2 * rows / 3).fill(0);
    if (name.ends_with(".kv.bias")) tensor.slice(0, 0, rows / 2).fill(0);
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

// Every tensor to `tolerance` of its largest element; add_gradients() gives the loss of one step on the golden batch.
template <class AddGradients>
void check_training(const std::string& model_name, const Module& model, DType dtype, double weight_decay,
                    double tolerance, const AddGradients& add_gradients) {
  Golden start;
  for (const auto& [name, tensor] : part(model_name + "/param")) start.emplace(name, tensor.to(dtype));
  model.load_state_dict(start);
  const ParameterSlab slab(model);
  const auto optimizer = make_optimizer(
      "adamw", slab, {.beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9, .weight_decay = weight_decay, .clip = 1});
  const std::vector<double> losses = values_of(golden().at(model_name + "/losses"));
  const std::vector<double> norms = values_of(golden().at(model_name + "/norms"));
  for (std::size_t step = 0; step < losses.size(); ++step) {
    CAPTURE(step);
    slab.zero_grad();
    const double loss = add_gradients();
    CHECK(std::abs(loss - losses[step]) <= tolerance * losses[step]);
    if (step == 0) check_parts(gradients_of(model), part(model_name + "/grad"), tolerance);
    const double norm = optimizer->step(3e-3, static_cast<std::int64_t>(step) + 1);
    CHECK(std::abs(norm - norms[step]) <= tolerance * norms[step]);
  }
  const Golden after = part(model_name + "/after");
  if (dtype == DType::f64) {
    check_parts(model.state_dict(), after, tolerance);
  } else {
    check_parts(without_key_biases(model.state_dict()), without_key_biases(after), tolerance);
  }
}

void check_model(const std::string& model_name, const GptConfig& config, double smoothing, double tolerance,
                 double z_loss = 0) {
  const Gpt model(config);
  const Tensor ids = golden().at(model_name + "/ids"), targets = golden().at(model_name + "/targets");
  check_training(model_name, model, config.block.dtype, 0.1, tolerance, [&] {
    return add_gradients(model, ids, targets, {.smoothing = smoothing, .z_loss = z_loss}, {.training = true});
  });
}

void check_translator(const std::string& model_name, const SequenceToSequence& model, DType dtype, double smoothing,
                      double tolerance, double z_loss = 0) {
  const auto tensor = [&](const char* name) { return golden().at(str_cat(model_name, "/", name)); };
  const PairBatch batch{{tensor("source"), tensor("source_lengths")}, tensor("inputs"), tensor("targets")};
  check_training(model_name, model, dtype, 0, tolerance, [&] {
    return add_gradients(model, batch, {.smoothing = smoothing, .z_loss = z_loss}, {.training = true});
  });
}

void check_model(const std::string& model_name, const TransformerConfig& config, double smoothing, double tolerance) {
  check_translator(model_name, Transformer(config), config.block.dtype, smoothing, tolerance);
}

void check_model(CellKind cell, DType dtype, double tolerance) {
  const std::string name = word_of(cell);
  CAPTURE(name);
  const Rnn model(rnn_config(cell, dtype));
  const Tensor ids = golden().at(name + "/ids"), targets = golden().at(name + "/targets");
  check_training(name, model, dtype, 0.1, tolerance,
                 [&] { return add_gradients(model, ids, targets, {}, {.training = true}); });
  Golden start;
  for (const auto& [parameter, tensor] : part(name + "/param")) start.emplace(parameter, tensor.to(dtype));
  model.load_state_dict(start);
  CHECK(distance(logits_of(model, ids), golden().at(name + "/logits")) <= tolerance);
}

// The vectors of every layer, (B, T, F), at the tokens that are no padding.
void check_layers(const std::string& name, const std::vector<Variable>& layers, const Tensor& lengths,
                  double tolerance) {
  for (std::size_t j = 0; j < layers.size(); ++j) {
    for (std::int64_t row = 0; row < lengths.numel(); ++row) {
      const auto own = [&](const Tensor& x) {
        return x.slice(0, row, row + 1).slice(1, 0, lengths.data<std::int32_t>()[row]).contiguous();
      };
      CHECK(distance(own(layers[j].value()), own(golden().at(str_cat(name, "/layer.", j)))) <= tolerance);
    }
  }
}

BilmConfig bilm_config(bool residual, DType dtype) {
  if (!residual)
    return {.vocab = 13, .stack = {.cell = CellKind::gru, .layers = 2, .input_dim = 5, .dim = 7, .dtype = dtype}};
  return {.vocab = 11,
          .stack = {.cell = CellKind::lstm, .layers = 3, .input_dim = 6, .dim = 6, .residual = true, .dtype = dtype},
          .tie_embeddings = true};
}

void check_bilm(bool residual, DType dtype, double tolerance) {
  const std::string name = residual ? "bilm_residual" : "bilm";
  CAPTURE(name);
  const Bilm model(bilm_config(residual, dtype));
  const Tensor ids = golden().at(name + "/ids"), lengths = golden().at(name + "/lengths");
  check_training(name, model, dtype, 0.1, tolerance,
                 [&] { return add_gradients(model, ids, lengths, {}, {.training = true}); });
  Golden start;
  for (const auto& [parameter, tensor] : part(name + "/param")) start.emplace(parameter, tensor.to(dtype));
  model.load_state_dict(start);
  Tape tape(no_grad);
  const std::vector<Variable> layers = model.representations({Variable::constant(tape, ids), lengths});
  check_layers(name, layers, lengths, tolerance);
}

void check_bert(DType dtype, double tolerance) {
  const Bert model(
      {.vocab = 19,
       .context = 9,
       .layers = 2,
       .block = {.dim = 12, .heads = 3, .ff_dim = 20, .norm = NormPlace::post, .norm_eps = 1e-12, .dtype = dtype},
       .segments = 2,
       .next_sentence = true});
  const auto rows = [](Tape& tape) -> MaskedRows {
    return {.text = {.ids = Variable::constant(tape, golden().at("bert/ids")),
                     .lengths = golden().at("bert/lengths"),
                     .segments = golden().at("bert/segments")},
            .targets = golden().at("bert/targets"),
            .sentence_labels = golden().at("bert/labels")};
  };
  check_training("bert", model, dtype, 0.1, tolerance, [&] {
    Tape tape({.training = true});
    const Variable loss = model.loss(rows(tape), {});
    tape.backward(loss);
    return loss.value().item();
  });
  Golden start;
  for (const auto& [parameter, tensor] : part("bert/param")) start.emplace(parameter, tensor.to(dtype));
  model.load_state_dict(start);
  Tape tape(no_grad);
  const MaskedRows masked = rows(tape);
  const std::vector<Variable> layers = model.representations(masked.text);
  const Variable features = layers.back();
  const Variable chosen = scored_places(features, masked.targets).features;
  CHECK(distance(model.logits(chosen).value(), golden().at("bert/logits")) <= tolerance);
  CHECK(distance(model.next_sentence_logits(features).value(), golden().at("bert/sentence_logits")) <= tolerance);
  check_layers("bert", layers, masked.text.lengths, tolerance);
}

// Both directions of a layer on padded rows. At padding PyTorch gives zeros and ours the state that a row keeps, which
// a mask leaves out.
void check_bidirectional_layer(CellKind cell, DType dtype, double tolerance) {
  const std::string name = word_of(cell) + "_layer";
  CAPTURE(name);
  const auto tensor = [&](const std::string& key) { return golden().at(name + "/" + key).to(dtype); };
  const Tensor lengths = golden().at(name + "/lengths"), y = tensor("y"), cotangent = tensor("cotangent");
  const Tensor mask = Tensor::full(y.sizes(), dtype, 0);
  for (std::int64_t row = 0; row < lengths.numel(); ++row) {
    const Tensor scored = mask.slice(1, row, row + 1).slice(0, 0, lengths.data<std::int32_t>()[row]);
    scored.copy_from(Tensor::full(scored.sizes(), dtype, 1));
  }

  Tape tape;
  std::map<std::string, Variable> inputs;
  for (const auto& [key, value] : part(name + "/in")) inputs[key] = Variable::parameter(value.to(dtype));
  const Variable x = inputs.at("x").on(tape);
  std::vector<Variable> directions;
  for (const int direction : {0, 1}) {
    const auto start = [&](const char* key) {
      return reshape(slice(inputs.at(key).on(tape), 0, direction, direction + 1), {y.size(1), y.size(2) / 2});
    };
    const auto parameter = [&](const char* key) { return inputs.at(str_cat(key, "_l0", direction ? "_reverse" : "")); };
    directions.push_back(recurrent(linear(x, parameter("weight_ih"), parameter("bias_ih")), start("h0"),
                                   cell == CellKind::lstm ? start("c0") : Variable(), parameter("weight_hh"),
                                   parameter("bias_hh"), {.cell = cell, .reverse = direction == 1, .lengths = lengths})
                             .h);
  }
  const Variable out = mul(concat(directions, -1), Variable::constant(tape, mask));
  CHECK(distance(out.value(), y) <= tolerance);
  tape.backward(out, cotangent);
  for (const auto& entry : part(name + "/grad")) {
    CAPTURE(entry.first);
    CHECK(distance(inputs.at(entry.first).grad(), entry.second) <= tolerance);
  }
}

constexpr CellKind kCells[] = {CellKind::lstm, CellKind::gru, CellKind::tanh};

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

TEST_CASE("golden: an encoder-decoder with PyTorch's loss, gradients and parameters after ten steps, f64") {
  check_model("translator", translator_config(DType::f64), 0.1, 1e-9);
}

TEST_CASE("golden: an encoder-decoder with PyTorch's loss, gradients and parameters after ten steps, f32") {
  check_model("translator", translator_config(DType::f32), 0.1, 1e-5);
}

TEST_CASE("golden: a pre-norm encoder-decoder, learned positions, GELU and nothing tied agree too, f64") {
  check_model("pre_translator", pre_translator_config(DType::f64), 0, 1e-9);
}

TEST_CASE("golden: a pre-norm encoder-decoder, learned positions, GELU and nothing tied agree too, f32") {
  check_model("pre_translator", pre_translator_config(DType::f32), 0, 1e-5);
}

TEST_CASE("golden: a Llama with RMS norms, rotary halves, SwiGLU and grouped queries, after ten AdamW steps") {
  check_model("llama", llama_config(DType::f64), 0, 1e-9);
  check_model("llama", llama_config(DType::f32), 0, 1e-5);
}

TEST_CASE("golden: interleaved rotary pairs, GEGLU, one head of keys and values, QK-norm and a z-loss agree too") {
  check_model("llama_interleaved", interleaved_llama_config(DType::f64), 0, 1e-9, 0.01);
  check_model("llama_interleaved", interleaved_llama_config(DType::f32), 0, 1e-5, 0.01);
}

TEST_CASE("golden: an encoder-decoder of the same blocks, with a z-loss and padding, agrees too") {
  for (const auto& [dtype, tolerance] : {std::pair{DType::f64, 1e-9}, {DType::f32, 1e-5}}) {
    const Transformer model(llama_translator_config(dtype));
    check_translator("llama_translator", model, dtype, 0.1, tolerance, 0.02);
  }
}

TEST_CASE("golden: language models of torch.nn.LSTM, GRU and RNN, after ten AdamW steps") {
  for (const CellKind cell : kCells) {
    check_model(cell, DType::f64, 1e-9);
    check_model(cell, DType::f32, 1e-5);
  }
}

TEST_CASE("golden: bidirectional layers of torch.nn.LSTM, GRU and RNN on packed rows, with every gradient") {
  for (const CellKind cell : kCells) {
    check_bidirectional_layer(cell, DType::f64, 1e-9);
    check_bidirectional_layer(cell, DType::f32, 1e-5);
  }
}

TEST_CASE(
    "golden: bidirectional language models of torch.nn.GRU and LSTM, tied with residual connections or not, padded") {
  for (const bool residual : {false, true}) {
    check_bilm(residual, DType::f64, 1e-9);
    check_bilm(residual, DType::f32, 1e-5);
  }
}

TEST_CASE("golden: a BERT of torch.nn.TransformerEncoderLayer with segments, padding and both heads, after ten steps") {
  check_bert(DType::f64, 1e-9);
  check_bert(DType::f32, 1e-5);
}

TEST_CASE("golden: recurrent encoder-decoders, every score in both orders, after ten Adam steps") {
  for (const RecurrentTranslator& translator : kRecurrentTranslators) {
    CAPTURE(translator.name);
    for (const auto& [dtype, tolerance] : {std::pair{DType::f64, 1e-9}, {DType::f32, 1e-5}}) {
      check_translator(translator.name, RnnSeq2Seq(config_of(translator, dtype)), dtype, 0, tolerance);
    }
  }
}

TEST_CASE("golden: the parameters move far enough for ten steps to be a test") {
  std::vector<std::string> models{
      "gpt2", "post",  "translator",        "pre_translator",  "lstm", "gru", "tanh", "bilm", "bilm_residual",
      "bert", "llama", "llama_interleaved", "llama_translator"};
  for (const RecurrentTranslator& translator : kRecurrentTranslators) models.emplace_back(translator.name);
  for (const std::string& model : models) {
    const Golden start = part(model + "/param"), after = part(model + "/after");
    for (const auto& [name, tensor] : start) CHECK(distance(after.at(name), tensor) > 1e-3);
  }
}
