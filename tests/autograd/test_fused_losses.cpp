// Each fused loss against its twin made of elementary ops: values and all gradients.
#include <cmath>

#include "autograd/ops/ops.h"
#include "tests/autograd/support.h"

using namespace tapeformer;

namespace {

using Inputs = std::span<const Variable>;

// −Σ target distribution · log p / normalizer
Variable cross_entropy_twin(const Variable& logits, const std::vector<std::int32_t>& targets,
                            const CrossEntropyOptions& options) {
  const std::int64_t rows = logits.size(0), vocab = logits.size(1);
  const Tensor weights = Tensor::full({rows, vocab}, DType::f64, 0), is_scored = Tensor::full({rows, 1}, DType::f64, 0);
  double scored = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int32_t target = targets[static_cast<std::size_t>(i)];
    if (target < 0) continue;
    const Tensor row = weights.slice(0, i, i + 1);
    row.fill(-options.smoothing / static_cast<double>(vocab));
    row.data<double>()[target] -= 1 - options.smoothing;
    is_scored.slice(0, i, i + 1).fill(1);
    ++scored;
  }
  const double normalizer = options.normalizer > 0 ? options.normalizer : std::max(scored, 1.0);
  const Variable plain = sum(mul(log_softmax(logits), beside(logits, weights)));
  if (options.z_loss == 0) return scale(plain, 1 / normalizer);
  const Variable z = log(sum(exp(logits), -1, true));
  const Variable squares = sum(mul(mul(z, z), beside(logits, is_scored)));
  return scale(add(plain, scale(squares, options.z_loss)), 1 / normalizer);
}

}  // namespace

TEST_CASE("cross_entropy and linear_cross_entropy: agree with their composite twins") {
  const std::vector<std::int32_t> targets{3, -1, 0, 6, 6, -100, 2};
  const std::vector<Tensor> logits{random_normal({7, 11}, 1)};
  const std::vector<Tensor> factors{random_normal({7, 5}, 2), random_normal({11, 5}, 3), random_normal({11}, 4)};
  for (const CrossEntropyOptions& options :
       {CrossEntropyOptions{}, CrossEntropyOptions{.smoothing = 0.1}, CrossEntropyOptions{.normalizer = 64},
        CrossEntropyOptions{.smoothing = 0.25, .normalizer = 3.5}, CrossEntropyOptions{.z_loss = 0.1},
        CrossEntropyOptions{.smoothing = 0.1, .z_loss = 0.03, .normalizer = 5}}) {
    const auto ids = [&](const Variable& x) {
      return Variable::constant(*x.tape(), Tensor::from(std::span<const std::int32_t>(targets), {7}));
    };
    check_twins([&](Inputs in) { return cross_entropy(in[0], ids(in[0]), options); },
                [&](Inputs in) { return cross_entropy_twin(in[0], targets, options); }, logits);
    for (std::size_t count : {2, 3}) {
      const auto bias = [&](Inputs in) { return count == 3 ? in[2] : Variable(); };
      check_twins([&](Inputs in) { return linear_cross_entropy(in[0], in[1], bias(in), ids(in[0]), options); },
                  [&](Inputs in) { return cross_entropy_twin(linear(in[0], in[1], bias(in)), targets, options); },
                  std::span(factors).first(count));
      const auto capped = [&](Inputs in) { return scale(tanh(scale(linear(in[0], in[1], bias(in)), 1 / 1.5)), 1.5); };
      check_twins([&](Inputs in) { return linear_cross_entropy(in[0], in[1], bias(in), ids(in[0]), options, 1.5); },
                  [&](Inputs in) { return cross_entropy_twin(capped(in), targets, options); },
                  std::span(factors).first(count));
    }
  }
}

TEST_CASE("linear_cross_entropy: several chunks of rows have the loss and gradients of their parts") {
  constexpr std::int64_t kVocab = 1 << 20, kRows = 34;  // two chunks of 17 rows
  std::vector<std::int32_t> targets;
  for (std::int32_t i = 0; i < kRows; ++i) targets.push_back(i % 9 == 4 ? -1 : i * 30011);
  const auto run = [&](const std::vector<std::int64_t>& bounds) {
    const std::vector<Variable> parameters{Variable::parameter(random_normal({kRows, 2}, 1, DType::f32)),
                                           Variable::parameter(random_normal({kVocab, 2}, 2, DType::f32)),
                                           Variable::parameter(random_normal({kVocab}, 3, DType::f32))};
    Tape tape;
    const Variable x = parameters[0].on(tape), weight = parameters[1].on(tape), bias = parameters[2].on(tape);
    const Variable ids = Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(targets), {kRows}));
    Variable total;
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
      const auto part = [&](const Variable& rows) { return slice(rows, 0, bounds[i], bounds[i + 1]); };
      const Variable loss =
          linear_cross_entropy(part(x), weight, bias, part(ids), {.smoothing = 0.1, .normalizer = 30});
      total = i == 0 ? loss : add(total, loss);
    }
    tape.backward(total);
    std::vector<Tensor> results{total.value()};
    for (const Variable& parameter : parameters) results.push_back(parameter.grad());
    return results;
  };
  const std::vector<Tensor> whole = run({0, kRows}), parts = run({0, 10, kRows});
  for (std::size_t i = 0; i < whole.size(); ++i) CHECK(distance(whole[i], parts[i]) < 1e-5);
}

TEST_CASE("softcap: agrees with its composite twin and stays within its cap") {
  const std::vector<Tensor> inputs{random_normal({4, 7}, 1)};
  check_twins([](Inputs in) { return softcap(in[0], 0.7); },
              [](Inputs in) { return scale(tanh(scale(in[0], 1 / 0.7)), 0.7); }, inputs);
  Tape tape(no_grad);
  const Variable x = Variable::constant(tape, Tensor::from<double>({-1e6, 0, 3, INFINITY}, {4}));
  CHECK(softcap(x, 15).value().to_vector<double>() == std::vector<double>{-15, 0, 15 * std::tanh(0.2), 15});
}

TEST_CASE("linear_cross_entropy: a deferred loss has its value, and the same gradients to the bit, after backward") {
  const Tensor targets = Tensor::from<std::int32_t>({3, -1, 0, 6}, {4});
  const auto run = [&](bool deferred, bool record, double cap = 0) {
    const Variable x = Variable::parameter(random_normal({4, 5}, 1, DType::f32));
    const Variable weight = Variable::parameter(random_normal({11, 5}, 2, DType::f32));
    Tape tape({.record = record});
    const Variable loss = linear_cross_entropy(x, weight, {}, Variable::constant(tape, targets),
                                               {.smoothing = 0.1, .deferred = deferred}, cap);
    if (record) {
      CHECK(std::isnan(loss.value().item()) == deferred);
      tape.backward(loss);
    }
    std::vector<float> result{static_cast<float>(loss.value().item())};
    for (const Variable& parameter : {x, weight}) {
      if (!record) continue;
      const std::vector<float> gradient = parameter.grad().to_vector<float>();
      result.insert(result.end(), gradient.begin(), gradient.end());
    }
    return result;
  };
  CHECK(run(true, true) == run(false, true));
  CHECK(run(true, false) == run(false, false));
  CHECK(run(true, true, 0.8) == run(false, true, 0.8));
  CHECK(run(true, true, 0.8) != run(true, true));
}

TEST_CASE("cross_entropy and linear_cross_entropy: with smoothing, the loss without it is reported beside") {
  const Tensor targets = Tensor::from<std::int32_t>({3, -1, 0, 4, 2, 2}, {6});
  const Tensor hidden = random_normal({6, 8}, 1), table = random_normal({5, 8}, 2);
  for (const bool deferred : {false, true}) {
    for (const bool is_linear : {false, true}) {
      const auto loss_of = [&](const CrossEntropyOptions& options) {
        const Variable x = Variable::parameter(hidden.clone()), weight = Variable::parameter(table.clone());
        Tape tape;
        const Variable rows = x.on(tape), head = weight.on(tape), ids = Variable::constant(tape, targets);
        const Variable loss = is_linear ? linear_cross_entropy(rows, head, {}, ids, options)
                                        : cross_entropy(linear(rows, head, {}), ids, options);
        tape.backward(loss);
        return loss.value().item();
      };
      double nll = 0;
      const double plain = loss_of({.normalizer = 7, .deferred = deferred});
      const double smoothed = loss_of({.smoothing = 0.3, .normalizer = 7, .deferred = deferred, .nll = &nll});
      CHECK(nll == doctest::Approx(plain).epsilon(1e-12));
      CHECK(smoothed == loss_of({.smoothing = 0.3, .normalizer = 7, .deferred = deferred}));
      double without_z = 0;
      CHECK(loss_of({.z_loss = 0.1, .normalizer = 7, .deferred = deferred, .nll = &without_z}) > plain + 0.01);
      CHECK(without_z == doctest::Approx(plain).epsilon(1e-12));
      CHECK(smoothed != plain);
    }
  }
}
