// The switches of the model, the optimizer and the schedule, alone and all together.
#include <map>
#include <set>

#include "core/files.h"
#include "core/parallel.h"
#include "tests/train/config_support.h"
#include "tests/train/task_toy.h"

using namespace tapeformer;

namespace {

std::map<std::string, std::vector<double>> values_of(const Module& model) {
  std::map<std::string, std::vector<double>> values;
  for (const auto& [name, tensor] : model.state_dict()) values.emplace(name, tensor.to(DType::f64).to_vector<double>());
  return values;
}

// The largest change of a parameter's elements by one step.
std::map<std::string, double> changes_by_a_step(const Config& config) {
  Toy toy(config);
  const auto before = values_of(toy.model);
  toy.step(1);
  std::map<std::string, double> changes;
  for (const auto& [name, values] : values_of(toy.model)) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      changes[name] = std::max(changes[name], std::abs(values[i] - before.at(name)[i]));
    }
  }
  return changes;
}

}  // namespace

TEST_CASE("switches: embeddings and heads have rates of their own under every optimizer") {
  const CacheFolder folder;
  for (const std::string optimizer : {"adamw", "adam", "sgd", "muon"}) {
    for (const bool tied : {false, true}) {
      CAPTURE(optimizer);
      CAPTURE(tied);
      Config config = toy_config();
      config.model.options["tie_embeddings"] = std::string(tied ? "output" : "none");
      config.optimizer.name = optimizer;
      config.optimizer.options["weight_decay"] = 0.0;
      config.optimizer.lr = 0.01;
      config.schedule.warmup = 0;
      const auto plain = changes_by_a_step(config);
      config.optimizer.embedding_lr = 3;
      config.optimizer.head_lr = 0.25;
      const auto switched = changes_by_a_step(config);
      CHECK(switched.contains("head.weight") == !tied);
      for (const auto& [name, change] : switched) {
        CAPTURE(name);
        const double factor = name.find("embedding") != name.npos ? 3 : name == "head.weight" ? 0.25 : 1;
        if (factor == 1) {
          CHECK(change == plain.at(name));
        } else {
          CHECK(plain.at(name) > 1e-5);
          CHECK(change == doctest::Approx(factor * plain.at(name)).epsilon(1e-2));
        }
      }
    }
  }
  Config config = toy_config();
  CHECK_THROWS_WITH_AS(apply_override(config, "optimizer.head_lr", "0"),
                       "optimizer.head_lr: expected value > 0, got 0.0", UsageError);
}

TEST_CASE("switches: in fine-tuning the rates of embeddings and heads come on top of those of the layers") {
  const CacheFolder folder;
  const TempFolder data;
  write_file_atomically(data.path / "labels.tsv", "a\tone two\nb\ttwo one\na\tone one\nb\ttwo two\n");
  Config config = toy_config();
  config.model.type = "bert";
  config.data.corpus.clear();
  config.data.labels = data.path / "labels.tsv";
  config.data.valid_fraction = 0;
  config.task.kind = "classify";
  config.task.layer_decay = 0.5;
  const TaskToy plain(config);
  config.optimizer.embedding_lr = 3;
  config.optimizer.head_lr = 5;
  const TaskToy switched(config);
  const ParameterRates before = plain.objective.rates(), after = switched.objective.rates();
  std::set<double> factors;
  for (const NamedParameter& parameter : switched.model.named_parameters()) {
    if (before(parameter.name) == 0) continue;
    const double factor = after(parameter.name) / before(parameter.name);
    factors.insert(factor);
    const ParameterKind kind = parameter.role.kind;
    CHECK(factor == (kind == ParameterKind::embedding ? 3 : kind == ParameterKind::head ? 5 : 1));
  }
  CHECK(factors == std::set<double>{1, 3, 5});
}
