// Training goes on while its checkpoints are on their way to disk.
#include <doctest/doctest.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/long_test.h"
#include "tests/system_calls.h"
#include "tests/train/toy.h"
#include "train/run/metrics.h"

using namespace tapeformer;
namespace fs = std::filesystem;
using Steps = std::vector<std::int64_t>;

namespace {

// Saves after steps 2, 4 and 6, and after each evaluation that is the best so far.
Config saving_config() {
  Config config = toy_config();
  config.train.log_every = 1;
  config.eval.every = 3;
  config.checkpoint.every = 2;
  config.checkpoint.keep = 2;
  return config;
}

TrainHooks after_each_step(std::function<void(std::int64_t step)> done) {
  return {.progress = [=](const ProgressState& state) { done(state.step); }};
}

// A step that the training reaches and another thread waits for.
class Reached {
 public:
  void set(std::int64_t step) {
    const std::lock_guard lock(mutex_);
    step_ = step;
    changed_.notify_all();
  }
  // False when a training that does not go on lets it wait for a minute.
  bool wait_for(std::int64_t step) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return step_ >= step; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t step_ = 0;
};

// A run in a folder of its own.
struct Fixture {
  explicit Fixture(const Config& with = saving_config()) : toy(with) {}

  TrainEnd train(const TrainHooks& hooks) {
    return tapeformer::train(toy.objective, toy.slab, toy.optimizer, toy.resolved, run, state, hooks);
  }
  bool has(const std::string& name) const { return fs::exists(run.checkpoints() / name); }

  CacheFolder folder;
  Toy toy;
  RunFolder run = create_run(folder.path / "run", to_toml(toy.resolved), {toy.data.tokenizer->to_json(), ""});
  TrainingState state;
};

// Goes on with a run to its end as `train --resume` does.
void resume(const RunFolder& run, const Config& config) {
  remove_leftovers(run);
  Toy toy(config);
  TrainingState state;
  if (const NewestCheckpoint newest = newest_valid_checkpoint(run); newest.step) {
    CHECK(newest.skipped.empty());
    state = load_checkpoint(run, *newest.step, toy.model, toy.optimizer);
  }
  truncate_metrics(run.metrics(), state.step);
  remove_checkpoints_after(run, state.step);
  remove_average(run);
  if (state.best_step > 0) mark_best(run, state.best_step);
  prune_checkpoints(run, config.checkpoint.keep);
  train(toy.objective, toy.slab, toy.optimizer, toy.resolved, run, state, {});
}

// The files of a run by name, without the times in them.
std::map<std::string, std::string> contents(const RunFolder& run) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(run.root)) {
    std::string& text = files[entry.path().lexically_relative(run.root).string()];
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file()) continue;
    if (name != "metrics.jsonl" && name != "state.json") {
      text = read_all(entry.path());
      continue;
    }
    const auto objects = name == "state.json" ? std::vector{nlohmann::ordered_json::parse(read_all(entry.path()))}
                                              : read_metrics(entry.path());
    for (nlohmann::ordered_json object : objects) {
      for (const char* key : {"tokens_per_s", "elapsed_s", "peak_memory_bytes", "metrics", "xxh3"}) object.erase(key);
      text += object.dump() + "\n";
    }
  }
  return files;
}

}  // namespace

TEST_CASE("saving: training goes on before a checkpoint is on disk, and until it is nothing names it") {
  Fixture f;
  Reached reached;
  const FsyncHook hook([&](const fs::path& path) {
    if (path.parent_path().filename() != ".step-000002.partial") return 0;
    CHECK(reached.wait_for(3));
    CHECK_FALSE(f.has("latest"));
    CHECK_FALSE(f.has("step-000002"));
    return 0;
  });
  f.train(after_each_step([&](std::int64_t step) { reached.set(step); }));
  CHECK(latest_step(f.run) == 6);
}

TEST_CASE("saving: what is on disk before what") {
  Config config = saving_config();
  config.eval.every = 2;
  config.train.steps = 2;
  Fixture f(config);
  std::vector<std::string> order;
  const FsyncHook hook([&](const fs::path& path) {
    CHECK(f.has("best") <= f.has("latest"));
    CHECK(f.has("latest") <= f.has("step-000002"));
    CHECK(f.has("step-000002") != f.has(".step-000002.partial"));
    const std::string name = path.lexically_relative(f.run.root).string();
    order.push_back(name.substr(0, name.find(".tmp-")));
    return 0;
  });
  f.train({});
  const std::string staging = "checkpoints/.step-000002.partial";
  CHECK(order == std::vector<std::string>{"metrics.jsonl", staging + "/config.toml", staging + "/model.safetensors",
                                          staging + "/optimizer.safetensors", staging + "/state.json", staging, staging,
                                          "checkpoints", ".", "checkpoints/latest", "checkpoints", "checkpoints/best",
                                          "checkpoints"});
}

TEST_CASE("saving: the end of training waits for the last checkpoint, a stop and an error too") {
  Config config = saving_config();
  config.eval.every = 0;
  Fixture f(config);
  bool left = false;
  const FsyncHook hook([&](const fs::path&) {
    CHECK_FALSE(left);
    return 0;
  });
  SUBCASE("the last step") {
    CHECK(f.train({}) == TrainEnd::finished);
    left = true;
    CHECK(list_checkpoints(f.run) == Steps{4, 6});
  }
  SUBCASE("a stop") {
    std::int64_t done = 0;
    TrainHooks hooks = after_each_step([&](std::int64_t step) { done = step; });
    hooks.stop_requested = [&] { return done == 5; };
    CHECK(f.train(hooks) == TrainEnd::stopped);
    left = true;
    CHECK(list_checkpoints(f.run) == Steps{4, 5});
  }
  SUBCASE("an error of the training itself") {
    const TrainHooks hooks = after_each_step([](std::int64_t step) { check(step != 5, "something else"); });
    CHECK_THROWS_WITH_AS(f.train(hooks), "something else", Error);
    left = true;
    CHECK(list_checkpoints(f.run) == Steps{2, 4});
    CHECK(latest_step(f.run) == 4);
  }
}

TEST_CASE("saving: an error of the disk ends the training, and leaves the checkpoint before") {
  Config config = saving_config();
  config.eval.every = 0;
  for (const char* name : {"optimizer.safetensors", "metrics.jsonl"}) {
    for (const std::int64_t step : {4, 6}) {  // in the middle, and at the end
      CAPTURE(name);
      CAPTURE(step);
      Fixture f(config);
      const FsyncHook hook(
          [&](const fs::path& path) { return path.filename() == name && latest_step(f.run) == step - 2 ? ENOSPC : 0; });
      const fs::path folder =
          *name == 'm' ? f.run.root : f.run.checkpoints() / str_cat(".step-00000", step, ".partial");
      CHECK_THROWS_WITH_AS(
          f.train({}), str_cat("cannot write ", (folder / name).string(), " to disk: No space left on device").c_str(),
          Error);
      CHECK(list_checkpoints(f.run).back() == step - 2);
      CHECK(latest_step(f.run) == step - 2);
      CHECK_FALSE(f.has(str_cat(".step-00000", step, ".partial")));
    }
  }
}

TEST_CASE("saving: a disk that is full ends the training, and leaves the checkpoint before") {
  Fixture f;
  std::unique_ptr<FileSizeLimit> full;
  const auto fill_disk = [&](std::int64_t step) {
    if (step == 3) full = std::make_unique<FileSizeLimit>(20'000);  // a model has more
  };
  try {
    f.train(after_each_step(fill_disk));
    FAIL("expected an error");
  } catch (const Error& error) {
    full.reset();
    CHECK(std::string(error.what()).ends_with(".safetensors: cannot be written: File too large"));
  }
  CHECK(list_checkpoints(f.run) == Steps{2});
  CHECK(latest_step(f.run) == 2);
  CHECK_FALSE(f.has(".step-000003.partial"));
}

TEST_CASE("saving: where the system has no thread for it, checkpoints are published all the same") {
  Config config = saving_config();
  config.eval.every = 0;
  Fixture f(config);
  const NoThreads none;
  CHECK(f.train({}) == TrainEnd::finished);
  CHECK(list_checkpoints(f.run) == Steps{4, 6});
  CHECK(latest_step(f.run) == 6);
}

TEST_CASE("saving: an error of the disk is told soon, not when the next checkpoint is due") {
  Config config = saving_config();
  config.train.steps = 50'000;  // far more than an fsync takes
  config.optimizer.lr = 0;      // no evaluation after the first is better, and saved
  config.eval.every = 2;
  config.eval.batches = 1;
  config.checkpoint.every = 0;
  Fixture f(config);
  const FsyncHook hook([](const fs::path&) { return EIO; });
  std::int64_t last = 0;
  CHECK_THROWS_AS(f.train(after_each_step([&](std::int64_t step) { last = step; })), Error);
  CHECK(last < 50'000);
}

TEST_CASE("saving: a kill at any moment of it leaves a run that resumes to the same bytes" * long_test()) {
  Config config = saving_config();
  config.checkpoint.average = 2;
  SUBCASE("that goes to its last step") {}
  SUBCASE("that patience ends") {
    config.optimizer.lr = 0;  // no evaluation after the first is better
    config.eval.patience = 1;
    config.train.steps = 12;
  }
  Fixture straight(config);
  straight.train({});
  const auto expected = contents(straight.run);

  // What a kill would leave is what the folder holds at that moment. The training is held up as well at times: it may
  // be at the step that is saved, or beyond it.
  for (const std::int64_t ahead : {0, 1}) {
    CAPTURE(ahead);
    Fixture f(config);
    Reached reached;
    std::vector<RunFolder> killed;
    {
      const FsyncHook hook([&](const fs::path& path) {
        const std::string folder = path.parent_path().filename().string();
        for (const std::int64_t step : {2, 4}) {
          if (folder == str_cat(".", checkpoint_name(step), ".partial")) CHECK(reached.wait_for(step + ahead));
        }
        killed.push_back({f.folder.path / str_cat("killed-", killed.size())});
        fs::copy(f.run.root, killed.back().root, fs::copy_options::recursive);
        return 0;
      });
      f.train(after_each_step([&](std::int64_t step) { reached.set(step); }));
    }
    CHECK((contents(f.run) == expected));
    CHECK(killed.size() > 20);
    const FsyncHook quick([](const fs::path&) { return 0; });
    for (const RunFolder& run : killed) {
      CAPTURE(run.root);
      resume(run, config);
      CHECK((contents(run) == expected));
    }
  }
}

TEST_CASE("saving: a run's folder that is removed, renamed or replaced ends the training, and is not made again") {
  for (const char* what : {"removed", "renamed", "replaced"}) {
    CAPTURE(what);
    Fixture f;
    const fs::path root = f.run.root, elsewhere = f.folder.path / "elsewhere";
    const TrainHooks hooks = after_each_step([&](std::int64_t step) {
      if (step != 5) return;
      if (what == std::string("removed")) {
        // A checkpoint that is being saved meanwhile may take a folder away before remove_all, which then ends early.
        std::error_code ended_early;
        while (fs::exists(root)) fs::remove_all(root, ended_early);
      } else {
        fs::rename(root, elsewhere);
      }
      if (what == std::string("replaced")) create_run(root, "[model]\n", {"{}", ""});
    });
    CHECK_THROWS_WITH_AS(
        f.train(hooks),
        str_cat(root.string(), ": the run's folder has been removed or renamed during the training").c_str(), Error);
    CHECK(fs::exists(root) == (what == std::string("replaced")));
    CHECK_FALSE(fs::exists(f.run.checkpoints()));
    if (fs::exists(elsewhere)) CHECK(list_checkpoints({elsewhere}).back() >= 3);  // step 4 may have been on its way
  }
}
