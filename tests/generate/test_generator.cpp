#include "generate/generator.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "autograd/tape/tape.h"
#include "nn/models/gpt.h"
#include "nn/models/rnn.h"
#include "tests/long_test.h"

using namespace tapeformer;

namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::int64_t kVocab = 19, kWindow = 16;
const Ids kPrompt = {3, 1, 4, 1, 5};

GptConfig config_of(NormPlace norm, const PositionConfig& position, DType dtype) {
  GptConfig config;
  config.vocab = kVocab, config.context = kWindow, config.layers = 2;
  config.block = {.dim = 16, .heads = 4, .ff_dim = 32, .dropout = 0.5, .norm = norm, .dtype = dtype};
  config.position = position;
  if (std::holds_alternative<Rotary>(position)) config.block.kv_heads = 2;
  return config;
}

// A model whose predictions are neither flat nor certain.
void randomize(const Gpt& model) {
  std::uint64_t stream = 0;
  for (const NamedParameter& parameter : model.named_parameters()) {
    initialize(parameter.variable.value(), Init::normal(0.3), RandomKey{.seed = 4, .stream = stream++});
  }
}

struct TestModel : Gpt {
  explicit TestModel(NormPlace norm = NormPlace::pre, const PositionConfig& position = LearnedPositions{},
                     DType dtype = DType::f64)
      : Gpt(config_of(norm, position, dtype)) {
    randomize(*this);
  }
};

// The logits that follow `ids`, by one full forward pass.
std::vector<float> last_logits(const Gpt& model, const Ids& ids) {
  Tape tape(no_grad);
  const auto length = static_cast<std::int64_t>(ids.size());
  const Variable x = Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(ids), {1, length}));
  const Tensor logits = model.logits(model.forward(x)).value();
  return logits.slice(1, length - 1, length).to(DType::f32).to_vector<float>();
}

std::int32_t argmax(const std::vector<float>& logits) {
  return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
}

GenerateOptions draw(std::int64_t tokens, std::uint64_t seed = 1) {
  return {.sampling = {}, .tokens = tokens, .seed = seed};
}

Ids long_prompt(std::int64_t length) {
  Ids ids;
  for (std::int64_t i = 0; i < length; ++i) ids.push_back(static_cast<std::int32_t>(i * 7 % kVocab));
  return ids;
}

}  // namespace

TEST_CASE("generate: with the cache the same tokens as without, within the context and far beyond its end" *
          long_test()) {
  for (NormPlace norm : {NormPlace::pre, NormPlace::post}) {
    for (const PositionConfig& position :
         {PositionConfig(LearnedPositions{}), PositionConfig(SinusoidalPositions{}), PositionConfig(Rotary{})}) {
      const TestModel model(norm, position);
      for (std::int64_t prompt_length : {1, 5, 15, 16, 17, 40}) {
        CAPTURE(prompt_length);
        std::uint64_t seed = 0;
        for (double temperature : {0.0, 0.7, 0.7, 3.0}) {
          GenerateOptions options = draw(45, ++seed);
          options.sampling.temperature = temperature;
          const Ids cached = generate(model, long_prompt(prompt_length), options);
          options.use_cache = false;
          CHECK(generate(model, long_prompt(prompt_length), options) == cached);
          CHECK(cached.size() == 45);
        }
      }
    }
  }
}

TEST_CASE("generate: with the cache the same tokens as without, f32") {
  const TestModel model(NormPlace::pre, LearnedPositions{}, DType::f32);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    GenerateOptions options{.sampling = {.top_k = 10, .top_p = 0.9}, .tokens = 60, .seed = seed};
    const Ids cached = generate(model, kPrompt, options);
    options.use_cache = false;
    CHECK(generate(model, kPrompt, options) == cached);
  }
}

TEST_CASE("generate: follows the sampler step by step, and drops the older half of a full context") {
  const TestModel model;
  const SamplingOptions sampling{.temperature = 1.5, .top_k = 12};
  for (std::int64_t prompt_length : {3, 16, 30}) {
    const Ids prompt = long_prompt(prompt_length);
    const Ids generated = generate(model, prompt, {.sampling = sampling, .tokens = 50, .seed = 9});
    // What the model sees: the last 16 tokens of the prompt; beyond 16 the last 8, growing again.
    Ids window(prompt.end() - std::min<std::int64_t>(prompt_length, kWindow), prompt.end());
    std::set<std::size_t> lengths;
    for (std::uint32_t i = 0; i < 50; ++i) {
      if (window.size() == kWindow + 1) window.assign(window.end() - kWindow / 2, window.end());
      lengths.insert(window.size());
      // The stream of the keys is the generator's own affair: the token must be one that the sampler can draw.
      const std::vector<float> logits = last_logits(model, window);
      std::vector<float> sorted = logits;
      std::ranges::sort(sorted, std::greater<>());
      CHECK(logits[generated[i]] >= sorted[sampling.top_k - 1]);
      window.push_back(generated[i]);
    }
    CHECK(*lengths.rbegin() == kWindow);
  }
}

TEST_CASE("generate: a context of its own, also beyond the model's where positions are not learned") {
  for (const PositionConfig& position : {PositionConfig(SinusoidalPositions{}), PositionConfig(Rotary{})}) {
    const TestModel model(NormPlace::pre, position);
    for (const std::int64_t context : {4, 16, 50}) {
      Ids window = long_prompt(20), expected;
      if (context < 20) window.assign(window.end() - context, window.end());
      for (int i = 0; i < 40; ++i) {
        if (std::ssize(window) == context + 1) window.assign(window.end() - context / 2, window.end());
        expected.push_back(argmax(last_logits(model, window)));
        window.push_back(expected.back());
      }
      GenerateOptions options{.sampling = {.temperature = 0}, .tokens = 40, .context = context};
      CHECK(generate(model, long_prompt(20), options) == expected);
      const auto best = search_texts(model, long_prompt(20), {.search = {.beam = 1}, .tokens = 40, .context = context});
      CHECK(best.front().ids == expected);
    }
  }
  const TestModel learned(NormPlace::pre, LearnedPositions{});
  CHECK(seen_part(learned, long_prompt(20), 5).size() == 5);
  CHECK_THROWS_WITH_AS(generate(learned, long_prompt(20), {.sampling = {}, .context = 17}),
                       "--context: expected 1 to 16 (the model's), got 17", UsageError);
  const Rnn recurrent(RnnConfig{.vocab = kVocab, .stack = {.layers = 1, .input_dim = 4, .dim = 4}});
  CHECK_THROWS_WITH_AS(generate(recurrent, long_prompt(20), {.sampling = {}, .context = 8}),
                       "--context: expected none for a model without a limit, got 8", UsageError);
}

TEST_CASE("generate: greedy is the argmax of the full forward pass, and so are top-k 1 and a tiny top-p") {
  const TestModel model;
  Ids window = kPrompt, expected;
  for (int i = 0; i < 40; ++i) {
    if (window.size() == kWindow + 1) window.assign(window.end() - kWindow / 2, window.end());
    expected.push_back(argmax(last_logits(model, window)));
    window.push_back(expected.back());
  }
  for (const SamplingOptions& sampling :
       {SamplingOptions{.temperature = 0}, SamplingOptions{.top_k = 1}, SamplingOptions{.top_p = 1e-6}}) {
    for (std::uint64_t seed : {1, 2}) {
      CHECK(generate(model, kPrompt, {.sampling = sampling, .tokens = 40, .seed = seed}) == expected);
    }
  }
}

TEST_CASE("generate: the same seed the same text, another seed another, and a longer text begins with the shorter") {
  const TestModel model;
  std::set<Ids> texts;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Ids text = generate(model, kPrompt, draw(30, seed));
    CHECK(generate(model, kPrompt, draw(30, seed)) == text);
    const Ids shorter = generate(model, kPrompt, draw(12, seed));
    CHECK(std::ranges::equal(shorter, std::span(text).first(12)));
    texts.insert(text);
  }
  CHECK(texts.size() == 8);
}

TEST_CASE("generate: the first token's frequencies over many seeds are the model's probabilities") {
  const TestModel model;
  const std::vector<float> logits = last_logits(model, kPrompt);
  double total = 0;
  for (float logit : logits) total += std::exp(logit);
  std::vector<double> counts(kVocab);
  const int draws = 3000;
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    ++counts[generate(model, kPrompt, draw(1, seed))[0]];
  }
  for (std::int64_t id = 0; id < kVocab; ++id) {
    CAPTURE(id);
    const double p = std::exp(logits[id]) / total;
    CHECK(std::abs(counts[id] - draws * p) < 5 * std::sqrt(draws * p * (1 - p)) + 1);
  }
}

TEST_CASE("generate: hands out each token as soon as it is known, and ends before the stop token") {
  const TestModel model;
  Ids seen;
  const auto keep = [&](std::int32_t id) {
    seen.push_back(id);
    return true;
  };
  const Ids text = generate(model, kPrompt, draw(40), keep);
  CHECK(seen == text);
  const std::int32_t stop = text[20];
  const auto first = std::ranges::find(text, stop);
  seen.clear();
  GenerateOptions options = draw(40);
  options.stop_token = stop;
  const Ids stopped = generate(model, kPrompt, options, keep);
  CHECK(stopped == Ids(text.begin(), first));
  CHECK(seen == stopped);
  CHECK(generate(model, kPrompt, draw(0), keep).empty());
  seen.clear();
  const auto first_three = [&](std::int32_t id) {
    seen.push_back(id);
    return seen.size() < 3;
  };
  CHECK(generate(model, kPrompt, draw(40), first_three) == Ids(text.begin(), text.begin() + 3));
}

TEST_CASE("generate: a context of one token") {
  GptConfig config = config_of(NormPlace::pre, LearnedPositions{}, DType::f64);
  config.context = 1;
  const Gpt model(config);
  randomize(model);
  GenerateOptions options = draw(10);
  const Ids cached = generate(model, kPrompt, options);
  options.use_cache = false;
  CHECK(generate(model, kPrompt, options) == cached);
  CHECK(cached.size() == 10);
}

TEST_CASE("generate: errors for an empty prompt, bad options and ids outside the vocabulary") {
  const TestModel model;
  CHECK_THROWS_WITH_AS(generate(model, {}, {}), "generate: the prompt has no tokens", Error);
  CHECK_THROWS_WITH_AS(generate(model, kPrompt, {.sampling = {.temperature = -1}}),
                       "--temperature: expected 0 or more, got -1", UsageError);
  CHECK_THROWS_WITH_AS(generate(model, Ids{2, 19}, {}), "embedding: id 19 at place 1 is outside of the table's 19 rows",
                       Error);
}

TEST_CASE("generate: a model that keeps to documents looks at the last one that has begun") {
  GptConfig config = config_of(NormPlace::pre, LearnedPositions{}, DType::f64);
  config.document_token = 7;
  const Gpt model(config);
  randomize(model);
  // Prompt and text fit the context, so that a full forward pass over all of it is what must be seen.
  const Ids prompt = {3, 7, 4, 1, 7, 5};
  int begun = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    GenerateOptions options = draw(10, seed);
    options.sampling = {.temperature = 2, .top_k = 4};
    const Ids cached = generate(model, prompt, options);
    CHECK(generate(model, Ids{7, 5}, options) == cached);
    options.use_cache = false;
    CHECK(generate(model, prompt, options) == cached);
    Ids all = prompt;
    for (const std::int32_t token : cached) {
      const std::vector<float> logits = last_logits(model, all);
      CHECK(std::ranges::count_if(logits, [&](float other) { return other > logits[token]; }) < 4);
      all.push_back(token);
      begun += token == 7;
    }
  }
  CHECK(begun > 5);
}
