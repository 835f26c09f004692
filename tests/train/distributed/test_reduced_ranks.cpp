// Runs whose optimizers keep their moments in fewer bits, cut in two and by several ranks.
#include <cstring>

#include "tests/long_test.h"
#include "tests/train/distributed/rank_runs.h"

using namespace tapeformer;

namespace {

Config reduced_config(const std::string& optimizer, const std::string& state) {
  Config config = run_config(4);
  config.optimizer.name = optimizer;
  config.optimizer.options = {{"state", state}};
  return config;
}

struct Case {
  std::string optimizer, state;
};
const Case kCases[] = {{"adamw", "bf16"}, {"adamw", "int8"}, {"sgd", "int8"}, {"muon", "f32"}, {"muon", "int8"}};

// The bytes of all ranks' states by name, each number once.
std::map<std::string, std::string> bytes_of(const std::vector<NamedTensors>& shares) {
  std::map<std::string, std::string> bytes;
  for (const NamedTensors& share : shares) {
    for (const auto& entry : share) {
      const std::string& name = entry.first;
      const Tensor& values = entry.second;
      const std::size_t at = name.rfind('@');
      const std::size_t size = size_of(values.dtype()), begin = at == name.npos ? 0 : std::stoul(name.substr(at + 1));
      std::string& whole = bytes[name.substr(0, at)];
      whole.resize(std::max(whole.size(), begin * size + static_cast<std::size_t>(values.bytes())));
      dispatch_stored(values.dtype(), [&]<class T>(T) {
        std::memcpy(whole.data() + begin * size, values.span<T>().data(), values.bytes());
      });
    }
  }
  return bytes;
}

// Weights and state after some steps by so many ranks, whose gradients are the same, whatever their number.
std::pair<std::vector<float>, std::map<std::string, std::string>> by_given_gradients(const Case& c, int count) {
  std::vector<float> weights;
  std::vector<NamedTensors> states(count);
  run_ranks(count, [&](Communicator& ranks) {
    Config config = reduced_config(c.optimizer, c.state);
    config.optimizer.clip = 0;
    Toy toy(config);
    const auto make = [&](const ParameterSlab& part) { return make_optimizer(toy.resolved, part); };
    std::unique_ptr<Optimizer> optimizer = make(toy.slab);
    if (count > 1) {
      optimizer = std::make_unique<ShardedOptimizer>(toy.slab, 0, make, ranks, CommPrecision::fp32, /*bucket=*/1024,
                                                     shard_units(toy.resolved));
    }
    Tape tape;  // by whose backward all gradients are written, before they are replaced
    tape.backward(toy.objective.micro_loss(tape, 1, 0, {.micro_steps = 1, .targets = 1}));
    for (std::int64_t step = 1; step <= 4; ++step) {
      // Rank 0 has all of the gradient; the sums with zeros have its bits.
      const Tensor gradients = toy.slab.gradients();
      RandomStream random({.seed = 5, .step = static_cast<std::uint32_t>(step)});
      for (float& value : gradients.span<float>()) value = ranks.is_root() ? static_cast<float>(random.normal()) : 0;
      optimizer->step(1e-2, step);
    }
    if (ranks.is_root()) weights = toy.weights();
    for (const auto& [name, values] : optimizer->state()) states[ranks.rank()].emplace_back(name, values.clone());
  });
  return {weights, bytes_of(states)};
}

}  // namespace

TEST_CASE("ranks: moments in fewer bits are the same to the bit, however many ranks share them" * long_test()) {
  for (const Case& c : kCases) {
    CAPTURE(c.optimizer);
    CAPTURE(c.state);
    const auto alone = by_given_gradients(c, 1);
    for (const int count : {2, 3, 4}) {
      CAPTURE(count);
      const auto shared = by_given_gradients(c, count);
      CHECK(shared.first == alone.first);
      CHECK((shared.second == alone.second));
    }
  }
}

TEST_CASE("ranks: a run with moments in fewer bits goes on with its bits, and with another number of ranks" *
          long_test()) {
  const CacheFolder folder;
  for (const Case& c : kCases) {
    CAPTURE(c.optimizer);
    CAPTURE(c.state);
    const Config config = reduced_config(c.optimizer, c.state);
    const auto run = [&](const std::string& name, int before, int after) {
      ParallelRun made = parallel_run(folder, str_cat(c.optimizer, c.state, name), config);
      if (before > 0) made.train(before, 4);
      made.train(after, 8);
      return made;
    };
    for (const int ranks : {1, 3}) {
      CAPTURE(ranks);
      const ParallelRun whole = run(str_cat("whole", ranks), 0, ranks), cut = run(str_cat("cut", ranks), ranks, ranks);
      CHECK(cut.weights == whole.weights);
      CHECK((bytes_of(cut.states) == bytes_of(whole.states)));
      // What other ranks read from the checkpoint is what was saved.
      ParallelRun other = parallel_run(folder, str_cat(c.optimizer, c.state, "other", ranks), config);
      other.train(ranks, 4);
      const auto saved = bytes_of(other.states);
      other.train(4 - ranks, 4);
      CHECK((bytes_of(other.states) == saved));
    }
  }
}

TEST_CASE("ranks: with rare communication each rank has moments in fewer bits, and the run goes on with its bits") {
  const CacheFolder folder;
  Config config = reduced_config("adamw", "int8");
  config.train.sync_every = 2;
  ParallelRun whole = parallel_run(folder, "whole", config), cut = parallel_run(folder, "cut", config);
  whole.train(2, 8);
  cut.train(2, 4);
  cut.train(2, 8);
  CHECK(cut.weights == whole.weights);
}

TEST_CASE("optimizer state: the bytes of a parameter are those that its optimizer has, in every format") {
  for (const Case& c : kCases) {
    CAPTURE(c.optimizer);
    CAPTURE(c.state);
    const Toy toy(reduced_config(c.optimizer, c.state));
    std::int64_t expected = 0, found = 0;
    for (const ParameterSlab::Part& part : toy.slab.parts()) {
      expected += optimizer_bytes(toy.resolved, part.role.kind, part.size);
    }
    for (const auto& entry : toy.optimizer.state()) found += entry.second.bytes();
    CHECK(found == expected);
  }
}
