// What every head of a model looks at.
#include "generate/alignment/attention_map.h"

#include "generate/alignment/aligner.h"
#include "nn/models/bert.h"
#include "nn/models/gpt.h"
#include "nn/models/rnn.h"
#include "nn/models/rnn_seq2seq.h"
#include "tests/generate/search_support.h"

using namespace tapeformer;

namespace {

const BlockConfig kBlock{.dim = 16, .heads = 4, .ff_dim = 32, .init = Init::normal(0.3), .dtype = DType::f64};
const Ids kText{3, 1, 4, 1, 5};

// Every row of weights (heads, T, S) sums to 1 over the keys that its query sees; the others have none.
void check_weights(const AttentionMap& map, std::size_t layers, std::int64_t heads, std::int64_t queries,
                   std::int64_t keys, bool causal) {
  CAPTURE(map.name);
  REQUIRE(map.weights.size() == layers);
  for (const Tensor& weights : map.weights) {
    REQUIRE(weights.sizes() == Dims{heads, queries, keys});
    const double* weight = weights.data<double>();
    for (std::int64_t row = 0; row < heads * queries; ++row) {
      double sum = 0;
      for (std::int64_t key = 0; key < keys; ++key, ++weight) {
        const bool seen = !causal || key <= row % queries;
        CHECK((seen ? *weight > 0 : *weight == 0));
        sum += *weight;
      }
      CHECK(sum == doctest::Approx(1).epsilon(1e-12));
    }
  }
}

void check_outputs(const AttentionMap& map, std::size_t layers, const Dims& sizes) {
  REQUIRE(map.outputs.size() == layers);
  for (const Tensor& norms : map.outputs) {
    REQUIRE(norms.sizes() == sizes);
    for (const double norm : norms.to_vector<double>()) CHECK(norm > 0);
  }
}

}  // namespace

TEST_CASE("attention map: the heads of a language model look back, those of a text encoder both ways") {
  Gpt gpt({.vocab = 9, .context = 8, .layers = 3, .block = kBlock});
  gpt.initialize_parameters(1);
  const AttentionMap back = attention_of(gpt, kText);
  CHECK(back.name == "self");
  check_weights(back, 3, 4, 5, 5, true);
  check_outputs(back, 3, {4, 5});
  Bert bert({.vocab = 9, .context = 8, .layers = 2, .block = kBlock});
  bert.initialize_parameters(1);
  const AttentionMap both = attention_of(bert, kText);
  check_weights(both, 2, 4, 5, 5, false);
  check_outputs(both, 2, {4, 5});
}

TEST_CASE("attention map: an encoder-decoder has that of the encoder, of the decoder, and from target to source") {
  const TestTransformer model(1);
  const Ids source{4, 5, 6, 7}, target{6, 7, 8};
  const std::vector<AttentionMap> maps = attention_of(model, source, target, kSymbols);
  REQUIRE(maps.size() == 3);
  CHECK(maps[0].name == "encoder");
  check_weights(maps[0], 2, 4, 5, 5, false);
  CHECK(maps[1].name == "decoder");
  check_weights(maps[1], 2, 4, 4, 4, true);
  CHECK(maps[2].name == "cross");
  check_weights(maps[2], 2, 4, 4, 5, false);
  check_outputs(maps[2], 2, {4, 4});
  const auto rows = align(model, source, target, kSymbols, {.layer = 1, .head = 2});
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 5; ++j) CHECK(maps[2].weights[1].data<double>()[(2 * 4 + i) * 5 + j] == rows[i][j]);
  }
}

TEST_CASE("attention map: a recurrent encoder-decoder has one head from target to source; what has none is refused") {
  const auto config = [](AttentionScore score) {
    return RnnSeq2SeqConfig{.source_vocab = kSourceVocab,
                            .target_vocab = kTargetVocab,
                            .stack = {.cell = CellKind::gru, .input_dim = 6, .dim = 8, .dtype = DType::f64},
                            .score = score,
                            .tied = TiedEmbeddings::none};
  };
  RnnSeq2Seq attends(config(AttentionScore::additive)), without(config(AttentionScore::none));
  attends.initialize_parameters(1);
  without.initialize_parameters(1);
  const Ids source{4, 5, 6, 7}, target{6, 7, 8};
  const std::vector<AttentionMap> maps = attention_of(attends, source, target, kSymbols);
  REQUIRE(maps.size() == 1);
  check_weights(maps[0], 1, 1, 4, 5, false);
  CHECK(maps[0].outputs.empty());
  CHECK_THROWS_WITH_AS(attention_of(without, source, target, kSymbols), "attention: the model has no attention",
                       UsageError);
  Rnn rnn({.vocab = 9, .stack = {.input_dim = 6, .dim = 8, .dtype = DType::f64}});
  rnn.initialize_parameters(1);
  CHECK_THROWS_WITH_AS(attention_of(rnn, kText), "attention: the model has no attention", UsageError);
}
