#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>

#include "autograd/tensor/allocator.h"
#include "core/error.h"
#include "nn/models/gpt.h"
#include "tasks/text/loss_breakdown.h"
#include "tasks/text/text_evaluation.h"
#include "tests/train/toy.h"

using namespace tapeformer;

namespace {

// P(next | token) of three tokens.
constexpr double kTable[3][3] = {{0.7, 0.2, 0.1}, {0.05, 0.05, 0.9}, {0.5, 0.25, 0.25}};

// Tokens without a pattern.
std::vector<std::int32_t> some_tokens(std::int64_t count, std::int32_t vocab) {
  RandomStream random({.seed = 3});
  std::vector<std::int32_t> tokens(count);
  for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random.below(vocab));
  return tokens;
}

GptConfig bigram_config() {
  return {.vocab = 3,
          .context = 12,
          .layers = 1,
          .block = {.dim = 4, .heads = 1, .ff_dim = 8, .norm_eps = 1e-12},
          .tie_embeddings = false};
}

// A Gpt whose P(next | token) is kTable whatever stands before. Its blocks and positions are zero and add nothing, so
// the final norm sees the token's embedding: a row of a Hadamard matrix, of mean 0 and variance 1, which it leaves as
// it is. These rows are orthogonal with square length 4, so the head Σ_t log P(· | t) ⊗ row_t / 4 gives log P(· | t).
void make_bigram(const Gpt& model) {
  constexpr float kRows[3][4] = {{1, -1, 1, -1}, {1, 1, -1, -1}, {1, -1, -1, 1}};
  const auto state = model.state_dict();
  for (const auto& [name, tensor] : state) tensor.fill(0);
  state.at("final_norm.weight").fill(1);
  float* embedding = state.at("token_embedding.weight").data<float>();
  float* head = state.at("head.weight").data<float>();
  for (int i = 0; i < 4; ++i) {
    for (int token = 0; token < 3; ++token) {
      embedding[4 * token + i] = kRows[token][i];
      for (int next = 0; next < 3; ++next) {
        head[4 * next + i] += static_cast<float>(std::log(kTable[token][next])) * kRows[token][i] / 4;
      }
    }
  }
}

double expected_nats(const std::vector<std::int32_t>& tokens) {
  double nats = 0;
  for (std::size_t i = 1; i < tokens.size(); ++i) nats -= std::log(kTable[tokens[i - 1]][tokens[i]]);
  return nats;
}

TokenView view(const std::vector<std::int32_t>& tokens) { return std::span<const std::int32_t>(tokens); }

}  // namespace

TEST_CASE("evaluation: a model that knows nothing has loss ln V") {
  const Gpt model({.vocab = 37, .context = 8, .layers = 1, .block = {.dim = 8, .heads = 2, .ff_dim = 16}});
  for (const auto& [name, tensor] : model.state_dict()) tensor.fill(0);
  const std::vector<std::int32_t> tokens = some_tokens(100, 37);
  const Evaluation result = evaluate(model, view(tokens), {});
  CHECK(result.tokens == 99);
  CHECK(result.loss() == doctest::Approx(std::log(37.0)).epsilon(1e-6));
  CHECK(result.perplexity() == doctest::Approx(37).epsilon(1e-5));
  CHECK(result.bits_per_byte(99) == doctest::Approx(std::log2(37.0)).epsilon(1e-6));
}

TEST_CASE("evaluation: a model with known probabilities, every token scored once at any stride") {
  const Gpt model(bigram_config());
  make_bigram(model);
  const std::vector<std::int32_t> tokens = some_tokens(101, 3);
  const double nats = expected_nats(tokens), bytes = 250;
  for (const WindowOptions& options : {WindowOptions{.context = 12, .stride = 12, .batch = 3},
                                       {.context = 12, .stride = 7, .batch = 4},
                                       {.context = 12, .stride = 1, .batch = 64},
                                       {.context = 5, .stride = 4, .batch = 1},
                                       {.context = 1, .stride = 1, .batch = 64}}) {
    CAPTURE(options.context);
    CAPTURE(options.stride);
    const Evaluation result = evaluate(model, view(tokens), options);
    CHECK(result.tokens == 100);
    CHECK(result.nats == doctest::Approx(nats).epsilon(1e-6));
    CHECK(result.loss() == result.nats / 100);
    CHECK(result.perplexity() == doctest::Approx(std::exp(nats / 100)).epsilon(1e-6));
    CHECK(result.bits_per_byte(250) == doctest::Approx(nats / (std::numbers::ln2 * bytes)).epsilon(1e-6));

    const std::vector<double> values = surprisals(model, view(tokens), options);
    REQUIRE(values.size() == 100);
    for (std::size_t i = 0; i < values.size(); ++i) {
      CHECK(values[i] == doctest::Approx(-std::log(kTable[tokens[i]][tokens[i + 1]])).epsilon(1e-5));
    }
    CHECK(std::accumulate(values.begin(), values.end(), 0.0) == doctest::Approx(result.nats).epsilon(1e-6));
  }
}

TEST_CASE("evaluation: ranks and the likeliest tokens are those of the table of probabilities") {
  const Gpt model(bigram_config());
  make_bigram(model);
  const std::vector<std::int32_t> tokens = some_tokens(40, 3);
  std::size_t place = 0;
  score_tokens(model, view(tokens), {.context = 12, .stride = 7, .batch = 2}, 2, [&](const TokenScore& score) {
    const auto& row = kTable[tokens[place++]];
    const double p = row[tokens[place]];
    CHECK(score.nats == doctest::Approx(-std::log(p)).epsilon(1e-5));
    const auto likelier = std::ranges::count_if(row, [&](double other) { return other > p; });
    const auto as_likely = std::ranges::count_if(row, [&](double other) { return other == p; });  // in either order
    CHECK(score.rank > likelier);
    CHECK(score.rank <= likelier + as_likely);
    REQUIRE(score.likeliest.size() == 2);
    CHECK(score.likeliest[0].second == doctest::Approx(std::ranges::max(row)).epsilon(1e-5));
    for (const auto& [id, probability] : score.likeliest) CHECK(probability == doctest::Approx(row[id]).epsilon(1e-5));
    CHECK((score.rank > 2 || score.likeliest[score.rank - 1].first == tokens[place]));
  });
  CHECK(place == 39);
}

TEST_CASE("evaluation: the surprisal of a token that the model is sure of is 0, not -0") {
  Tape tape(no_grad);
  const Variable hidden = Variable::constant(tape, Tensor::full({2, 1}, DType::f32, 1));
  const auto logits = [&](const Variable& rows) {
    const Tensor sure = Tensor::zeros({rows.size(0), 3}, DType::f32);
    for (std::int64_t row = 0; row < rows.size(0); ++row) sure.data<float>()[3 * row + 1] = 1000;
    return Variable::constant(tape, sure);
  };
  const std::vector<std::int32_t> targets{1, 1};
  int visited = 0;
  score_tokens(hidden, targets, logits, 0, [&](const TokenScore& score) {
    CHECK(score.nats == 0);
    CHECK_FALSE(std::signbit(score.nats));
    ++visited;
  });
  CHECK(visited == 2);
}

TEST_CASE("evaluation: a text shorter than the context, and only the first batches") {
  const Gpt model(bigram_config());
  make_bigram(model);
  const std::vector<std::int32_t> two{0, 1};
  const Evaluation least = evaluate(model, view(two), {});
  CHECK(least.tokens == 1);
  CHECK(least.nats == doctest::Approx(-std::log(0.2)).epsilon(1e-6));

  const std::vector<std::int32_t> tokens = some_tokens(101, 3);
  int calls = 0;
  double last = 0;
  const Evaluation part = evaluate(model, view(tokens), {.batch = 2, .max_batches = 3}, [&](double share) {
    ++calls;
    CHECK(share > last);
    last = share;
  });
  CHECK(part.tokens == 3 * 2 * 12);
  CHECK(part.nats == doctest::Approx(expected_nats({tokens.begin(), tokens.begin() + 73})).epsilon(1e-6));
  CHECK(calls == 3);
  CHECK(last == 1);
  CHECK(surprisals(model, view(tokens), {.batch = 2, .max_batches = 3}).size() == 72);
}

TEST_CASE("evaluation: wider overlap changes a model that looks back, not the count") {
  GptConfig config = bigram_config();
  config.block.residual_init = Init::normal(1);
  const Gpt model(config);
  model.initialize_parameters(1);
  const std::vector<std::int32_t> tokens = some_tokens(60, 3);
  const Evaluation apart = evaluate(model, view(tokens), {.stride = 12}),
                   overlapping = evaluate(model, view(tokens), {.stride = 3});
  CHECK(apart.tokens == overlapping.tokens);
  CHECK_FALSE(apart.nats == doctest::Approx(overlapping.nats).epsilon(1e-6));
}

TEST_CASE("evaluation: neither dropout nor label smoothing has a part in it") {
  const CacheFolder folder;
  Config config = toy_config();
  config.model.options["dropout"] = 0.5;
  config.train.label_smoothing = 0.3;
  Toy toy(config);
  const TokenFile& valid = *toy.data.valid;
  const Evaluation result = toy.objective.evaluate({});
  CHECK(result.tokens == valid.size() - 1);
  CHECK(toy.objective.validation().bytes == valid.text_bytes());

  config.model.options["dropout"] = 0.0;
  const auto plain = make_causal_model(resolve(config), model_vocabulary(resolve(config), *toy.data.tokenizer));
  plain->load_state_dict(toy.model.state_dict());
  const std::vector<double> values = surprisals(*plain, valid.view(), {});
  CHECK(result.nats == doctest::Approx(std::accumulate(values.begin(), values.end(), 0.0)).epsilon(1e-6));
}

TEST_CASE("evaluation: a batch of more windows than the text has is one of all of them") {
  const Gpt model(bigram_config());
  make_bigram(model);
  const std::vector<std::int32_t> tokens = some_tokens(100, 3);
  const Evaluation expected = evaluate(model, view(tokens), {.batch = 100});
  const std::int64_t before = memory_stats().peak;
  for (const std::int64_t batch : {std::int64_t{200'000'000}, std::numeric_limits<std::int64_t>::max()}) {
    const Evaluation result = evaluate(model, view(tokens), {.batch = batch});
    CHECK(result.tokens == 99);
    CHECK(result.nats == expected.nats);
  }
  CHECK(memory_stats().peak < before + (1 << 20));
}

TEST_CASE("evaluation: a context far above the length of the text is that length") {
  GptConfig config = bigram_config();
  config.position = Rotary{};
  const Gpt model(config);
  make_bigram(model);
  const std::vector<std::int32_t> tokens = some_tokens(100, 3);
  const Evaluation expected = evaluate(model, view(tokens), {.context = 99});
  for (const std::int64_t stride : {std::int64_t{0}, std::int64_t{1} << 40}) {
    const Evaluation result = evaluate(model, view(tokens), {.context = std::int64_t{1} << 40, .stride = stride});
    CHECK(result.tokens == 99);
    CHECK(result.nats == expected.nats);
  }
  CHECK_THROWS_WITH_AS(evaluate(model, view(tokens), {.context = 40, .stride = 41}),
                       "--stride: expected 1 to 40 (the context), got 41", UsageError);
}

TEST_CASE("evaluation: what cannot be") {
  const Gpt model(bigram_config());
  const std::vector<std::int32_t> tokens = some_tokens(20, 3), one{1};
  CHECK_THROWS_WITH_AS(evaluate(model, view(tokens), {.stride = 13}),
                       "--stride: expected 1 to 12 (the context), got 13", UsageError);
  CHECK_THROWS_WITH_AS(evaluate(model, view(tokens), {.context = 6, .stride = 7}),
                       "--stride: expected 1 to 6 (the context), got 7", UsageError);
  CHECK_THROWS_WITH_AS(evaluate(model, view(tokens), {.context = 13}),
                       "--context: expected 1 to 12 (the model's), got 13", UsageError);
  CHECK_THROWS_WITH_AS(evaluate(model, view(one), {}),
                       "text is too short to evaluate: expected at least 2 tokens, got 1", Error);
}

TEST_CASE("loss by bins: positions and frequencies divide the loss, and their bins add up to it") {
  const Gpt model(bigram_config());
  make_bigram(model);
  const std::vector<std::int32_t> tokens = some_tokens(101, 3);
  std::vector<std::int32_t> training(15, 0);  // token 0 15 times, token 1 never, token 2 twice
  training.resize(17, 2);
  for (const std::int64_t stride : {12, 5}) {
    const WindowOptions options{.context = 12, .stride = stride, .batch = 3};
    std::vector<LossBreakdown> breakdowns{breakdown_by_position(12), breakdown_by_frequency(view(training), 3)};
    const Evaluation all = evaluate_breakdowns(model, view(tokens), options, breakdowns);
    CHECK(all.tokens == 100);
    CHECK(all.nats == doctest::Approx(expected_nats(tokens)).epsilon(1e-6));
    CHECK(all.nats == doctest::Approx(evaluate(model, view(tokens), options).nats).epsilon(1e-6));
    // The same, token by token. The windows after the first score the last `stride` of their tokens.
    std::map<std::int64_t, LossBin> positions, counts;
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      const std::int64_t target = static_cast<std::int64_t>(i);
      const std::int64_t before = target <= 12 ? target : 12 - stride + (target - 13) % stride + 1;
      const double p = kTable[tokens[i - 1]][tokens[i]];
      const bool right = p == *std::ranges::max_element(kTable[tokens[i - 1]]);
      const std::int64_t last = before <= 2 ? before : before <= 4 ? 4 : before <= 8 ? 8 : 12;
      const std::int64_t times = tokens[i] == 0 ? 99 : tokens[i] == 1 ? 0 : 9;
      for (LossBin* const bin : {&positions[last], &counts[times]}) {
        ++bin->tokens, bin->right += right, bin->nats -= std::log(p);
      }
    }
    const auto check_bins = [](const LossBreakdown& breakdown, const std::map<std::int64_t, LossBin>& expected) {
      std::int64_t first = breakdown.bins.front().first, scored = 0;
      for (const LossBin& bin : breakdown.bins) {
        CHECK(bin.first == first);
        first = bin.last + 1;
        const auto found = expected.find(bin.last);
        if (found == expected.end()) {
          CHECK(bin.tokens == 0);
          continue;
        }
        CHECK(bin.tokens == found->second.tokens);
        CHECK(bin.right == found->second.right);
        CHECK(bin.nats == doctest::Approx(found->second.nats).epsilon(1e-6));
        scored += bin.tokens;
      }
      CHECK(scored == 100);
    };
    check_bins(breakdowns[0], positions);
    check_bins(breakdowns[1], counts);
    for (const LossBin& bin : breakdowns[1].bins) CHECK(bin.kinds == 1);
  }
}

TEST_CASE("evaluation: it takes about a third of the steps that read its tokens, however few are scored") {
  const CacheFolder folder;
  // Each step reads all training data, which is the validation data as well.
  const auto check_third = [](Config config, std::int64_t rows) {
    CAPTURE(config.task.kind);
    config.data.valid_fraction = 0;
    config.train.batch = rows;
    const AnyToy toy(config);
    CHECK(toy.objective.evaluation_in_steps() == doctest::Approx(1.0 / 3));
  };
  Config conversations = instructions_config();
  remove_corpus(conversations);
  conversations.data.conversations =
      folder.write("one.jsonl", R"({"prompt": "Which letters follow here?", "completion": "a"})").string();
  conversations.data.valid_conversations = conversations.data.conversations;
  check_third(conversations, 1);
  Config labels = classify_config(folder);
  labels.data.valid_labels = labels.data.labels;
  check_third(labels, 40);
  Config sentences = sentences_config();
  remove_corpus(sentences);
  sentences.data.pairs = folder.write("pairs.tsv", "abba\tbaab\nbb\taa\n").string();
  sentences.data.valid_pairs = sentences.data.pairs;
  check_third(sentences, 2);
}
