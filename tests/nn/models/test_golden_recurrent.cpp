// Recurrent models beside PyTorch's.
#include "autograd/ops/ops.h"
#include "nn/models/rnn.h"
#include "nn/models/rnn_seq2seq.h"
#include "tests/nn/golden_support.h"
#include "tests/nn/heads_support.h"

using namespace tapeformer;

namespace {

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

void check_model(CellKind cell, DType dtype, double tolerance) {
  const std::string name = word_of(cell);
  CAPTURE(name);
  const Rnn model(rnn_config(cell, dtype));
  const Tensor ids = golden().at(name + "/ids"), targets = golden().at(name + "/targets");
  check_training(name, model, dtype, 0.1, tolerance,
                 [&] { return add_gradients(model, ids, targets, {}, {.training = true}); });
  load_start(name, model, dtype);
  CHECK(distance(logits_of(model, ids), golden().at(name + "/logits")) <= tolerance);
}

BilmConfig bilm_config(bool residual, DType dtype) {
  if (!residual)
    return {.vocab = 13, .stack = {.cell = CellKind::gru, .layers = 2, .input_dim = 5, .dim = 7, .dtype = dtype}};
  return {.vocab = 11,
          .stack = {.cell = CellKind::lstm, .layers = 3, .input_dim = 6, .dim = 6, .residual = true, .dtype = dtype}};
}

void check_bilm(bool residual, DType dtype, double tolerance) {
  const std::string name = residual ? "bilm_residual" : "bilm";
  CAPTURE(name);
  const BidirectionalBilm model(bilm_config(residual, dtype), /*tied=*/residual);
  const Tensor ids = golden().at(name + "/ids"), lengths = golden().at(name + "/lengths");
  check_training(name, model, dtype, 0.1, tolerance,
                 [&] { return add_gradients(model, ids, lengths, {}, {.training = true}); });
  load_start(name, model, dtype);
  Tape tape(no_grad);
  const std::vector<Variable> layers = model.hidden_states({Variable::constant(tape, ids), lengths});
  check_layers(name, layers, lengths, tolerance);
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

constexpr CellKind kGoldenCells[] = {CellKind::lstm, CellKind::gru, CellKind::tanh};

}  // namespace

TEST_CASE("golden: language models of torch.nn.LSTM, GRU and RNN, after ten AdamW steps") {
  for (const CellKind cell : kGoldenCells) {
    check_model(cell, DType::f64, 1e-9);
    check_model(cell, DType::f32, 1e-5);
  }
}

TEST_CASE("golden: bidirectional layers of torch.nn.LSTM, GRU and RNN on packed rows, with every gradient") {
  for (const CellKind cell : kGoldenCells) {
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

TEST_CASE("golden: recurrent encoder-decoders, every score in both orders, after ten Adam steps") {
  for (const RecurrentTranslator& translator : kRecurrentTranslators) {
    CAPTURE(translator.name);
    for (const auto& [dtype, tolerance] : {std::pair{DType::f64, 1e-9}, {DType::f32, 1e-5}}) {
      check_translator(translator.name, RnnSeq2Seq(config_of(translator, dtype)), dtype, 0, tolerance);
    }
  }
}

TEST_CASE("golden: the parameters of recurrent models move far enough for ten steps to be a test") {
  for (const char* model : {"lstm", "gru", "tanh", "bilm", "bilm_residual"}) check_moves(model);
  for (const RecurrentTranslator& translator : kRecurrentTranslators) check_moves(translator.name);
}
