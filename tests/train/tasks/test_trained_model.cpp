// Reading a trained model, also beside a training that goes on.
#include "tasks/common/load_run.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"
#include "core/json.h"
#include "nn/models/gpt.h"
#include "tests/train/toy.h"
#include "train/run/checkpoint.h"

using namespace tapeformer;
namespace fs = std::filesystem;

namespace {

struct Fixture {
  CacheFolder folder;
  Toy toy;
  RunFolder run = create_run(folder.path / "run", to_toml(toy.resolved), {toy.data.tokenizer->to_json(), ""});

  // As a training saves it that keeps one checkpoint.
  void publish(std::int64_t step) {
    stage_checkpoint(run, toy.model, toy.optimizer, {.step = step}, {.config_toml = to_toml(toy.resolved)})->publish();
    prune_checkpoints(run, 1);
  }
};

}  // namespace

TEST_CASE("trained model: a checkpoint that is removed while it is read is looked for again") {
  Fixture f;
  f.publish(1);
  for (const fs::path& path : {f.run.root, f.run.latest()}) {
    const std::int64_t first = *latest_step(f.run);
    std::vector<std::int64_t> steps;
    const auto model = with_checkpoint(path, [&](const UsableCheckpoint& found) {
      steps.push_back(found.step);
      CHECK(found.warnings.empty());
      if (found.step < first + 2) f.publish(found.step + 1);  // and removes this one
      return read_safetensors(checkpoint_weights(found.folder));
    });
    CHECK(steps == std::vector<std::int64_t>{first, first + 1, first + 2});
    CHECK_FALSE(model.empty());
  }
}

TEST_CASE("trained model: a named checkpoint that is removed is an error, as is any other error of the reader") {
  Fixture f;
  f.publish(1);
  const fs::path named = f.run.checkpoint(1);
  CHECK_THROWS_WITH_AS(with_checkpoint(named,
                                       [&](const UsableCheckpoint& found) {
                                         f.publish(2);
                                         return read_safetensors(checkpoint_weights(found.folder));
                                       }),
                       (named.string() + ": no such run or checkpoint").c_str(), Error);
  int calls = 0;
  const auto fails = [&](const UsableCheckpoint&) -> int {
    ++calls;
    fail("something else");
  };
  CHECK_THROWS_WITH_AS(with_checkpoint(f.run.root, fails), "something else", Error);
  CHECK(calls == 1);
}

TEST_CASE("trained model: loading beside a training that prunes never fails") {
  Fixture f;
  f.publish(1);
  // The training pauses for up to three times what loading takes: some loads have the time that they need, and others
  // meet one, two or many steps, on a machine of any speed.
  const auto begin = std::chrono::steady_clock::now();
  CHECK(load_run<TrainedLanguageModel>(f.run.root).warnings.empty());
  const auto load_time = std::chrono::steady_clock::now() - begin;
  std::atomic<bool> done = false;
  std::thread training([&] {
    for (std::int64_t step = 2; !done; ++step) {
      f.publish(step);
      std::this_thread::sleep_for(load_time * (step % 4));
    }
  });
  int loaded = 0;
  std::string error = "none";
  try {
    for (; loaded < 60; ++loaded) CHECK(load_run<TrainedLanguageModel>(f.run.root).warnings.empty());
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  done = true;
  training.join();
  CHECK(error == "none");
  CHECK(loaded == 60);
}

TEST_CASE("trained model: a tokenizer that has changed since a checkpoint was saved is refused") {
  Fixture f;
  const TrainHooks no_hooks;
  TrainingState state;
  state.run_files = hash_run_files(f.run);
  Config config = f.toy.config;
  config.checkpoint.average = 1;
  const ResolvedConfig resolved = resolve(config);
  train(f.toy.objective, f.toy.slab, f.toy.optimizer, resolved, f.run, state, no_hooks);
  const std::string good = read_all(f.run.tokenizer());
  auto swapped = nlohmann::ordered_json::parse(good);
  auto& vocabulary = swapped["model"]["vocab"];
  std::swap(vocabulary["a"], vocabulary["e"]);
  const fs::path checkpoint = f.run.checkpoint(state.step);
  for (const fs::path& path : {f.run.root, f.run.average(), checkpoint}) {
    CAPTURE(path);
    CHECK_NOTHROW(load_run<TrainedLanguageModel>(path));
    std::ofstream(f.run.tokenizer()) << swapped.dump();
    CHECK_THROWS_WITH_AS(load_run<TrainedLanguageModel>(path),
                         doctest::Contains((f.run.tokenizer().string() + " has changed since ").c_str()), Error);
    std::ofstream(f.run.tokenizer()) << good;
  }
  // An older version remembered no hash.
  std::ofstream(f.run.tokenizer()) << swapped.dump();
  auto older = nlohmann::ordered_json::parse(read_all(checkpoint / "state.json"));
  for (const char* key : {"run_files", "metrics", "xxh3"}) CHECK(older.erase(key) == 1);
  seal_json(older);
  std::ofstream(checkpoint / "state.json") << older.dump(2);
  CHECK_NOTHROW(load_run<TrainedLanguageModel>(checkpoint));
  TrainingState loaded = load_checkpoint(f.run, state.step, f.toy.model, f.toy.optimizer);
  CHECK(loaded.run_files.empty());
  CHECK(loaded.metrics.bytes == 0);
}

TEST_CASE("trained model: a checkpoint means what its own configuration says") {
  Fixture f;
  f.publish(1);
  const TrainedLanguageModel before = load_run<TrainedLanguageModel>(f.run.root);
  Config other = f.toy.config;
  other.model.options["heads"] = 4;
  std::ofstream(f.run.config()) << to_toml(resolve(other));
  const TrainedLanguageModel after = load_run<TrainedLanguageModel>(f.run.root);
  CHECK(after.config == before.config);
  CHECK(after.config.model.options.integer("heads") == 2);
}

TEST_CASE("load_run: a model that is larger than the machine's memory is refused with both numbers") {
  const ShapesOnly no_memory;
  const Gpt model({.vocab = 1 << 20, .context = 8, .layers = 1, .block = {.dim = 1 << 20, .heads = 1, .ff_dim = 32}});
  const auto refusal = [&](WeightFormat format) {
    try {
      require_memory(model, format, "run");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal(WeightFormat::f32).starts_with("run: the model needs "));
  CHECK(refusal(WeightFormat::bf16) != refusal(WeightFormat::f32));
  CHECK(refusal(WeightFormat::q8_0).find(" GiB of memory with weights of q8_0, the machine has ") != std::string::npos);
}
