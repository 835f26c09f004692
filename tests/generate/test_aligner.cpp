// The weights that translations are aligned by.
#include "generate/alignment/aligner.h"

#include <numeric>

#include "nn/models/rnn_seq2seq.h"
#include "tests/generate/search_support.h"

using namespace tapeformer;

namespace {

using Rows = std::vector<std::vector<double>>;

void check_rows(const Rows& rows, std::size_t targets, std::size_t sources) {
  REQUIRE(rows.size() == targets + 1);
  for (const std::vector<double>& row : rows) {
    REQUIRE(row.size() == sources + 1);
    CHECK(std::accumulate(row.begin(), row.end(), 0.0) == doctest::Approx(1).epsilon(1e-6));
    for (const double weight : row) CHECK(weight >= 0);
  }
}

Rows mean(const std::vector<Rows>& of) {
  Rows sum = of[0];
  for (std::size_t i = 0; i < sum.size(); ++i) {
    for (std::size_t j = 0; j < sum[i].size(); ++j) {
      for (std::size_t k = 1; k < of.size(); ++k) sum[i][j] += of[k][i][j];
      sum[i][j] /= static_cast<double>(of.size());
    }
  }
  return sum;
}

bool near(const Rows& a, const Rows& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return std::ranges::equal(x, y, [](double u, double v) { return std::abs(u - v) < 1e-12; });
  });
}

RnnSeq2SeqConfig rnn_config(AttentionScore score) {
  return {.source_vocab = kSourceVocab,
          .target_vocab = kTargetVocab,
          .stack = {.cell = CellKind::gru, .input_dim = 6, .dim = 8, .dtype = DType::f64},
          .score = score,
          .tied = TiedEmbeddings::none};
}

const Ids kSource{4, 5, 6, 7}, kTarget{6, 7, 8};

}  // namespace

TEST_CASE("align: a row for each target token and the end, each of which sums to 1, for every head of a Transformer") {
  const TestTransformer model(1);
  std::vector<Rows> layers;
  for (const std::int64_t layer : {0, 1}) {
    std::vector<Rows> heads;
    for (const std::int64_t head : {0, 1, 2, 3}) {
      heads.push_back(align(model, kSource, kTarget, kSymbols, {.layer = layer, .head = head}));
      check_rows(heads.back(), 3, 4);
    }
    CHECK_FALSE(near(heads[0], heads[1]));
    layers.push_back(align(model, kSource, kTarget, kSymbols, {.layer = layer}));
    CHECK(near(layers.back(), mean(heads)));
  }
  CHECK_FALSE(near(layers[0], layers[1]));
  CHECK(near(align(model, kSource, kTarget, kSymbols), mean(layers)));
  CHECK_THROWS_WITH_AS(align(model, kSource, kTarget, kSymbols, {.layer = 2}), "--layer: expected 0 to 1, got 2",
                       UsageError);
  CHECK_THROWS_WITH_AS(align(model, kSource, kTarget, kSymbols, {.head = 4}), "--head: expected 0 to 3, got 4",
                       UsageError);
}

TEST_CASE("align: the weights of a Transformer's hypotheses are those of each alone, with the cache as without") {
  const TestTransformer model(0);
  const Ids ids{5, 6, 7, 8, 5, 9, 10, 6};  // two hypotheses of one source
  const auto shown = [&](std::span<const std::int32_t> inputs, std::int64_t rows, bool cached) {
    std::vector<Tensor> weights;
    const TensorObserver observer = [&](std::string_view name, const std::function<Tensor()>& tensor) {
      if (name == kCrossAttentionWeights) weights.push_back(tensor());
    };
    Tape tape({.record = false, .observer = &observer});
    const auto tensor = [](std::span<const std::int32_t> values, std::int64_t count) {
      return Tensor::from(values, {count, std::ssize(values) / count});
    };
    const EncoderOutput encoded =
        model.encode(tape, {tensor(kSource, 1), Tensor::from({static_cast<std::int32_t>(kSource.size())}, {1})});
    const auto cache = model.make_cache(kContext, 4);
    model.decode(Variable::constant(tape, tensor(inputs, rows)), encoded, cached ? cache.get() : nullptr);
    return weights;
  };
  for (const bool cached : {false, true}) {
    const std::vector<Tensor> both = shown(ids, 2, cached);
    REQUIRE(both.size() == 2);
    for (const std::int64_t row : {0, 1}) {
      const std::vector<Tensor> alone = shown(std::span(ids).subspan(4 * row, 4), 1, false);
      for (const std::size_t layer : {0, 1}) {
        REQUIRE(both[layer].sizes() == Dims{2, 4, 4, 4});
        const auto got = both[layer].slice(0, row, row + 1).contiguous().to_vector<double>();
        const auto expected = alone[layer].contiguous().to_vector<double>();
        for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-10));
      }
    }
  }
}

TEST_CASE("align: a recurrent model has one layer with one head, and without attention it is refused") {
  for (const AttentionScore score : {AttentionScore::dot, AttentionScore::bilinear, AttentionScore::additive}) {
    const RnnSeq2Seq model(rnn_config(score));
    model.initialize_parameters(1);
    check_rows(align(model, kSource, kTarget, kSymbols), 3, 4);
    CHECK(near(align(model, kSource, kTarget, kSymbols, {.layer = 0, .head = 0}),
               align(model, kSource, kTarget, kSymbols)));
    CHECK_THROWS_AS(align(model, kSource, kTarget, kSymbols, {.layer = 1}), UsageError);
  }
  const RnnSeq2Seq without(rnn_config(AttentionScore::none));
  CHECK_THROWS_WITH_AS(align(without, kSource, kTarget, kSymbols),
                       "alignments: the model has no attention from target to source", UsageError);
}
