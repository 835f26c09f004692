// Beam search over recurrent encoder-decoders, which have no limit of length.
#include "nn/models/rnn_seq2seq.h"
#include "tests/generate/search_support.h"
#include "tests/long_test.h"

using namespace tapeformer;

namespace {

struct TestRnn : RnnSeq2Seq {
  TestRnn(AttentionScore score, AttentionOrder order, DType dtype)
      : RnnSeq2Seq({.source_vocab = kSourceVocab,
                    .target_vocab = kTargetVocab,
                    .stack = {.cell = order == AttentionOrder::previous ? CellKind::gru : CellKind::lstm,
                              .layers = 2,
                              .input_dim = 12,
                              .dim = 16,
                              .dropout = 0.5,
                              .dtype = dtype},
                    .score = score,
                    .order = order,
                    .encoder = order == AttentionOrder::previous ? EncoderKind::bidirectional : EncoderKind::forward,
                    .tied = TiedEmbeddings::none}) {
    std::uint64_t stream = 0;
    for (const NamedParameter& parameter : named_parameters()) {
      initialize(parameter.variable.value(), Init::normal(0.6), RandomKey{.stream = stream++});
    }
  }
};

template <class Body>
void for_each_model(DType dtype, const Body& body) {
  for (const AttentionOrder order : {AttentionOrder::previous, AttentionOrder::current}) {
    for (const AttentionScore score :
         {AttentionScore::none, AttentionScore::dot, AttentionScore::bilinear, AttentionScore::additive}) {
      CAPTURE(word_of(order));
      CAPTURE(word_of(score));
      body(TestRnn(score, order, dtype));
    }
  }
}

}  // namespace

TEST_CASE("translate: a recurrent model gives the translations of a plain beam search") {
  for_each_model(DType::f64, [](const TestRnn& model) {
    const std::vector<Ids> sources = random_sources(8);
    const TranslateOptions options{.search = {.beam = 3, .n_best = 3}, .max_length = kContext};
    const auto translations = translate(model, sources, kSymbols, options);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      Oracle oracle(model, sources[i]);
      CHECK(same(translations[i], reference_search(oracle, options.search, kContext), 1e-10));
    }
  });
}

TEST_CASE("translate: a recurrent model's scores have the same bits whatever stands beside a sentence, in f32" *
          long_test()) {
  for_each_model(DType::f32, [](const TestRnn& model) {
    const std::vector<Ids> sources = random_sources(60);
    for (const std::int64_t beam : {1, 4}) {
      CAPTURE(beam);
      TranslateOptions options{.search = {.beam = beam, .n_best = beam}, .batch = 1, .max_length = 20};
      const auto alone = translate(model, sources, kSymbols, options);
      for (const std::int64_t batch : {3, 64}) {
        for (const bool use_cache : {true, false}) {
          options.batch = batch, options.use_cache = use_cache;
          const auto together = translate(model, sources, kSymbols, options);
          int different = 0;
          for (std::size_t i = 0; i < sources.size(); ++i) different += !same(together[i], alone[i], 0);
          CHECK(different == 0);
        }
      }
    }
  });
}

TEST_CASE("translate: a model without a limit may write three tokens for each of the source and 50 more") {
  const TestRnn model(AttentionScore::additive, AttentionOrder::previous, DType::f64);
  const Tensor bias = model.state_dict().at("head.bias");
  bias.slice(0, kSymbols.target.end, kSymbols.target.end + 1).fill(-1000);
  const std::vector<Ids> sources{{3, 4}, {5, 3, 4, 6}};
  const auto ids_of_first = [&](const TranslateOptions& options) {
    std::vector<std::size_t> lengths;
    for (const Hypotheses& best : translate(model, sources, kSymbols, options)) lengths.push_back(best[0].ids.size());
    return lengths;
  };
  CHECK(ids_of_first({}) == std::vector<std::size_t>{3 * 3 + 49, 3 * 5 + 49});
  CHECK(ids_of_first({.max_length = 70}) == std::vector<std::size_t>{69, 69});
}
