// Optimizers whose moments are kept in bf16 or in 8 bits.
#include <cmath>
#include <map>

#include "autograd/ops/ops.h"
#include "autograd/tensor/allocator.h"
#include "core/error.h"
#include "core/parallel.h"
#include "nn/optim/optimizers.h"
#include "tests/long_test.h"
#include "tests/nn/support.h"
#include "tests/temp_folder.h"

using namespace tapeformer;

namespace {

// A regression by a matrix that is learned from noisy targets: y = x·wᵀ + b, loss = the mean square.
struct Regression : Module {
  Variable w = register_parameter("w", {24, 40}, DType::f32, Init::normal(0.1), ParameterKind::matrix);
  Variable stacked =
      register_parameter("stacked", {24, 40}, DType::f32, Init::normal(0.1), ParameterRole::stacked({9, 15}));
  Variable b = register_parameter("b", {24}, DType::f32, Init::zeros());
  Variable table = register_parameter("table", {50, 24}, DType::f32, Init::zeros(), ParameterKind::embedding);

  Regression() { initialize_parameters(1); }

  // Every training reads the same numbers: they are drawn once.
  static Tensor random(const Dims& sizes, std::uint64_t stream) {
    static std::map<std::pair<std::uint64_t, std::int64_t>, Tensor> drawn;
    const auto [entry, is_new] = drawn.try_emplace({stream, sizes[1]}, Tensor::empty(sizes, DType::f32));
    if (is_new) {
      RandomStream random({.seed = 9, .stream = stream});
      for (float& value : entry->second.span<float>()) value = static_cast<float>(random.normal());
    }
    return entry->second;
  }
  Variable loss(Tape& tape, std::uint64_t step) const {
    const Tensor x = random({32, 40}, 100 + step), truth = random({24, 40}, 1), noise = random({32, 24}, 200 + step);
    const Variable inputs = Variable::constant(tape, x);
    const Variable exact = matmul(inputs, transpose(Variable::constant(tape, truth), 0, 1));
    const Variable target = add(exact, scale(Variable::constant(tape, noise), 0.1));
    const Variable both = add(w.on(tape), stacked.on(tape));
    const auto first = static_cast<std::int64_t>(step % 10);
    const Variable rows = slice(table.on(tape), 0, first, first + 32);
    const Variable y = add(add(matmul(inputs, transpose(both, 0, 1)), b.on(tape)), rows);
    const Variable off = sub(y, target);
    return scale(sum(mul(off, off)), 1.0 / 32);
  }
};

struct Trained {
  double loss = 0;  // the mean of the last steps
  std::vector<float> weights;
  NamedTensors state;
};

Trained train(const std::string& name, const std::string& state, std::uint64_t seed = 1, int steps = 300) {
  const Regression model;
  const ParameterSlab slab(model);
  OptimizerSettings settings{{"state", state}, {"lr", 0.02}};
  const auto optimizer = make_optimizer(name, slab, settings);
  Trained trained;
  for (int step = 1; step <= steps; ++step) {
    slab.zero_grad();
    Tape tape;
    const Variable loss = model.loss(tape, step);
    tape.backward(loss);
    if (step > steps - 20) trained.loss += loss.value().item() / 20;
    const double norm = optimizer->gradient_norm();
    OptimizerStep update = optimizer->clipped((name == "sgd" ? 0.002 : 0.02) * (1 - 0.9 * step / steps), step, norm);
    update.seed = seed;
    optimizer->apply(update);
  }
  trained.weights = slab.values().to_vector<float>();
  for (const auto& [key, values] : optimizer->state()) trained.state.emplace_back(key, values.clone());
  return trained;
}

const std::string kNames[] = {"adamw", "adam", "sgd", "muon"};

}  // namespace

TEST_CASE("optimizer state: in bf16 and int8 the loss of f32 is reached, by every optimizer and seed" * long_test()) {
  for (const std::string& name : kNames) {
    CAPTURE(name);
    const double expected = train(name, "f32").loss, start = train(name, "f32", 1, 20).loss;
    CHECK(expected < start / 5);
    for (const std::string state : {"bf16", "int8"}) {
      CAPTURE(state);
      for (const std::uint64_t seed : {1, 2, 3}) CHECK(train(name, state, seed).loss < 1.1 * expected);
    }
  }
}

TEST_CASE("optimizer state: a seed gives the same bits for any number of threads, and another seed gives others") {
  const int threads = thread_count();
  for (const std::string& name : kNames) {
    for (const std::string state : {"bf16", "int8"}) {
      CAPTURE(name);
      CAPTURE(state);
      set_thread_count(1);
      const Trained alone = train(name, state, 1, 5);
      set_thread_count(3);
      const Trained together = train(name, state, 1, 5);
      CHECK(together.weights == alone.weights);
      for (std::size_t i = 0; i < alone.state.size(); ++i) {
        const Tensor &a = alone.state[i].second, &b = together.state[i].second;
        CHECK(dispatch_stored(a.dtype(), [&]<class T>(T) { return a.to_vector<T>() == b.to_vector<T>(); }));
      }
      CHECK(train(name, state, 2, 5).weights != alone.weights);
    }
  }
  set_thread_count(threads);
}

TEST_CASE("optimizer state: it goes through a file in its format, and on to the same bits") {
  const TempFolder folder;
  for (const std::string& name : kNames) {
    for (const std::string state : {"bf16", "int8"}) {
      CAPTURE(name);
      CAPTURE(state);
      const Regression model, other;
      const ParameterSlab slab(model), other_slab(other);
      const auto optimizer = make_optimizer(name, slab, {{"state", state}});
      const auto other_optimizer = make_optimizer(name, other_slab, {{"state", state}});
      const auto step = [](const Regression& model, const ParameterSlab& slab, Optimizer& optimizer, int number) {
        slab.zero_grad();
        Tape tape;
        tape.backward(model.loss(tape, number));
        optimizer.step(0.01, number);
      };
      step(model, slab, *optimizer, 1);
      step(model, slab, *optimizer, 2);
      write_safetensors(folder.path / "state", optimizer->state());
      other_optimizer->load_state(SafetensorsFile(folder.path / "state"));
      other.load_state_dict(model.state_dict());
      step(model, slab, *optimizer, 3);
      step(other, other_slab, *other_optimizer, 3);
      CHECK(same_bits(other_slab.values(), slab.values()));
      const auto plain = make_optimizer(name, slab, {});
      CHECK_THROWS_AS(plain->load_state(SafetensorsFile(folder.path / "state")), Error);
    }
  }
}

TEST_CASE("optimizer state: its tensors, by name, and their memory") {
  const Regression model;
  const ParameterSlab slab(model);
  const auto state_of = [&](const char* name, const char* state) {
    std::map<std::string, std::string> tensors;
    const std::int64_t before = memory_stats().in_use;
    const auto optimizer = make_optimizer(name, slab, {{"state", state}});
    std::int64_t bytes = 0;
    for (const auto& [key, values] : optimizer->state()) {
      tensors[key] = str_cat(values.sizes(), " ", values.dtype());
      bytes += values.bytes();
    }
    CHECK(memory_stats().in_use - before <= bytes + 8 * 4096);
    return tensors;
  };
  const auto bf16 = state_of("adamw", "bf16"), int8 = state_of("adamw", "int8"), muon = state_of("muon", "int8");
  CHECK(bf16.size() == 8);
  CHECK(bf16.at("m.w") == "(24, 40) bf16");
  CHECK(int8.size() == 16);
  CHECK(int8.at("v.w") == "(24, 40) u8");
  CHECK(int8.at("v_scale.w") == "(4) f32");  // 960 elements
  CHECK(int8.at("m_scale.b") == "(1) f32");
  CHECK(muon.size() == 4 + 8);
  CHECK(muon.at("momentum.stacked") == "(24, 40) u8");
  CHECK(muon.at("momentum_scale.stacked") == "(4) f32");
  CHECK(muon.at("m_scale.table") == "(5) f32");
  CHECK(state_of("sgd", "int8").at("v_scale.table") == "(5) f32");
}

TEST_CASE("optimizer state: a row that has no gradient for long keeps still, beside one that has large ones") {
  // 128 wide: two rows share a block.
  struct Table : Module {
    Variable rows = register_parameter("rows", {2, 128}, DType::f32, Init::zeros(), ParameterKind::embedding);
  } model;
  model.initialize_parameters(1);
  const ParameterSlab slab(model);
  const auto optimizer = make_optimizer("adamw", slab, {{"state", "int8"}, {"weight_decay", 0.0}});
  const auto rest = [&] { return slab.values().slice(0, 128, 256).to_vector<float>(); };
  std::vector<float> after_first;
  for (int step = 1; step <= 400; ++step) {
    RandomStream random({.seed = 3, .step = static_cast<std::uint32_t>(step)});
    const Tensor gradient = Tensor::zeros({2, 128}, DType::f32);
    for (int i = 0; i < 128; ++i) gradient.data<float>()[i] = static_cast<float>(random.normal());
    for (int i = 128; i < 256 && step == 1; ++i) gradient.data<float>()[i] = static_cast<float>(1e-3 * random.normal());
    slab.zero_grad();
    Tape tape;
    tape.backward(sum(mul(model.rows.on(tape), Variable::constant(tape, gradient))));
    optimizer->step(0.001, step);
    if (step == 100) after_first = rest();
  }
  // One gradient moves an element by about lr·(1 − β₁)/√(1 − β₂)·10 in all, and nothing later by more than noise.
  for (const float value : after_first) CHECK(std::abs(value) < 0.03);
  const std::vector<float> last = rest();
  for (int i = 0; i < 128; ++i) CHECK(std::abs(last[i] - after_first[i]) < 0.01);
}

TEST_CASE("optimizer state: what cannot be kept in fewer bits is refused") {
  struct Wide : Module {
    Variable w = register_parameter("w", {3}, DType::f64, Init::zeros());
  } wide;
  wide.initialize_parameters(1);
  const ParameterSlab slab(wide);
  CHECK_THROWS_WITH_AS(make_optimizer("adamw", slab, {{"state", "int8"}}),
                       "optimizer state: int8: expected parameters of f32, got f64", Error);
  const Regression model;
  const ParameterSlab whole(model);
  const ParameterSlab cut = whole.part(16, 960, whole.values(), whole.gradients());
  for (const std::string state : {"bf16", "int8"}) {
    CHECK_THROWS_WITH_AS(make_optimizer("adamw", cut, {{"state", state}}),
                         "optimizer state: w@16: a block is cut in two", Error);
  }
  CHECK_NOTHROW(make_optimizer("adamw", cut, {{"state", "f32"}}));
}
