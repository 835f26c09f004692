// What the heads and the layers of a model do: scores by hand, losses without heads, the logit lens.
#include "tasks/analysis/head_study.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "autograd/ops/activations.h"
#include "autograd/tape/tape.h"
#include "core/error.h"
#include "generate/alignment/attention_map.h"
#include "nn/attention/attention.h"
#include "nn/layers/norm.h"
#include "nn/models/bert.h"
#include "nn/models/gpt.h"
#include "nn/models/rnn.h"
#include "nn/models/transformer.h"
#include "tasks/analysis/logit_lens.h"
#include "tasks/masked_language_model/masked_evaluation.h"
#include "tasks/masked_language_model/masked_language_model.h"
#include "tokenizer/train_tokenizer.h"

using namespace tapeformer;

namespace {

using Ids = std::vector<std::int32_t>;

const BlockConfig kBlock{.dim = 12, .heads = 3, .ff_dim = 8, .init = Init::normal(0.5), .dtype = DType::f64};
constexpr PairSymbols kSymbols{.source = {.begin = 0, .end = 1, .padding = 2},
                               .target = {.begin = 5, .end = 3, .padding = 0}};

Ids random_text(std::int64_t length) {
  RandomStream random({.seed = 3});
  Ids ids(length);
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random.below(9));
  return ids;
}

struct TestGpt : Gpt {
  explicit TestGpt(NormPlace norm = NormPlace::pre) : Gpt(config_of(norm)) { initialize_parameters(2); }
  static GptConfig config_of(NormPlace norm) {
    GptConfig config{.vocab = 9, .context = 16, .layers = 2, .block = kBlock};
    config.block.norm = norm;
    return config;
  }
};

void check_scores(const HeadScores& scores, const HeadScores& expected) {
  const auto close = [](const std::optional<double>& a, const std::optional<double>& b) {
    REQUIRE(a.has_value() == b.has_value());
    if (a) CHECK(*a == doctest::Approx(*b).epsilon(1e-12));
  };
  close(scores.previous, expected.previous);
  close(scores.same_token, expected.same_token);
  close(scores.induction, expected.induction);
  close(scores.first, expected.first);
  close(scores.distance, expected.distance);
}

}  // namespace

TEST_CASE("head scores: sums over the weights of a matrix, by hand") {
  // The row is a b a a b; rows of weights are queries.
  const Tensor weights = Tensor::from<double>({1,    0,     0,     0,     0,  //
                                               0.75, 0.25,  0,     0,     0,  //
                                               0.5,  0.125, 0.375, 0,     0,  //
                                               0.25, 0.25,  0.375, 0.125, 0,  //
                                               0.5,  0.25,  0,     0.125, 0.125},
                                              {5, 5});
  check_scores(head_scores(weights, Ids{0, 1, 0, 0, 1}),
               {.previous = (0.75 + 0.125 + 0.375 + 0.125) / 4,
                // Query 2 sees a at 0; query 3 at 0 and 2; query 4 sees b at 1.
                .same_token = (0.5 + (0.25 + 0.375) + 0.25) / 3,
                // The places after those: 1; 1 (3 is the query itself); 2.
                .induction = (0.125 + 0.25 + 0) / 3,
                .first = (0.75 + 0.5 + 0.25 + 0.5) / 4,
                .distance = (0 + 0.75 + (1 + 0.125) + (0.75 + 0.5 + 0.375) + (2 + 0.75 + 0.125)) / 5});
  check_scores(head_scores(Tensor::from<double>({1}, {1, 1}), Ids{0}), {.distance = 0});
}

TEST_CASE("head study: the rise of the loss is that of the model without the head, and scores are means over windows") {
  const TestGpt model;
  const Ids ids = random_text(32);  // two windows
  Ids ordinary(8);
  std::iota(ordinary.begin(), ordinary.end(), 1);
  std::vector<std::string> tasks;
  const HeadStudy study = study_heads(model, ids, {}, ordinary, [&](std::string what) {
    tasks.push_back(std::move(what));
    return [last = 0.0](double share) mutable {
      CHECK((share >= last && share <= 1));
      last = share;
    };
  });
  CHECK(tasks.size() == 2);
  CHECK(study.all.nats == evaluate(model, std::span<const std::int32_t>(ids), {}).nats);
  REQUIRE(study.heads.size() == 6);
  const CausalModel& causal = model;
  const auto of_window = [&](int window) { return attention_of(causal, std::span(ids).subspan(16 * window, 16)); };
  const AttentionMap first = of_window(0), second = of_window(1);
  for (std::size_t i = 0; i < study.heads.size(); ++i) {
    const HeadReport& head = study.heads[i];
    CAPTURE(head_name(head.index));
    if (i > 0) CHECK(study.heads[i - 1].loss_rise >= head.loss_rise);
    TestGpt without;
    remove_heads(without, std::array{head.index});
    const double loss = evaluate(without, std::span<const std::int32_t>(ids), {}).loss();
    CHECK(head.loss_rise == doctest::Approx(loss - study.all.loss()).epsilon(1e-12));
    CHECK(std::abs(head.loss_rise) > 1e-6);
    const auto scores = [&](const AttentionMap& map, int window) {
      const Tensor weights = map.weights[head.index.layer].slice(0, head.index.head, head.index.head + 1);
      return head_scores(weights.contiguous().reshape({16, 16}), std::span(ids).subspan(16 * window, 16));
    };
    CHECK(*head.scores.previous ==
          doctest::Approx((*scores(first, 0).previous + *scores(second, 1).previous) / 2).epsilon(1e-12));
    CHECK(*head.scores.distance ==
          doctest::Approx((*scores(first, 0).distance + *scores(second, 1).distance) / 2).epsilon(1e-12));
    REQUIRE(head.repeated.has_value());
    CHECK((*head.repeated > 0 && *head.repeated < 1));
  }
  Rnn rnn({.vocab = 9, .stack = {.input_dim = 6, .dim = 8, .dtype = DType::f64}});
  rnn.initialize_parameters(1);
  CHECK_THROWS_WITH_AS(study_heads(rnn, ids, {}, ordinary), "heads: the model has no heads of attention", UsageError);
}

TEST_CASE("head study: a head that looks only at what followed a token before has the score 1 on repeated tokens") {
  // One layer without values: its one head has the weights of the positions alone, and looks 3 tokens back.
  GptConfig config{
      .vocab = 9, .context = 16, .layers = 1, .block = {.dim = 16, .heads = 1, .ff_dim = 4, .dtype = DType::f64}};
  config.block.bias = false;
  Gpt model(config);
  const auto state = model.state_dict();
  for (const auto& [name, tensor] : state) tensor.fill(0);
  state.at("blocks.0.attention_norm.weight").fill(1);
  // Positions are unit vectors, which the norm scales by about 4; query i·q is key i − 3.
  double* const positions = state.at("position_embedding.weight").data<double>();
  double* const qkv = state.at("blocks.0.attention.qkv.weight").data<double>();
  for (int i = 0; i < 16; ++i) {
    positions[16 * i + i] = 1;
    if (i >= 3) qkv[16 * (i - 3) + i] = 100;
    qkv[16 * (16 + i) + i] = 100;
  }
  const Ids ids{1, 2, 3, 4, 5, 6};
  const HeadStudy study = study_heads(model, ids, {}, Ids{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(*study.heads[0].repeated == doctest::Approx(1));  // rows of 4 tokens twice: 3 back is what followed
  CHECK(study.heads[0].loss_rise == 0);
}

TEST_CASE("head study: an encoder-decoder has the heads of three stacks, those of cross-attention without scores") {
  TransformerConfig config{.source_vocab = 9, .target_vocab = 9, .context = 12, .layers = 1, .block = kBlock};
  config.tied = TiedEmbeddings::none;
  Transformer model(config);
  model.initialize_parameters(1);
  TokenPairs pairs;
  pairs.add(Ids{4, 5, 6}, Ids{6, 5}, 2);
  const HeadStudy study = study_heads(model, pairs, kSymbols, 4);
  REQUIRE(study.heads.size() == 9);
  const std::vector<AttentionMap> maps = attention_of(model, Ids{4, 5, 6}, Ids{6, 5}, kSymbols);
  for (const HeadReport& head : study.heads) {
    CAPTURE(head_name(head.index));
    CHECK(std::abs(head.loss_rise) > 1e-9);
    CHECK(!head.repeated.has_value());
    if (head.index.stack == "cross") {
      check_scores(head.scores, {});
      continue;
    }
    const bool encoder = head.index.stack == "encoder";
    const Ids ids = encoder ? Ids{4, 5, 6, 1} : Ids{5, 6, 5};
    const Tensor& all = maps[encoder ? 0 : 1].weights[0];
    const Tensor weights = all.slice(0, head.index.head, head.index.head + 1).contiguous();
    check_scores(head.scores, head_scores(weights.reshape({std::ssize(ids), std::ssize(ids)}), ids));
  }
}

TEST_CASE("head study: a masked language model's rows of two segments are read with both, as in training") {
  const std::string_view letters[] = {"abcdefghi"};
  const auto tokenizer =
      train_tokenizer({.kind = "char", .special_tokens = {"[PAD]", "[CLS]", "[SEP]", "[MASK]"}}, letters);
  BertConfig bert{.vocab = tokenizer->vocab_size(), .context = 11, .layers = 1, .block = kBlock};
  bert.segments = 2;
  MaskedLanguageModel model(std::make_unique<Bert>(bert), bert.block, true);
  model.initialize_parameters(1);
  const Ids ids = random_text(32);  // four rows without padding
  const MaskedBatcher rows(std::span<const std::int32_t>(ids), *tokenizer,
                           {.length = 11, .pairs = true, .rates = {.mlm_probability = 0.5}});
  REQUIRE(rows.windows() == 4);
  std::vector<Tensor> weights;
  const TensorObserver observer = [&](std::string_view name, const std::function<Tensor()>& tensor) {
    if (name == kSelfAttentionWeights) weights.push_back(tensor().contiguous());
  };
  std::vector<double> distances(3, 0.0);
  MaskedBatch row;
  for (std::int64_t window = 0; window < 4; ++window) {
    rows.plain(window, row);
    CHECK(std::ranges::count(row.segments, 1) == 5);
    Tape tape({.record = false, .observer = &observer});
    model.features(masked_rows(tape, row).text);
    for (std::int64_t head = 0; head < 3; ++head) {
      const Tensor own = weights.back().slice(1, head, head + 1).contiguous().reshape({11, 11});
      distances[head] += *head_scores(own, row.ids).distance / 4;
    }
  }
  for (const HeadReport& head : study_heads(model, rows).heads) {
    CHECK(*head.scores.distance == doctest::Approx(distances[head.index.head]).epsilon(1e-12));
  }
}

TEST_CASE("logit lens: each layer's vectors through the final norm and the head; the last is the model's prediction") {
  const Ids ids = random_text(7);
  for (const NormPlace norm : {NormPlace::pre, NormPlace::post}) {
    const TestGpt model(norm);
    const LogitLens lens = logit_lens(model, ids, 3);
    REQUIRE(lens.size() == 3);
    Tape tape(no_grad);
    const Variable row = Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(ids), {1, 7}));
    const std::vector<Variable> layers = model.hidden_states({row});
    const auto* const final_norm =
        norm == NormPlace::pre ? dynamic_cast<const Norm*>(&model.module("final_norm")) : nullptr;
    for (std::size_t layer = 0; layer < lens.size(); ++layer) {
      const bool last = layer + 1 == lens.size();
      const Variable x = final_norm && !last ? final_norm->forward(layers[layer]) : layers[layer];
      const Tensor log_p = log_softmax(model.logits(x)).value().contiguous();
      REQUIRE(lens[layer].size() == 7);
      for (std::size_t i = 0; i < 7; ++i) {
        const std::span<const double> p = log_p.span<double>().subspan(9 * i, 9);
        CHECK(lens[layer][i].nats.has_value() == (i < 6));
        if (i < 6) CHECK(*lens[layer][i].nats == doctest::Approx(-p[ids[i + 1]]).epsilon(1e-12));
        REQUIRE(lens[layer][i].likeliest.size() == 3);
        const auto [id, probability] = lens[layer][i].likeliest.front();
        CHECK(probability == doctest::Approx(std::exp(std::ranges::max(p))).epsilon(1e-12));
        CHECK(std::exp(p[id]) == doctest::Approx(probability).epsilon(1e-12));
      }
    }
  }
  Rnn rnn({.vocab = 9, .stack = {.input_dim = 6, .dim = 8, .dtype = DType::f64}});
  rnn.initialize_parameters(1);
  CHECK_THROWS_WITH_AS(logit_lens(rnn, ids, 3), "--lens: the model is no stack of blocks, whose layers could be read",
                       UsageError);
}

TEST_CASE("logit lens: the last layer of an encoder-decoder and of a masked language model is their own prediction") {
  TransformerConfig config{.source_vocab = 9, .target_vocab = 9, .context = 12, .layers = 2, .block = kBlock};
  config.tied = TiedEmbeddings::none;
  Transformer model(config);
  model.initialize_parameters(1);
  const Ids source{4, 5, 6}, target{6, 5};
  const LogitLens lens = logit_lens(model, source, target, kSymbols, 2);
  REQUIRE(lens.size() == 3);
  std::vector<double> nats;
  score_tokens(model, source, target, kSymbols, 0, [&](const TokenScore& score) { nats.push_back(score.nats); });
  REQUIRE(lens[2].size() == 3);
  for (int i = 0; i < 3; ++i) CHECK(*lens[2][i].nats == doctest::Approx(nats[i]).epsilon(1e-12));

  BertConfig bert{.vocab = 9, .context = 8, .layers = 1, .block = kBlock};
  MaskedLanguageModel masked(std::make_unique<Bert>(bert), bert.block, false);
  masked.initialize_parameters(1);
  const Ids ids{1, 2, 3};
  const LogitLens read = logit_lens(masked, ids, 2);
  REQUIRE(read.size() == 2);
  Tape tape(no_grad);
  const Variable row = Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(ids), {1, 3}));
  const Tensor log_p = log_softmax(masked.logits(masked.features({row}))).value().contiguous();
  for (int i = 0; i < 3; ++i) {
    CHECK(*read[1][i].nats == doctest::Approx(-log_p.data<double>()[9 * i + ids[i]]).epsilon(1e-12));
  }
}
