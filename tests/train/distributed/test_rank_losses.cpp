// What a step reports as its loss, for every task and any number of ranks.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "tests/long_test.h"
#include "tests/train/thread_ranks.h"
#include "tests/train/toy.h"
#include "train/config/matmul_config.h"

using namespace tapeformer;

namespace {

constexpr std::int64_t kMicroSteps = 4;

double value_of(Objective& objective, std::int64_t step, std::int64_t micro, const MeanOver& mean) {
  TapeOptions options = no_grad;
  // Some losses have a term in training alone; but a recurrent model would go on from the state of the row before.
  options.training = !objective.recurrent();
  Tape tape(options);
  const Variable loss = objective.micro_loss(tape, step, micro, mean);
  return loss.defined() ? loss.value().item() : 0;
}

// What a micro-step adds by itself: Σ nats over its targets, and, where each row has a further loss (next-sentence
// prediction), that loss.
struct MicroLoss {
  double nats = 0, further = 0;
  std::int64_t targets = 0;
};

std::vector<MicroLoss> micro_losses(Objective& objective, std::int64_t step) {
  std::vector<MicroLoss> losses;
  for (std::int64_t micro = 0; micro < kMicroSteps; ++micro) {
    const double further = value_of(objective, step, micro, {.micro_steps = 1, .targets = 1e300});
    const double nats = value_of(objective, step, micro, {.micro_steps = 1, .targets = 1}) - further;
    losses.push_back({nats, further, objective.step_size(step, {micro, micro + 1}).targets});
  }
  return losses;
}

// The loss of some micro-steps: Σ nats / Σ targets, and the mean of the further losses.
double mean_loss(std::span<const MicroLoss> micro_steps) {
  MicroLoss sum;
  for (const MicroLoss& micro : micro_steps) {
    sum.nats += micro.nats, sum.further += micro.further, sum.targets += micro.targets;
  }
  if (sum.targets == 0) return 0;  // an epoch ends with micro-steps that have no sentences
  return sum.nats / static_cast<double>(sum.targets) + sum.further / static_cast<double>(micro_steps.size());
}

bool has_unequal_targets(std::span<const MicroLoss> micro_steps) {
  return std::ranges::any_of(micro_steps,
                             [&](const MicroLoss& micro) { return micro.targets != micro_steps[0].targets; });
}

}  // namespace

TEST_CASE("ranks: the loss of every task is the mean per target of the micro-steps that it is of" * long_test()) {
  const CacheFolder folder;
  constexpr std::int64_t kStep = 5;
  for (const NamedConfig& toy : all_toys(folder)) {
    CAPTURE(toy.name);
    Config config = without_dropout(toy.config);
    config.train.matmul = MatmulSetting::highest;
    REQUIRE(config.train.accumulate == kMicroSteps);
    const AnyToy alone(config);
    const kernels::MatmulPrecisionScope precision(matmul_precision(alone.resolved));
    // The loss of a rank is a mean over its own targets only where ranks have different numbers of them. Every text to
    // classify and every pair of sentences has one target, and every question two.
    const std::set<std::string> of_one_size{"classify", "span", "sentences"};
    const bool one_size = toy.fixed_shapes || of_one_size.contains(config.task.kind);
    const std::vector<MicroLoss> micro_steps = micro_losses(alone.objective, kStep);
    CHECK(has_unequal_targets(micro_steps) == !one_size);
    for (const std::int64_t sync_every : {0, 1}) {
      for (const int size : {1, 2, 4}) {
        CAPTURE(sync_every);
        CAPTURE(size);
        config.train.sync_every = sync_every;
        std::vector<std::unique_ptr<AnyToy>> toys;
        for (int rank = 0; rank < size; ++rank) toys.push_back(std::make_unique<AnyToy>(config));
        std::vector<double> losses(size);
        run_ranks(size, [&](Communicator& ranks) {
          AnyToy& own = *toys[ranks.rank()];
          own.objective.share_with(ranks);
          const auto optimizer = make_optimizer(own.resolved, own.slab, ranks);
          losses[ranks.rank()] = train_step(own.objective, own.slab, *optimizer, own.resolved, kStep, 1e-3).loss;
        });
        for (int rank = 0; rank < size; ++rank) {
          const std::span<const MicroLoss> all = micro_steps;
          const auto mine = all.subspan(kMicroSteps * rank / size, kMicroSteps / size);
          CAPTURE(rank);
          CHECK(losses[rank] == doctest::Approx(mean_loss(sync_every ? mine : all)).epsilon(1e-5));
        }
      }
    }
  }
}
