// Training by several ranks, here threads of one process: the same losses and weights as one process.
#include <sys/stat.h>

#include <cmath>
#include <cstdlib>

#include "nn/models/transformer.h"
#include "tests/long_test.h"
#include "tests/nn/support.h"
#include "tests/train/distributed/rank_runs.h"
#include "train/distributed/launch.h"
#include "train/distributed/local_steps.h"
#include "train/distributed/same_job.h"

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
    ShardedOptimizer optimizer(slab, config.optimizer.clip, make, own, config.train.comm, kBucket, shard_units(config));
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

TEST_CASE("ranks: a pipe, which only one of them could read, is refused as data") {
  const TempFolder folder;
  const std::string pipe = (folder.path / "pipe").string(), file = folder.write("text.txt", "text").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  ThreadJob job(2);
  const Communicator two(std::make_unique<ThreadTransport>(job, 0));
  const std::string why = " which can be read only once";
  Config config = toy_config();
  remove_corpus(config);
  config.data.text = {file, pipe};
  CHECK_THROWS_WITH_AS(require_rereadable_data(resolve(config), two),
                       ("data.text: expected files, which each of the 2 ranks reads, got " + pipe + "," + why).c_str(),
                       UsageError);
  CHECK_NOTHROW(require_rereadable_data(resolve(config), Communicator::alone()));
  config.data.text = {file};
  CHECK_NOTHROW(require_rereadable_data(resolve(config), two));
  config.data.valid = {"-"};
  CHECK_THROWS_WITH_AS(
      require_rereadable_data(resolve(config), two),
      ("data.valid: expected files, which each of the 2 ranks reads, got standard input," + why).c_str(), UsageError);
}

TEST_CASE("ranks: one with OMP_NUM_THREADS tells its cores to those of hosts where it is not set") {
  const char* const before = std::getenv("OMP_NUM_THREADS");
  const std::string kept = before ? before : "";
  const auto transfers = [](const char* threads) {
    threads ? ::setenv("OMP_NUM_THREADS", threads, 1) : ::unsetenv("OMP_NUM_THREADS");
    std::vector<int> found(2);
    int count = 0;
    run_ranks(2, [&](Communicator& ranks, const ThreadJob& job) {
      found[ranks.rank()] = threads_of_rank(ranks);
      ranks.barrier();
      if (ranks.is_root()) count = job.started;
    });
    if (threads) CHECK(found == std::vector<int>(2, std::atoi(threads)));
    return count;
  };
  const int without = transfers(nullptr), with = transfers("3");
  before ? ::setenv("OMP_NUM_THREADS", kept.c_str(), 1) : ::unsetenv("OMP_NUM_THREADS");
  CHECK(with == without);
}

TEST_CASE("ranks: they compare the weights that are not trained, too") {
  const auto hash = [](double change) {
    const Gpt model(small_gpt());
    model.initialize_parameters(1);
    model.named_parameters().front().variable.freeze();
    const ParameterSlab slab(model);
    model.frozen_tensors().front().second.span<double>()[0] += change;
    return hash_of_weights(model);
  };
  CHECK(hash(0) == hash(0));
  CHECK(hash(0) != hash(1));
}

TEST_CASE("ranks: 2, 3 and 4 of them train a gpt as one process does, in f64, with dropout and clipping" *
          long_test()) {
  GptConfig config = small_gpt();
  config.block.dropout = config.block.attention_dropout = 0.1;
  check_ranks_are_one_process<Gpt>(config);
}

TEST_CASE("ranks: 2, 3 and 4 of them train an encoder-decoder as one process does, in f64" * long_test()) {
  TransformerConfig config = small_transformer();
  config.block.dropout = config.block.attention_dropout = 0.1;
  check_ranks_are_one_process<Transformer>(config);
}

TEST_CASE("ranks: by Muon, 2, 3 and 4 of them train as one process does, in f64, each with whole matrices" *
          long_test()) {
  Config config = parallel_config(12);
  config.optimizer.name = "muon";
  check_ranks_are_one_process<Gpt>(small_gpt(), config);
  check_ranks_are_one_process<Gpt>(modern_gpt(), config);
  config.train.ema = 0.9;
  check_ranks_are_one_process<Gpt>(switched_gpt(), config);
  check_ranks_are_one_process<Transformer>(small_transformer(), config);
}

TEST_CASE("ranks: the moving average is of the weights that all ranks have, also where their changes travel in bf16") {
  const CacheFolder folder;
  Config config = toy_config();
  config.train.accumulate = 2;
  config.train.comm = CommPrecision::bf16;
  config.train.ema = 0.9;
  run_ranks(2, [&](Communicator& ranks) {
    const Toy toy(config);
    const auto optimizer = make_optimizer(toy.resolved, toy.slab, ranks);
    toy.objective.share_with(ranks);
    train_step(toy.objective, toy.slab, *optimizer, toy.resolved, 1, 1e-2);  // after which the average is the weights
    std::int64_t compared = 0;
    for (const auto& [name, values] : optimizer->state()) {
      if (!name.starts_with("ema.")) continue;
      const std::size_t at = name.rfind('@');
      const std::int64_t first = at == name.npos ? 0 : std::stoll(name.substr(at + 1));
      const Tensor weights = toy.model.state_dict().at(name.substr(4, at == name.npos ? at : at - 4));
      const std::vector<float> average = values.to_vector<float>(), all = weights.to_vector<float>();
      CHECK(std::ranges::equal(average, std::span(all).subspan(first, average.size())));
      compared += std::ssize(average);
    }
    CHECK(compared > 0);
  });
}

TEST_CASE("ranks: shares of whole ranges cover the slab, nearly as large as each other") {
  // Three layers of a range that may be cut and one that may not, and a range that may be cut in one place.
  std::vector<GradientBuckets::Range> whole;
  for (const std::int64_t begin : {160, 1600, 3200}) whole.push_back({begin, begin + 1024, 1024});
  whole.push_back({4400, 4800, 256});
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
          for (const auto [first, last, unit] : whole) {
            for (const std::int64_t cut : {begin, end}) {
              if (cut > first && cut < last) CHECK((cut - first) % unit == 0);
            }
          }
          CHECK(begin % ParameterSlab::kAlignment == 0);
        }
        CHECK(std::abs(sum - kElements / count) <= 1024);
      }
      CHECK(std::ranges::count(owners, 1) == kElements);
    }
  }
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

TEST_CASE("ranks: with bf16 on the wire all have the same bits, near those of fp32" * long_test()) {
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

TEST_CASE("distributed: a time limit of silence that is no number of seconds is refused before ranks are joined") {
  const char* const size = "OMPI_COMM_WORLD_SIZE";
  const char* const rank = "OMPI_COMM_WORLD_RANK";
  const char* const limit = "TAPEFORMER_RANK_TIMEOUT";
  ::setenv(size, "2", 1), ::setenv(rank, "0", 1);
  for (const char* text : {"a minute", "0", "-5", "1.5", "60s", "99999999999"}) {
    ::setenv(limit, text, 1);
    CHECK_THROWS_WITH_AS(
        join_ranks(nullptr),
        (std::string("TAPEFORMER_RANK_TIMEOUT: expected a whole number of seconds, 1 or more, got ") + text).c_str(),
        UsageError);
  }
  for (const char* name : {size, rank, limit}) ::unsetenv(name);
}
