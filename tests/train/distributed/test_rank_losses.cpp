// What a step reports as its loss, for every task and any number of ranks.
#include <doctest/doctest.h>

#include <set>
#include <vector>

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

// The loss of some micro-steps from each one by itself: Σ nats / Σ targets, and, where each row has a further loss
// (next-sentence prediction), its mean over the micro-steps.
double mean_loss(Objective& objective, std::int64_t step, MicroSteps micro_steps) {
  double nats = 0, further = 0;
  std::int64_t targets = 0;
  for (std::int64_t micro = micro_steps.begin; micro < micro_steps.end; ++micro) {
    const double of_rows = value_of(objective, step, micro, {.micro_steps = 1, .targets = 1e300});
    nats += value_of(objective, step, micro, {.micro_steps = 1, .targets = 1}) - of_rows;
    further += of_rows;
    targets += objective.step_size(step, {micro, micro + 1}).targets;
  }
  if (targets == 0) return 0;  // an epoch ends with micro-steps that have no sentences
  return nats / static_cast<double>(targets) + further / static_cast<double>(micro_steps.size());
}

bool has_unequal_targets(Objective& objective, std::int64_t step) {
  std::set<std::int64_t> targets;
  for (std::int64_t micro = 0; micro < kMicroSteps; ++micro) {
    targets.insert(objective.step_size(step, {micro, micro + 1}).targets);
  }
  return targets.size() > 1;
}

}  // namespace

TEST_CASE("ranks: the loss of every task is the mean per target of the micro-steps that it is of") {
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
    CHECK(has_unequal_targets(alone.objective, kStep) == !one_size);
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
          const MicroSteps mine{kMicroSteps * rank / size, kMicroSteps * (rank + 1) / size};
          const MicroSteps all{0, kMicroSteps};
          CAPTURE(rank);
          CHECK(losses[rank] ==
                doctest::Approx(mean_loss(alone.objective, kStep, sync_every ? mine : all)).epsilon(1e-5));
        }
      }
    }
  }
}
