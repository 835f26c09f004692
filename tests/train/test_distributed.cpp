// Training by several ranks, here threads of one process: the same losses and weights as one process.
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>

#include "core/parallel.h"
#include "nn/models/transformer.h"
#include "tasks/bidirectional_language_model/encoder_evaluation.h"
#include "tests/nn/support.h"
#include "tests/train/thread_ranks.h"
#include "tests/train/toy.h"
#include "train/config/matmul_config.h"
#include "train/distributed/local_steps.h"
#include "train/distributed/same_job.h"
#include "train/run/checkpoint_store.h"
#include "train/run/metrics.h"

using namespace tapeformer;

namespace {

constexpr std::int64_t kBucket = 256;  // small, so that there are several

// A model in f64 on random tokens: what a run cannot train, and where rounding is small.
template <class Model>
struct WideObjective : Objective {
  WideObjective(const auto& config, std::int64_t micro_steps)
      : Objective(resolve(Config())), net(config), micro_steps(micro_steps) {
    randomize(net);
  }
  const Module& model() const override { return net; }
  DataFacts facts() const override { return {}; }
  StepSize step_size(std::int64_t, MicroSteps of) override {
    return {of.size() * kRows * kLength, of.size() * kRows * kLength};
  }
  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro, const MeanOver& mean) override {
    const auto ids = [&](std::uint64_t stream) {
      const auto seed = static_cast<std::uint64_t>(1000 * step + 10 * micro) + stream;
      return Variable::constant(tape, ids_tensor(random_ids(kRows * kLength, 17, seed), {kRows, kLength}));
    };
    const CrossEntropyOptions options{.normalizer = mean.targets};
    if constexpr (std::is_same_v<Model, Gpt>) {
      return net.loss(ids(1), ids(2), options);
    } else {
      const SourceBatch source{ids(3).value(), Tensor::full({kRows}, DType::i32, kLength)};
      return net.loss(source, ids(1), ids(2), options);
    }
  }
  ValidationFacts validation() const override { return {.missing = "no data"}; }
  Evaluation evaluate(const ProgressCallback&) override { return {}; }

  static constexpr std::int64_t kRows = 2, kLength = 6;
  Model net;
  std::int64_t micro_steps;
};

TransformerConfig small_transformer() {
  TransformerConfig config;
  config.source_vocab = config.target_vocab = 17;
  config.context = 12, config.layers = 1;
  config.block = {.dim = 16, .heads = 4, .ff_dim = 32, .dtype = DType::f64};
  return config;
}

// Gradients that are zero but for rounding stay below eps: Adam would take their signs for steps.
Config parallel_config(std::int64_t micro_steps) {
  Config config = toy_config();
  config.train.accumulate = micro_steps;
  config.optimizer.options["eps"] = 1e-6;
  config.optimizer.clip = 0.5;
  return config;
}

// What a job of ranks has trained: rank 0's losses and norms, and the weights of every rank.
struct Trained {
  std::vector<double> losses;
  std::vector<Tensor> weights;
};

template <class Model, class ModelConfig>
Trained train_wide(int ranks, const ModelConfig& model, const Config& with, std::int64_t steps = 30) {
  const ResolvedConfig config = resolve(with);
  Trained trained{{}, std::vector<Tensor>(ranks)};
  run_ranks(ranks, [&](Communicator& own) {
    WideObjective<Model> objective(model, config.train.accumulate);
    objective.share_with(own);
    const ParameterSlab slab(objective.model());
    const MakeOptimizer make = [&](const ParameterSlab& part) { return make_optimizer(config, part); };
    ShardedOptimizer optimizer(slab, config.optimizer.clip, make, own, config.train.comm, kBucket,
                               find_optimizer_row(config.optimizer.name)->unit);
    for (std::int64_t step = 1; step <= steps; ++step) {
      const StepResult result = train_step(objective, slab, optimizer, config, step, 3e-3);
      if (own.is_root()) trained.losses.push_back(result.loss), trained.losses.push_back(result.grad_norm);
    }
    trained.weights[own.rank()] = slab.values().clone();
  });
  return trained;
}

template <class Model, class ModelConfig>
void check_ranks_are_one_process(const ModelConfig& model, const Config& config = parallel_config(12)) {
  const Trained whole = train_wide<Model>(1, model, config);
  CHECK(whole.losses[1] > 0.5);  // clipped
  for (const int ranks : {2, 3, 4}) {
    CAPTURE(ranks);
    const Trained parts = train_wide<Model>(ranks, model, config);
    for (std::size_t i = 0; i < whole.losses.size(); ++i) {
      CHECK(std::abs(parts.losses[i] - whole.losses[i]) <= 1e-12 * whole.losses[i]);
    }
    CHECK(distance(parts.weights[0], whole.weights[0]) <= 1e-12);
    for (const Tensor& weights : parts.weights) CHECK(same_bits(weights, parts.weights[0]));
    if (ranks == 3) CHECK(same_bits(train_wide<Model>(ranks, model, config).weights[0], parts.weights[0]));
  }
}

// The state of all ranks' optimizers by name, each element once.
std::map<std::string, std::vector<float>> whole_state(const std::vector<NamedTensors>& shares) {
  std::map<std::string, std::vector<float>> state;
  for (const NamedTensors& share : shares) {
    for (const auto& [name, values] : share) {
      const std::size_t at = name.rfind('@');
      auto& whole = state[name.substr(0, at)];
      const std::vector<float> part = values.to_vector<float>();
      const std::size_t begin = at == name.npos ? 0 : std::stoul(name.substr(at + 1));
      whole.resize(std::max(whole.size(), begin + part.size()));
      std::ranges::copy(part, whole.begin() + static_cast<std::ptrdiff_t>(begin));
    }
  }
  return state;
}

// A run of the toy by ranks, in a folder of its own.
struct ParallelRun {
  ParallelRun(const Config& config, RunFolder run) : config(config), run(std::move(run)) {}

  // Trains up to `steps`, from a checkpoint if there is one, and keeps weights and state.
  void train(int ranks, std::int64_t steps) {
    Config whole = config;
    whole.train.steps = steps;
    states.assign(ranks, {});
    run_ranks(ranks, [&](Communicator& own) {
      Toy toy(whole);
      toy.objective.share_with(own);
      const auto optimizer = make_optimizer(toy.resolved, toy.slab, own);
      TrainingState state;
      if (const auto newest = newest_valid_checkpoint(run); newest.step) {
        state = load_checkpoint(run, *newest.step, toy.model, *optimizer, own);
      }
      own.barrier();
      tapeformer::train(toy.objective, toy.slab, *optimizer, toy.resolved, run, state, {});
      for (const auto& [name, values] : optimizer->state()) states[own.rank()].emplace_back(name, values.clone());
      if (own.is_root()) weights = toy.weights();
    });
  }

  Config config;
  RunFolder run;
  std::vector<float> weights;
  std::vector<NamedTensors> states;
};

Config run_config(std::int64_t micro_steps) {
  Config config = parallel_config(micro_steps);
  config.model.options["dropout"] = 0.1;
  config.checkpoint.every = 4;
  config.schedule.total = 100;
  config.eval.every = 4;
  return config;
}

ParallelRun parallel_run(const TempFolder& folder, const std::string& name, const Config& config) {
  const Toy toy(config);
  return {config, create_run(folder.path / name, to_toml(resolve(config)), toy.objective.facts().tokenizers)};
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    difference = std::max(difference, std::abs(double{a[i]} - b[i]));
  }
  return difference;
}

}  // namespace

TEST_CASE("ranks: sums are taken in their order, texts come from all of them") {
  run_ranks(3, [](Communicator& ranks) {
    double values[] = {std::vector{1e16, 1.0, -1e16}[ranks.rank()], 0.5};
    ranks.sum(values);
    CHECK(values[0] == (1e16 + 1.0) + -1e16);
    CHECK(values[1] == 1.5);
    CHECK(ranks.any(ranks.rank() == 2));
    CHECK_FALSE(ranks.any(false));
    CHECK(ranks.gather(std::string(ranks.rank(), 'x')) == std::vector<std::string>{"", "x", "xx"});
    const std::vector<std::string> own(ranks.rank(), std::string("a\0b", ranks.rank() + 1));
    CHECK(ranks.gather_all(own) == std::vector{std::string("a\0", 2), std::string("a\0b", 3), std::string("a\0b", 3)});
    CHECK(ranks.broadcast(str_cat("from ", ranks.rank())) == "from 0");
    CHECK(ranks.share(7).size() == std::vector{2, 2, 3}[ranks.rank()]);
  });
  CHECK(Communicator::alone().broadcast("text") == "text");
}

TEST_CASE("ranks: a difference between them is refused, and told by its name") {
  run_ranks(2, [](Communicator& ranks) {
    require_same([] { return JobFacts{{"seed", "1"}, {"steps", "5"}}; }, ranks);
  });
  ThreadJob job(2);
  Config config = toy_config();
  const JobFacts first = program_and_config(resolve(config));
  config.train.seed = 2;
  config.train.threads = 7;  // says nothing of the result
  const JobFacts other = program_and_config(resolve(config));
  std::thread root([&] {
    Communicator ranks(std::make_unique<ThreadTransport>(job, 0));
    ranks.broadcast([&] {
      std::string text;
      for (const auto& [name, value] : first) text += name + '\0' + value + '\0';
      return text;
    }());
  });
  Communicator ranks(std::make_unique<ThreadTransport>(job, 1));
  CHECK_THROWS_WITH_AS(require_same([&] { return other; }, ranks), "train.seed: expected 1, which rank 0 has, got 2",
                       Error);
  root.join();
}

TEST_CASE("ranks: 2, 3 and 4 of them train a gpt as one process does, in f64, with dropout and clipping") {
  GptConfig config = small_gpt();
  config.block.dropout = config.block.attention_dropout = 0.1;
  check_ranks_are_one_process<Gpt>(config);
}

TEST_CASE("ranks: 2, 3 and 4 of them train an encoder-decoder as one process does, in f64") {
  TransformerConfig config = small_transformer();
  config.block.dropout = config.block.attention_dropout = 0.1;
  check_ranks_are_one_process<Transformer>(config);
}

TEST_CASE("ranks: by Muon, 2, 3 and 4 of them train as one process does, in f64, each with whole matrices") {
  Config config = parallel_config(12);
  config.optimizer.name = "muon";
  check_ranks_are_one_process<Gpt>(small_gpt(), config);
  check_ranks_are_one_process<Gpt>(modern_gpt(), config);
  config.train.ema = 0.9;
  check_ranks_are_one_process<Gpt>(switched_gpt(), config);
  check_ranks_are_one_process<Transformer>(small_transformer(), config);
}

TEST_CASE("ranks: shares of whole stretches cover the slab, nearly as large as each other") {
  // Three layers of a stretch that may be cut and one that may not.
  std::vector<GradientBuckets::Piece> whole;
  for (const std::int64_t begin : {160, 1600, 3200}) whole.push_back({begin, begin + 1024});
  constexpr std::int64_t kElements = 4800;
  for (const int count : {2, 3, 4}) {
    CAPTURE(count);
    for (const std::int64_t bucket : {std::int64_t{0}, std::int64_t{256}, std::int64_t{2048}}) {
      CAPTURE(bucket);
      std::vector<std::vector<GradientBuckets::Piece>> own(count);
      run_ranks(count, [&](Communicator& ranks) {
        const GradientBuckets shares(
            kElements, DType::f32, ranks, CommPrecision::fp32, [](std::size_t) {}, bucket, whole);
        own[ranks.rank()] = shares.own();
      });
      std::vector<int> owners(kElements);
      for (const auto& pieces : own) {
        std::int64_t sum = 0;
        for (const auto [begin, end] : pieces) {
          sum += end - begin;
          for (std::int64_t i = begin; i < end; ++i) ++owners[i];
          for (const auto [first, last] : whole) {
            const bool cuts = (begin > first && begin < last) || (end > first && end < last);
            CHECK_FALSE(cuts);
          }
          CHECK(begin % ParameterSlab::kAlignment == 0);
        }
        CHECK(std::abs(sum - kElements / count) <= 1024);
      }
      CHECK(std::ranges::count(owners, 1) == kElements);
    }
  }
}

TEST_CASE("ranks: a run by Muon goes on with its bits, and with another number of ranks") {
  const CacheFolder folder;
  Config config = run_config(4);
  config.optimizer.name = "muon";
  config.optimizer.options = {};
  const auto run = [&](const std::string& name, int before, int after) {
    ParallelRun made = parallel_run(folder, name, config);
    if (before > 0) made.train(before, 4);
    made.train(after, 8);
    return made;
  };
  for (const int ranks : {1, 3}) {
    CAPTURE(ranks);
    const ParallelRun whole = run(str_cat("whole", ranks), 0, ranks), cut = run(str_cat("cut", ranks), ranks, ranks);
    CHECK(cut.weights == whole.weights);
    CHECK(whole_state(cut.states) == whole_state(whole.states));
    const auto state = whole_state(whole.states);
    CHECK(state.contains("momentum.blocks.0.attention.qkv.weight"));
    CHECK(state.contains("v.token_embedding.weight"));
    CHECK_FALSE(state.contains("m.blocks.0.attention.qkv.weight"));
    // What other ranks read from the checkpoint is what was saved.
    ParallelRun other = parallel_run(folder, str_cat("other", ranks), config);
    other.train(ranks, 4);
    const auto saved = whole_state(other.states);
    other.train(4 - ranks, 4);
    CHECK(whole_state(other.states) == saved);
  }
  config.train.sync_every = 2;
  const ParallelRun whole = run("whole", 0, 2), cut = run("cut", 2, 2);
  CHECK(cut.weights == whole.weights);
}

TEST_CASE("ranks: most gradients travel before backward has ended, where blocks are recomputed too") {
  for (const bool recompute : {false, true}) {
    CAPTURE(recompute);
    run_ranks(2, [&](Communicator& ranks, const ThreadJob& job) {
      WideObjective<Gpt> objective(small_gpt(), 2);
      const ParameterSlab slab(objective.model());
      const MakeOptimizer make = [&](const ParameterSlab& part) { return make_optimizer("sgd", part, {}); };
      ShardedOptimizer optimizer(slab, 0, make, ranks, CommPrecision::fp32, kBucket);
      slab.zero_grad();
      Tape tape({.recompute = recompute, .gradient_observer = optimizer.gradient_observer()});
      tape.backward(objective.micro_loss(tape, 1, ranks.rank(), {.micro_steps = 1, .targets = 1}));
      ranks.barrier();
      const auto buckets = static_cast<int>((slab.values().numel() + kBucket - 1) / kBucket);
      CHECK(job.started / ranks.size() - 1 >= buckets * 3 / 4);
      CHECK(job.started / ranks.size() - 1 <= buckets);
      ranks.barrier();
      CHECK(optimizer.gradient_norm() > 0);
    });
  }
}

TEST_CASE("ranks: with bf16 on the wire all have the same bits, near those of fp32") {
  Config config = parallel_config(4);
  const GptConfig model = small_gpt();
  const Trained exact = train_wide<Gpt>(3, model, config, 10);
  config.train.comm = CommPrecision::bf16;
  const Trained rounded = train_wide<Gpt>(3, model, config, 10);
  for (const Tensor& weights : rounded.weights) CHECK(same_bits(weights, rounded.weights[0]));
  const double apart = distance(rounded.weights[0], exact.weights[0]);
  CHECK(apart > 1e-8);
  CHECK(apart < 1e-2);
  CHECK(rounded.losses[18] == doctest::Approx(exact.losses[18]).epsilon(1e-3));
}

TEST_CASE("ranks: each keeps its share of the moments, all together what one process has") {
  const CacheFolder folder;
  Config config = toy_config();
  config.train.accumulate = 4;
  Toy alone(config);
  for (std::int64_t step = 1; step <= 3; ++step) alone.step(step);
  std::int64_t all = 0;
  for (const auto& [name, values] : alone.optimizer.state()) all += values.numel();
  std::vector<NamedTensors> states(4);
  run_ranks(4, [&](Communicator& ranks) {
    Toy toy(config);
    toy.objective.share_with(ranks);
    const auto optimizer = make_optimizer(toy.resolved, toy.slab, ranks);
    for (std::int64_t step = 1; step <= 3; ++step) {
      train_step(toy.objective, toy.slab, *optimizer, toy.resolved, step,
                 learning_rate(schedule_spec(toy.resolved), step));
    }
    for (const auto& [name, values] : optimizer->state()) states[ranks.rank()].emplace_back(name, values.clone());
  });
  const auto expected = whole_state({alone.optimizer.state()}), found = whole_state(states);
  CHECK(found.size() == expected.size());
  for (const auto& [name, values] : expected) CHECK(largest_difference(found.at(name), values) < 1e-6);
  for (const NamedTensors& state : states) {
    std::int64_t own = 0;
    for (const auto& [name, values] : state) own += values.numel();
    CHECK(own <= all / 4 + 64);
    CHECK(own >= all / 4 - 64 * 8);
  }
}

TEST_CASE("ranks: a run that ended early goes on with the bits of one that did not, and with another number of ranks") {
  const CacheFolder folder;
  const Config config = run_config(4);
  ParallelRun whole = parallel_run(folder, "whole", config), cut = parallel_run(folder, "cut", config);
  whole.train(3, 8);
  cut.train(3, 4);
  CHECK(std::filesystem::exists(cut.run.checkpoint(4) / "optimizer-00003-of-00003.safetensors"));
  cut.train(3, 8);
  CHECK(cut.weights == whole.weights);
  CHECK(whole_state(cut.states) == whole_state(whole.states));
  for (const int ranks : {1, 2}) {
    CAPTURE(ranks);
    ParallelRun other = parallel_run(folder, str_cat("other", ranks), config);
    other.train(3, 4);
    other.train(ranks, 8);
    CHECK(largest_difference(other.weights, whole.weights) < 1e-5);
    ParallelRun back = parallel_run(folder, str_cat("back", ranks), config);
    back.train(ranks, 4);
    back.train(3, 8);
    CHECK(largest_difference(back.weights, whole.weights) < 1e-5);
  }
}

TEST_CASE("ranks: they share the evaluation of the average, and have the weights of the last step again") {
  const CacheFolder folder;
  Config config = run_config(4);
  ParallelRun without = parallel_run(folder, "without", config);
  without.train(3, 8);
  for (const bool moving : {false, true}) {
    CAPTURE(moving);
    config.train.ema = moving ? 0.75 : 0;
    config.checkpoint.average = moving ? 0 : 2;
    ParallelRun averaged = parallel_run(folder, moving ? "moving" : "averaged", config);
    averaged.train(3, 8);
    CHECK(averaged.weights == without.weights);
    const auto line = read_metrics(averaged.run.metrics()).back();
    REQUIRE(line.contains("averaged"));
    Toy alone(config);
    load_weights(averaged.run, averaged.run.average(), alone.model);
    const kernels::MatmulPrecisionScope precision(matmul_precision(alone.resolved));  // of the training
    CHECK(line["average_loss"].get<double>() == doctest::Approx(alone.objective.evaluate({}).loss()).epsilon(1e-6));
  }
}

TEST_CASE("ranks: the moving average is that of one process, and goes on with another number of ranks") {
  const CacheFolder folder;
  for (const std::string optimizer : {"adamw", "muon"}) {
    CAPTURE(optimizer);
    Config config = run_config(4);
    config.train.ema = 0.75;
    config.train.matmul = MatmulSetting::highest;
    config.optimizer.name = optimizer;
    ParallelRun whole = parallel_run(folder, optimizer + "-1", config);
    whole.train(1, 8);
    ParallelRun several = parallel_run(folder, optimizer + "-3", config);
    several.train(3, 8);
    ParallelRun changed = parallel_run(folder, optimizer + "-changed", config);
    changed.train(2, 4);
    changed.train(3, 8);
    const auto expected = read_safetensors(whole.run.average() / "model.safetensors");
    for (const RunFolder& run : {several.run, changed.run}) {
      const auto average = read_safetensors(run.average() / "model.safetensors");
      REQUIRE(average.size() == expected.size());
      for (const auto& entry : average) {
        const std::string& name = entry.first;
        CAPTURE(name);
        CHECK(largest_difference(entry.second.to_vector<float>(), expected.at(name).to_vector<float>()) < 1e-5);
      }
    }
  }
}

TEST_CASE("local steps: with every step shared and an outer rate of 1 they are averages of the ranks' own steps") {
  const CacheFolder folder;
  Config config = parallel_config(4);
  config.train.sync_every = 1;
  config.train.outer_lr = 1;
  config.train.outer_momentum = 0;
  config.eval.every = config.checkpoint.every = 0;
  run_ranks(2, [&](Communicator& ranks) {
    Toy toy(config), expected(config);
    toy.objective.share_with(ranks);
    expected.objective.share_with(ranks);
    const auto optimizer = make_optimizer(toy.resolved, toy.slab, ranks);
    for (std::int64_t step = 1; step <= 5; ++step) {
      train_step(toy.objective, toy.slab, *optimizer, toy.resolved, step, 1e-3);
      train_step(expected.objective, expected.slab, expected.optimizer, expected.resolved, step, 1e-3);
      const std::vector<float> own = expected.weights();
      std::vector<double> sums(own.begin(), own.end());
      ranks.sum(sums);
      for (std::size_t i = 0; i < sums.size(); ++i)
        expected.slab.values().span<float>()[i] = static_cast<float>(sums[i] / 2);
      expected.slab.values().mark_changed();
    }
    CHECK(largest_difference(toy.weights(), expected.weights()) < 1e-6);
  });
}

TEST_CASE("local steps: three of them, then an outer step of Nesterov's momentum by the mean change") {
  const CacheFolder folder;
  Config config = parallel_config(2);
  config.train.sync_every = 3;
  config.train.outer_lr = 0.7;
  config.train.outer_momentum = 0.9;
  config.train.steps = 6;
  config.eval.every = config.checkpoint.every = 0;
  run_ranks(2, [&](Communicator& ranks) {
    Toy toy(config), expected(config);
    toy.objective.share_with(ranks);
    expected.objective.share_with(ranks);
    const auto optimizer = make_optimizer(toy.resolved, toy.slab, ranks);
    std::vector<float> shared = expected.weights();
    std::vector<double> velocity(shared.size(), 0);
    for (std::int64_t step = 1; step <= 6; ++step) {
      train_step(toy.objective, toy.slab, *optimizer, toy.resolved, step, 1e-3);
      train_step(expected.objective, expected.slab, expected.optimizer, expected.resolved, step, 1e-3);
      if (step == 2) CHECK(toy.weights() == expected.weights());
      if (step % 3 != 0) continue;
      const std::vector<float> own = expected.weights();
      std::vector<double> change(own.size());
      for (std::size_t i = 0; i < own.size(); ++i) change[i] = (double{shared[i]} - own[i]) / 2;
      ranks.sum(change);
      for (std::size_t i = 0; i < own.size(); ++i) {
        velocity[i] = 0.9 * velocity[i] + change[i];
        shared[i] = static_cast<float>(shared[i] - 0.7 * (change[i] + 0.9 * velocity[i]));
        expected.slab.values().span<float>()[i] = shared[i];
      }
      expected.slab.values().mark_changed();
      CHECK(largest_difference(toy.weights(), shared) < 1e-6);
    }
  });
}

TEST_CASE("local steps: a run that ended early goes on with the bits of one that did not") {
  const CacheFolder folder;
  Config config = run_config(4);
  config.train.sync_every = 2;
  ParallelRun whole = parallel_run(folder, "whole", config), cut = parallel_run(folder, "cut", config);
  whole.train(2, 8);
  cut.train(2, 4);
  cut.train(2, 8);
  CHECK(cut.weights == whole.weights);
  CHECK(whole.states[0].size() > whole.states[1].size() / 2);
  for (int rank = 0; rank < 2; ++rank) CHECK(whole_state({cut.states[rank]}) == whole_state({whole.states[rank]}));
}

TEST_CASE("ranks: they share an evaluation, and all know the whole") {
  const CacheFolder folder;
  const auto check_shared = [](const auto& make) {
    const Evaluation whole = make()->objective.evaluate({});
    std::mutex mutex;
    run_ranks(3, [&](Communicator& ranks) {
      std::unique_lock one_at_a_time(mutex);
      const auto toy = make();
      one_at_a_time.unlock();
      toy->objective.share_with(ranks);
      const Evaluation shared = toy->objective.evaluate({});
      CHECK(shared.tokens == whole.tokens);
      CHECK(shared.nats == doctest::Approx(whole.nats).epsilon(1e-6));
      REQUIRE(shared.parts.size() == whole.parts.size());
      for (std::size_t i = 0; i < whole.parts.size(); ++i) {
        CHECK(shared.parts[i].nats == doctest::Approx(whole.parts[i].nats).epsilon(1e-6));
      }
      REQUIRE(shared.measures.size() == whole.measures.size());
      for (std::size_t i = 0; i < whole.measures.size(); ++i) {
        CHECK(shared.measures[i].second == doctest::Approx(whole.measures[i].second).epsilon(1e-6));
      }
    });
  };
  Config config = toy_config();
  config.data.lines = 200;
  check_shared([&] { return std::make_unique<Toy>(config); });
  Config recurrent = config;
  recurrent.model = {.type = "rnn", .options = {{"dim", std::int64_t{16}}}};
  check_shared([&] { return std::make_unique<Toy>(recurrent); });
  Config masked = config;
  masked.model.type = "bert";
  check_shared([&] { return std::make_unique<MaskedToy>(masked); });
  check_shared([&] { return std::make_unique<TranslationToy>(translation_config()); });
  TranslationToy alone(translation_config());
  const std::optional<double> bleu = alone.objective.bleu();
  run_ranks(3, [&](Communicator& ranks) {
    TranslationToy toy(translation_config());
    toy.objective.share_with(ranks);
    CHECK(toy.objective.bleu() == bleu);
  });
}

TEST_CASE(
    "ranks: a stop that one of them is asked for gives up the step of all, and the run goes on to the same bytes") {
  const CacheFolder folder;
  const Config config = run_config(4);
  ParallelRun whole = parallel_run(folder, "whole", config), cut = parallel_run(folder, "cut", config);
  whole.train(2, 4);
  cut.train(2, 2);
  run_ranks(2, [&](Communicator& own) {
    Config longer = config;
    longer.train.steps = 4;
    Toy toy(longer);
    toy.objective.share_with(own);
    const auto optimizer = make_optimizer(toy.resolved, toy.slab, own);
    TrainingState state = load_checkpoint(cut.run, 2, toy.model, *optimizer, own);
    own.barrier();
    // Asked first between the two micro-steps of each rank.
    const TrainHooks hooks{.stop_requested = [&] { return own.rank() == 1; }};
    CHECK(tapeformer::train(toy.objective, toy.slab, *optimizer, toy.resolved, cut.run, state, hooks) ==
          TrainEnd::stopped);
    CHECK(state.step == 2);
  });
  CHECK(latest_step(cut.run) == 2);
  cut.train(2, 4);
  CHECK(cut.weights == whole.weights);
}
