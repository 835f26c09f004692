// The vectors that models give to tokens in each layer: which of them know of other tokens, and where they end.
#include "nn/models/bert.h"
#include "nn/models/bilm.h"
#include "nn/models/nplm.h"
#include "nn/models/rnn.h"
#include "nn/models/rnn_seq2seq.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

constexpr std::int64_t kTokens = 9;

Tensor row_of(const std::vector<std::int32_t>& ids) { return ids_tensor(ids, {1, std::ssize(ids)}); }

// The layers' vectors (1, T, F) of one row of ids.
std::vector<Tensor> layers_of(const std::vector<Variable>& layers) {
  std::vector<Tensor> values;
  for (const Variable& layer : layers) values.push_back(layer.value().contiguous());
  return values;
}
std::vector<Tensor> vectors_of(const Model& model, const std::vector<std::int32_t>& ids) {
  Tape tape(no_grad);
  return layers_of(model.hidden_states({.input_ids = Variable::constant(tape, row_of(ids))}));
}

Tensor tokens(const Tensor& x, std::int64_t begin, std::int64_t end) { return x.slice(1, begin, end).contiguous(); }

// Changes the tokens 4 and 5 of a row (the first is token 1), and looks at the tokens 1 to 3 in every layer.
void check_edit(const Model& model, std::int64_t layers) {
  randomize(model);
  std::vector<std::int32_t> ids = random_ids(kTokens, 13, 3);
  const std::vector<Tensor> before = vectors_of(model, ids);
  REQUIRE(std::ssize(before) == layers + 1);
  for (const int place : {3, 4}) ids[place] = (ids[place] + 1) % 13;
  const std::vector<Tensor> after = vectors_of(model, ids);
  for (std::size_t layer = 0; layer < before.size(); ++layer) {
    CAPTURE(layer);
    const bool same = same_bits(tokens(before[layer], 0, 3), tokens(after[layer], 0, 3));
    CHECK(same == (model.is_causal() || layer == 0));
    CHECK_FALSE(same_bits(tokens(before[layer], 3, 4), tokens(after[layer], 3, 4)));
    // What follows the edit knows of it in every layer but the embedding.
    CHECK(same_bits(tokens(before[layer], 5, kTokens), tokens(after[layer], 5, kTokens)) == (layer == 0));
  }
}

Tensor features_of(const CausalModel& model, const std::vector<std::int32_t>& ids) {
  Tape tape(no_grad);
  return model.forward(Variable::constant(tape, row_of(ids))).value().contiguous();
}

}  // namespace

TEST_CASE("vectors: editing tokens 4 and 5 changes none of tokens 1 to 3 in a causal model, and all in the others") {
  for (const GptConfig& config : architectures()) {
    CAPTURE(name_of(config));
    check_edit(Gpt(config), config.layers);
  }
  const RecurrentConfig stack{.cell = CellKind::lstm, .layers = 2, .input_dim = 6, .dim = 9, .dtype = DType::f64};
  check_edit(Rnn({.vocab = 17, .stack = stack}), 2);
  check_edit(Bilm({.vocab = 17, .stack = stack}), 2);
  check_edit(Bert({.vocab = 17,
                   .context = 12,
                   .layers = 2,
                   .block = {.dim = 8, .heads = 2, .ff_dim = 12, .dtype = DType::f64}}),
             2);
  for (const TransformerConfig& config : transformer_architectures()) {
    CAPTURE(name_of(config));
    check_edit(Transformer(config), 2);
  }
  for (const EncoderKind kind : {EncoderKind::forward, EncoderKind::bidirectional}) {
    RecurrentConfig pair = stack;
    pair.dim = 8;
    const RnnSeq2SeqConfig config{.source_vocab = 17,
                                  .target_vocab = 17,
                                  .stack = pair,
                                  .score = AttentionScore::dot,
                                  .order = AttentionOrder::previous,
                                  .encoder = kind};
    CHECK(RnnSeq2Seq(config).is_causal() == (kind == EncoderKind::forward));
    check_edit(RnnSeq2Seq(config), 2);
  }
}

TEST_CASE("vectors: the last layer has what the model goes on with, and the first the embedding of the token") {
  const std::vector<std::int32_t> ids = random_ids(kTokens, 13, 4);
  const Gpt gpt(small_gpt());
  const Rnn rnn({.vocab = 17, .stack = {.layers = 2, .input_dim = 6, .dim = 9, .dtype = DType::f64}});
  const Nplm nplm({.vocab = 17, .embedding_dim = 4, .dim = 6, .dtype = DType::f64});
  const Transformer transformer(small_transformer());
  const RnnSeq2Seq recurrent({.source_vocab = 17,
                              .target_vocab = 17,
                              .stack = {.layers = 2, .input_dim = 6, .dim = 8, .dtype = DType::f64},
                              .score = AttentionScore::dot,
                              .order = AttentionOrder::previous,
                              .encoder = EncoderKind::bidirectional});
  for (const Module* module : std::initializer_list<const Module*>{&gpt, &rnn, &nplm, &transformer, &recurrent}) {
    randomize(*module);
  }
  CHECK(same_bits(vectors_of(gpt, ids).back(), features_of(gpt, ids)));
  CHECK(same_bits(vectors_of(rnn, ids).back(), features_of(rnn, ids)));
  CHECK(same_bits(vectors_of(nplm, ids).back(), features_of(nplm, ids)));
  for (const EncoderDecoder* model : std::initializer_list<const EncoderDecoder*>{&transformer, &recurrent}) {
    Tape tape(no_grad);
    const EncoderOutput encoded = model->encode(tape, {row_of(ids), Tensor::full({1}, DType::i32, kTokens)});
    CHECK(same_bits(vectors_of(*model, ids).back(), encoded.hidden.value().contiguous()));
  }
  const Tensor table = rnn.state_dict().at("token_embedding.weight");
  const Tensor embedded = vectors_of(rnn, ids).front();
  for (std::int64_t t = 0; t < kTokens; ++t) {
    CHECK(same_bits(tokens(embedded, t, t + 1).reshape({6}), table.slice(0, ids[t], ids[t] + 1).reshape({6})));
  }
}
