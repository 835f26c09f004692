// One effective batch in any number of micro-steps, and evaluation in between.
#include <functional>

#include "data/text/batcher.h"
#include "tasks/text/text_evaluation.h"
#include "tests/long_test.h"
#include "tests/nn/support.h"

using namespace tapeformer;

namespace {

constexpr std::int64_t kRows = 32;

struct Text {
  std::vector<std::int32_t> ids;
  explicit Text(std::int64_t vocab) : ids(random_ids(3000, vocab, 11)) {}
  TokenView view() const { return TokenView(std::span<const std::int32_t>(ids)); }
};

struct StepResult {
  double loss = 0;
  Gradients gradients;
  std::vector<std::int32_t> inputs;
};

// One step as training does it: losses divided by the targets of the whole step, gradients gathered over the tapes.
// `between` runs before each micro-step.
StepResult accumulate(const Gpt& model, TokenView text, std::int64_t micro_steps, std::uint32_t step,
                      const std::function<void()>& between = {}) {
  const std::int64_t context = model.config().context, rows = kRows / micro_steps;
  const TextBatcher batcher(text, rows, context, 77);
  TextBatch batch;
  StepResult result;
  model.zero_grad();
  for (std::int64_t micro = 0; micro < micro_steps; ++micro) {
    if (between) between();
    batcher.draw(step, static_cast<std::uint32_t>(micro), batch);
    result.inputs.insert(result.inputs.end(), batch.inputs.begin(), batch.inputs.end());
    result.loss += add_gradients(
        model, ids_tensor(batch.inputs, {rows, context}), ids_tensor(batch.targets, {rows, context}),
        {.normalizer = static_cast<double>(kRows * context)},
        {.training = true, .random = {.seed = 5, .step = step, .micro_step = static_cast<std::uint32_t>(micro)}});
  }
  result.gradients = gradients_of(model);
  return result;
}

}  // namespace

TEST_CASE("accumulation: 1×32, 2×16, 4×8 and 32×1 draw the same sequences and give the same loss and gradients" *
          long_test()) {
  for (const GptConfig& config : architectures()) {
    CAPTURE(name_of(config));
    const Gpt model(config);
    randomize(model);
    const Text text(config.vocab);
    const StepResult whole = accumulate(model, text.view(), 1, 3);
    CHECK(whole.gradients.size() == model.named_parameters().size());
    for (std::int64_t micro_steps : {2, 4, 32}) {
      CAPTURE(micro_steps);
      const StepResult parts = accumulate(model, text.view(), micro_steps, 3);
      CHECK(parts.inputs == whole.inputs);
      CHECK(parts.loss == doctest::Approx(whole.loss).epsilon(1e-13));
      CHECK(distance(parts.gradients, whole.gradients) < 1e-12);
    }
    CHECK(accumulate(model, text.view(), 4, 4).inputs != whole.inputs);
  }
}

TEST_CASE("accumulation: the step's loss is the mean over all its targets, not the mean of the micro-steps' means") {
  // Micro-steps with very different numbers of scored targets.
  const GptConfig config = small_gpt();
  const Gpt model(config);
  randomize(model);
  const std::vector<std::int32_t> ids = random_ids(48, config.vocab, 12);
  std::vector<std::int32_t> targets = random_ids(48, config.vocab, 13);
  std::fill(targets.begin() + 25, targets.end(), -1);
  const double whole = add_gradients(model, ids_tensor(ids, {4, 12}), ids_tensor(targets, {4, 12}));
  const Gradients expected = gradients_of(model);
  model.zero_grad();
  double sum = 0;
  for (int half = 0; half < 2; ++half) {
    sum += add_gradients(model, ids_tensor(std::span(ids).subspan(24 * half, 24), {2, 12}),
                         ids_tensor(std::span(targets).subspan(24 * half, 24), {2, 12}), {.normalizer = 25});
  }
  CHECK(sum == doctest::Approx(whole).epsilon(1e-14));
  CHECK(distance(gradients_of(model), expected) < 1e-12);
}

TEST_CASE("evaluation: between steps and micro-steps it changes no bit of what follows, with dropout on") {
  for (DType dtype : {DType::f64, DType::f32}) {
    GptConfig config = small_gpt(dtype);
    config.block.dropout = config.block.attention_dropout = 0.2;
    const Gpt model(config);
    randomize(model);
    const Text text(config.vocab);
    std::vector<StepResult> undisturbed, disturbed;
    for (std::uint32_t step : {1, 2}) undisturbed.push_back(accumulate(model, text.view(), 4, step));
    const auto evaluate_all = [&] {
      const Evaluation evaluation = evaluate(model, text.view(), {.stride = 5, .batch = 3, .max_batches = 4});
      CHECK(std::isfinite(evaluation.loss()));
    };
    for (std::uint32_t step : {1, 2}) disturbed.push_back(accumulate(model, text.view(), 4, step, evaluate_all));
    for (int i = 0; i < 2; ++i) {
      CHECK(disturbed[i].loss == undisturbed[i].loss);
      CHECK(same_bits(disturbed[i].gradients, undisturbed[i].gradients));
    }
    CHECK_FALSE(same_bits(undisturbed[0].gradients, undisturbed[1].gradients));
  }
}

TEST_CASE("evaluation: depends neither on the dropout nor on gradients gathered before it") {
  GptConfig config = small_gpt();
  const Gpt plain(config);
  config.block.dropout = config.block.attention_dropout = 0.5;
  const Gpt dropping(config);
  randomize(plain), randomize(dropping);
  const Text text(config.vocab);
  const WindowOptions options{.batch = 4, .max_batches = 3};
  const double before = evaluate(dropping, text.view(), options).loss();
  accumulate(dropping, text.view(), 2, 1);
  CHECK(evaluate(dropping, text.view(), options).loss() == before);
  CHECK(evaluate(plain, text.view(), options).loss() == before);
}
