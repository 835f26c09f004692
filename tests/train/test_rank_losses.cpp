// What a step reports as its loss, for every task and any number of ranks.
#include <doctest/doctest.h>

#include <vector>

#include "data/synthetic/corpora.h"
#include "tests/train/thread_ranks.h"
#include "tests/train/toy.h"
#include "train/config/matmul_config.h"

using namespace tapeformer;

namespace {

constexpr std::int64_t kMicroSteps = 4;

struct NamedConfig {
  std::string name;
  Config config;
};

Config labelled_config(const TempFolder& folder, const std::string& kind) {
  const char *const colours[] = {"red", "blue", "green"}, *const toys[] = {"ball", "kite", "drum", "old bear"};
  std::string text;
  for (int i = 0; i < 40; ++i) {
    const std::string colour = colours[i % 3], toy = toys[i % 4];
    if (kind == "tag") text += labelled_corpus_line("stories", i, 1);
    if (kind == "classify") text += colour + "\tthe " + toy + (i % 2 ? " is there" : "") + "\n";
    if (kind == "span") text += "which toy\t" + colour + (i % 2 ? " and new " : " ") + toy + "\t" + toy + "\n";
  }
  folder.write(kind + ".tsv", text);
  Config config = toy_config_of("bert", {{"layers", std::int64_t{1}},
                                         {"heads", std::int64_t{2}},
                                         {"dim", std::int64_t{16}},
                                         {"context", std::int64_t{24}}});
  config.tokenizer.kind = TokenizerKind::word;
  config.data.corpus = "";
  config.data.labels = (folder.path / (kind + ".tsv")).string();
  config.task.kind = kind;
  config.task.dropout = 0;
  return config;
}

// Every task, each with micro-steps of unequal numbers of targets where that is possible.
std::vector<NamedConfig> all_tasks(const TempFolder& folder) {
  const std::int64_t one = 1, two = 2, dim = 16, context = 18;
  std::vector<NamedConfig> all{{"language model", toy_config()},
                               {"recurrent language model", toy_config_of("rnn", {{"dim", dim}})},
                               {"translation", translation_config()},
                               {"bidirectional", toy_config_of("bilm", {{"dim", dim}, {"context", context}})},
                               {"skip-gram", toy_config_of("word2vec", {{"dim", dim}, {"context", context}})}};
  Config masked = toy_config_of("bert", {{"layers", one}, {"heads", two}, {"dim", dim}, {"context", context}});
  all.push_back({"masked", masked});
  masked.model.options["segments"] = two;
  masked.model.options["next_sentence"] = true;
  all.push_back({"masked, with next-sentence prediction", masked});
  for (const std::string kind : {"tag", "classify", "span"}) all.push_back({kind, labelled_config(folder, kind)});
  Config weighted = labelled_config(folder, "tag");
  weighted.task.class_weights = ClassWeights::balanced;
  all.push_back({"tag, weighted", weighted});
  for (NamedConfig& task : all) {
    task.config.train.batch = 2;
    task.config.train.accumulate = kMicroSteps;
    task.config.train.label_smoothing = task.name == "skip-gram" || task.name == "tag, weighted" ? 0 : 0.1;
    task.config.train.matmul = MatmulSetting::highest;
    task.config.eval.bleu_every = 0;
  }
  return all;
}

struct Worker {
  explicit Worker(const Config& config)
      : resolved(resolve(config)), objective(make_objective(resolved)), slab(objective->model(), objective->rates()) {
    objective->model().initialize_parameters(1);
  }
  ResolvedConfig resolved;
  std::unique_ptr<Objective> objective;
  ParameterSlab slab;
};

double value_of(Objective& objective, std::int64_t step, std::int64_t micro, const MeanOver& mean) {
  Tape tape(no_grad);
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
  return nats / static_cast<double>(targets) + further / static_cast<double>(micro_steps.size());
}

}  // namespace

TEST_CASE("ranks: the loss of every task is the mean per target of the micro-steps that it is of") {
  const CacheFolder folder;
  constexpr std::int64_t kStep = 3;
  for (const NamedConfig& task : all_tasks(folder)) {
    CAPTURE(task.name);
    const kernels::MatmulPrecisionScope precision(matmul_precision(resolve(task.config)));
    for (const std::int64_t sync_every : {0, 1}) {
      for (const int size : {1, 2, 4}) {
        CAPTURE(sync_every);
        CAPTURE(size);
        Config config = task.config;
        config.train.sync_every = sync_every;
        const Worker alone(config);
        std::vector<std::unique_ptr<Worker>> workers;
        for (int rank = 0; rank < size; ++rank) workers.push_back(std::make_unique<Worker>(config));
        std::vector<double> losses(size);
        run_ranks(size, [&](Communicator& ranks) {
          Worker& worker = *workers[ranks.rank()];
          worker.objective->share_with(ranks);
          const auto optimizer = make_optimizer(worker.resolved, worker.slab, ranks);
          losses[ranks.rank()] =
              train_step(*worker.objective, worker.slab, *optimizer, worker.resolved, kStep, 1e-3).loss;
        });
        for (int rank = 0; rank < size; ++rank) {
          const MicroSteps mine{kMicroSteps * rank / size, kMicroSteps * (rank + 1) / size};
          const MicroSteps all{0, kMicroSteps};
          CAPTURE(rank);
          CHECK(losses[rank] ==
                doctest::Approx(mean_loss(*alone.objective, kStep, sync_every ? mine : all)).epsilon(1e-5));
        }
      }
    }
  }
}

TEST_CASE("local steps: a parameter's own rate counts once, not in the outer step too") {
  const CacheFolder folder;
  const auto moved = [](double rate) {
    Config config = toy_config();
    config.train.sync_every = 1;
    config.train.outer_lr = 1, config.train.outer_momentum = 0;
    Toy toy(config);
    const ParameterSlab slab(toy.model, [=](std::string_view name) { return name.starts_with("token") ? rate : 1.0; });
    const std::vector<float> before = slab.values().to_vector<float>();
    const auto optimizer = make_optimizer(toy.resolved, slab, Communicator::alone());
    train_step(toy.objective, slab, *optimizer, toy.resolved, 1, 1e-3);
    const auto embedding = static_cast<std::size_t>(slab.parts().front().size);
    REQUIRE(slab.parts().front().name.starts_with("token"));
    const std::vector<float> after = slab.values().to_vector<float>();
    const auto part = [&](const std::vector<float>& all) {
      return std::vector<float>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(embedding));
    };
    return norm_of_difference(part(after), part(before));
  };
  CHECK(moved(1) > 1e-3);
  CHECK(moved(0.5) == doctest::Approx(0.5 * moved(1)).epsilon(1e-3));
}
