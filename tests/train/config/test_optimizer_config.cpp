#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/files.h"
#include "tests/temp_folder.h"
#include "tests/train/config/config_support.h"
#include "train/config/run_config.h"
#include "train/distributed/make_optimizer.h"

using namespace tapeformer;

TEST_CASE("schedule: made from a configuration") {
  Config config;
  config.model.options["dim"] = 512;
  config.optimizer.lr = 0.5;
  config.schedule = {.kind = ScheduleKind::linear, .warmup = 7, .total = 0, .min_lr = 0.25};
  config.train.steps = 70;
  const ScheduleSpec spec = schedule_spec(resolve(config));
  CHECK(spec.kind == ScheduleKind::linear);
  CHECK(spec.peak == 0.5);
  CHECK(spec.min_lr == 0.25);
  CHECK(spec.dim == 512);
  CHECK(spec.warmup == 7);
  CHECK(spec.total == 70);
  config.schedule.min_lr = 0;
  const auto kind = [&](const char* name) {
    apply_override(config, "schedule.kind", name);
    return schedule_spec(resolve(config)).kind;
  };
  CHECK(kind("inverse_sqrt") == ScheduleKind::inverse_sqrt);
  config.optimizer.lr = -1, config.schedule.factor = 2;
  CHECK(schedule_spec(resolve(config)).factor == 2);
  config.schedule.factor = 0;
  CHECK(kind("cosine") == ScheduleKind::cosine);
  CHECK(kind("constant") == ScheduleKind::constant);
  CHECK(kind("wsd") == ScheduleKind::wsd);
  apply_override(config, "schedule.cooldown", "0.5");
  apply_override(config, "schedule.cooldown_shape", "sqrt");
  CHECK(schedule_spec(resolve(config)).cooldown == 0.5);
  CHECK(schedule_spec(resolve(config)).cooldown_shape == CooldownShape::sqrt);
  CHECK_THROWS_AS(apply_override(config, "schedule.cooldown", "0"), UsageError);
}

TEST_CASE("optimizer: made from a configuration") {
  Config config;
  apply_override(config, "optimizer.name", "sgd");
  apply_override(config, "optimizer.momentum", "0.5");
  apply_override(config, "optimizer.nesterov", "true");
  apply_override(config, "optimizer.clip", "0.75");
  const KeyValues options = optimizer_options(resolve(config));
  CHECK(options.number("momentum") == 0.5);
  CHECK(options.boolean("nesterov"));
  CHECK(options.number("weight_decay") == 0);
  CHECK(options.number("lr") == 3e-3);
  CHECK(options.number("clip") == 0.75);
}

TEST_CASE("optimizer: with schedule.factor, the rate that others are a part of is the peak of that schedule") {
  Config config;
  config.model.type = "transformer";
  apply_override(config, "optimizer.name", "muon");
  apply_override(config, "model.dim", "64");
  apply_override(config, "schedule.factor", "2");
  apply_override(config, "schedule.warmup", "100");
  const ResolvedConfig resolved = resolve(config);
  CHECK(optimizer_options(resolved).number("lr") == doctest::Approx(2 / std::sqrt(64.0 * 100)));
  CHECK(optimizer_options(resolved).number("lr") == doctest::Approx(learning_rate(schedule_spec(resolved), 100)));
}

TEST_CASE("optimizer: a key of another one is refused by its name, and one that no optimizer has is unknown") {
  Config config;
  apply_override(config, "optimizer.momentum", "0.5");
  CHECK_THROWS_WITH_AS(resolve(config),
                       "optimizer.momentum: adamw has no such key; its keys are lr, clip, embedding_lr, head_lr, "
                       "beta1, beta2, eps, weight_decay, state",
                       UsageError);
  CHECK_THROWS_WITH_AS(apply_override(config, "optimizer.momentun", "0.5"),
                       "unknown key optimizer.momentun: did you mean optimizer.momentum?", UsageError);
  config.optimizer.name = "sgd";
  CHECK(optimizer_options(resolve(config)).number("momentum") == 0.5);
}

TEST_CASE("optimizer: another one on the command line replaces the keys that it does not have, and says so") {
  const Config file = parse_config("[optimizer]\nbeta2 = 0.95\nname = \"adamw\"\nweight_decay = 0.2\n", "x.toml");
  Config config = file;
  CHECK(apply_overrides(config, {{"optimizer.name", {"sgd"}}, {"optimizer.momentum", {"0.5"}}}) ==
        std::vector<std::string>{"optimizer.name replaces optimizer.beta2 = 0.95"});
  const KeyValues options = optimizer_options(resolve(config));
  CHECK(options.number("momentum") == 0.5);
  CHECK(options.number("weight_decay") == 0.2);
  config = file;
  apply_overrides(config, {{"optimizer.name", {"sgd"}}, {"optimizer.beta2", {"0.5"}}});
  CHECK_THROWS_WITH_AS(resolve(config), doctest::Contains("optimizer.beta2: sgd has no such key"), UsageError);
}

TEST_CASE("optimizer: the configuration of a run of an older version has the keys of all optimizers") {
  const TempFolder folder;
  const Config config = parse_config("[data]\ncorpus = \"stories\"\n", "x.toml");
  std::string text = to_toml(resolve(config));
  CHECK(text.find("\nmomentum") == std::string::npos);
  text.replace(text.find("[optimizer]\n"), 12, "[optimizer]\nmomentum = 0.5\nnesterov = true\n");
  write_file_atomically(folder.path / "config.toml", text);
  CHECK(resolve(load_run_config(folder.path / "config.toml")) == resolve(config));
}

TEST_CASE("optimizer: weight decay is the optimizer's own unless it is given") {
  const auto decay = [](const char* name, const char* given) {
    Config config;
    apply_override(config, "optimizer.name", name);
    if (given != nullptr) apply_override(config, "optimizer.weight_decay", given);
    return std::get<double>(resolve(config).optimizer.options.at("weight_decay"));
  };
  CHECK(decay("adamw", nullptr) == 0.1);
  CHECK(decay("adam", nullptr) == 0);
  CHECK(decay("sgd", nullptr) == 0);
  for (const char* name : {"adamw", "adam", "sgd"}) {
    CHECK(decay(name, "0") == 0);
    CHECK(decay(name, "0.01") == 0.01);
  }
}

TEST_CASE("optimizer: the help says which optimizers have a key, and what their defaults are") {
  const auto key = [](const std::string& name) {
    const std::vector<ConfigKey> keys = config_keys();
    const auto found = std::ranges::find(keys, name, &ConfigKey::name);
    REQUIRE(found != keys.end());
    return *found;
  };
  CHECK(key("optimizer.beta1").owners == std::vector<std::string>{"adamw", "adam", "muon"});
  CHECK(key("optimizer.momentum").owners == std::vector<std::string>{"sgd", "muon"});
  CHECK(key("optimizer.momentum").help.ends_with("(default: 0.9 for sgd, 0.95 for muon)"));
  CHECK(key("optimizer.adamw_lr").owners == std::vector<std::string>{"muon"});
  CHECK(key("optimizer.weight_decay").owners.empty());
  CHECK(key("optimizer.weight_decay").help.find("(-1.0 = 0.1 for adamw, 0.0 for adam, 0.0 for sgd, 0.1 for muon") !=
        std::string::npos);
}

TEST_CASE("train.sync_every: evaluations, samples, checkpoints and the end are those of whole rounds") {
  CHECK_NOTHROW(resolved({"train.sync_every=50", "train.sample_every=100"}));
  for (const std::string key : {"train.steps", "eval.every", "train.sample_every", "checkpoint.every"}) {
    check_invalid({"train.sync_every=50", key + "=75"},
                  key + ": expected a multiple of train.sync_every, which is 50, got 75");
  }
}
