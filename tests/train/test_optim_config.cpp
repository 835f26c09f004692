#include <doctest/doctest.h>

#include "core/error.h"
#include "train/config/optim_config.h"

using namespace tapeformer;

TEST_CASE("schedule: made from a configuration") {
  Config config;
  config.model.options["dim"] = 512;
  config.optimizer.lr = 0.5;
  config.schedule = {.kind = ScheduleKind::linear, .warmup = 7, .total = 0, .min_lr = 0.25, .factor = 2};
  config.train.steps = 70;
  const ScheduleSpec spec = schedule_spec(resolve(config));
  CHECK(spec.kind == ScheduleKind::linear);
  CHECK(spec.peak == 0.5);
  CHECK(spec.min_lr == 0.25);
  CHECK(spec.factor == 2);
  CHECK(spec.dim == 512);
  CHECK(spec.warmup == 7);
  CHECK(spec.total == 70);
  const auto kind = [&](const char* name) {
    apply_override(config, "schedule.kind", name);
    return schedule_spec(resolve(config)).kind;
  };
  CHECK(kind("inverse_sqrt") == ScheduleKind::inverse_sqrt);
  CHECK(kind("cosine") == ScheduleKind::cosine);
  CHECK(kind("constant") == ScheduleKind::constant);
}

TEST_CASE("optimizer: made from a configuration") {
  Config config;
  apply_override(config, "optimizer.name", "sgd");
  apply_override(config, "optimizer.momentum", "0.5");
  apply_override(config, "optimizer.nesterov", "true");
  apply_override(config, "optimizer.beta2", "0.75");
  const OptimizerOptions options = optimizer_options(resolve(config));
  CHECK(options.momentum == 0.5);
  CHECK(options.nesterov);
  CHECK(options.beta1 == 0.9);
  CHECK(options.beta2 == 0.75);
  CHECK(options.eps == 1e-9);
  CHECK(options.weight_decay == 0);
  CHECK(options.clip == 1);
}

TEST_CASE("optimizer: weight decay is the optimizer's own unless it is given") {
  const auto decay = [](const char* name, const char* given) {
    Config config;
    apply_override(config, "optimizer.name", name);
    if (given != nullptr) apply_override(config, "optimizer.weight_decay", given);
    return resolve(config).optimizer.weight_decay;
  };
  CHECK(decay("adamw", nullptr) == 0.1);
  CHECK(decay("adam", nullptr) == 0);
  CHECK(decay("sgd", nullptr) == 0);
  for (const char* name : {"adamw", "adam", "sgd"}) {
    CHECK(decay(name, "0") == 0);
    CHECK(decay(name, "0.01") == 0.01);
  }
}

TEST_CASE("optimizer: the help says which optimizers read a key") {
  for (const ConfigKey& key : config_keys()) {
    if (key.name == "optimizer.beta1") CHECK(key.help.ends_with("(adamw, adam)"));
    if (key.name == "optimizer.momentum") CHECK(key.help.find("(sgd") != std::string::npos);
  }
}
