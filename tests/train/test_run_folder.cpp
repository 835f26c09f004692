#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "tests/system_calls.h"
#include "tests/temp_folder.h"
#include "train/run/checkpoint_store.h"
#include "train/run/run_folder.h"

using namespace tapeformer;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Steps = std::vector<std::int64_t>;

namespace {

void write_file(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// A run with checkpoints, in a folder that goes away.
struct Fixture {
  TempFolder folder;
  RunFolder run = create_run(folder.path / "runs/a", "[model]\n", {"{}", ""});

  explicit Fixture(std::initializer_list<std::int64_t> steps = {}) {
    for (const std::int64_t step : steps) publish(step);
  }
  void publish(std::int64_t step, const std::string& weights = "weights") const {
    const auto write_files = [&](const fs::path& staging) {
      write_file(staging / "model.safetensors", weights);
      write_file(staging / "optimizer.safetensors", "moments of " + std::to_string(step));
    };
    StagedCheckpoint(run, step, {{"tokens", 64 * step}, {"loss", 0.1 + 0.2}}, write_files).publish();
  }
  fs::path file(std::int64_t step, const char* name = "model.safetensors") const { return run.checkpoint(step) / name; }
  std::string at(std::int64_t step) const { return run.checkpoint(step).string(); }
  // Names below checkpoints/, hidden ones too.
  int entries() const {
    return static_cast<int>(std::distance(fs::directory_iterator(run.checkpoints()), fs::directory_iterator{}));
  }
};

void flip_bit(const fs::path& path, std::size_t byte) {
  std::string bytes = read_all(path);
  bytes.at(byte) ^= 1;
  write_file(path, bytes);
}

}  // namespace

TEST_CASE("run folder: names of checkpoints, both ways") {
  CHECK(checkpoint_name(500) == "step-000500");
  CHECK(checkpoint_name(12345678) == "step-12345678");
  CHECK(checkpoint_step("step-000500") == 500);
  CHECK(checkpoint_step("step-12345678") == 12345678);
  for (const char* name : {"", "step-", "step-500", "step-0000500", "step-00050x", "step--00500", "xstep-000500",
                           "latest", ".step-000500.partial"}) {
    CAPTURE(name);
    CHECK_FALSE(checkpoint_step(name));
  }
}

TEST_CASE("run folder: creation makes parents and both files, and refuses a folder that holds a run") {
  const TempFolder folder;
  const fs::path root = folder.path / "deep/runs/a";
  const RunFolder run = create_run(root, "[model]\n", {"{}", ""});
  CHECK(read_all(run.config()) == "[model]\n");
  CHECK(read_all(run.tokenizer()) == "{}");
  CHECK(run.config() == root / "config.toml");
  CHECK(run.metrics() == root / "metrics.jsonl");
  CHECK(run.latest() == root / "checkpoints/latest");
  const std::string refusal =
      root.string() + " already holds a run: go on with --resume " + root.string() + ", or give another --out";
  CHECK_THROWS_WITH_AS(create_run(root, "other", {"other", ""}), refusal.c_str(), Error);
  CHECK_THROWS_WITH_AS(require_no_run(root), refusal.c_str(), Error);
  CHECK(read_all(run.config()) == "[model]\n");
  fs::remove(run.config());  // a run that lost its configuration is not overwritten either
  write_file(run.metrics(), "");
  CHECK_THROWS_WITH_AS(require_no_run(root), refusal.c_str(), Error);
}

TEST_CASE("run folder: creation takes an existing folder without a run, and what a killed creation left") {
  const TempFolder folder;
  folder.write("notes.txt", "mine");
  folder.write("tokenizer.json", "from a creation that was killed before config.toml");
  create_run(folder.path, "[model]\n", {"{}", ""});
  CHECK(read_all(folder.path / "tokenizer.json") == "{}");
  CHECK(read_all(folder.path / "notes.txt") == "mine");
}

TEST_CASE("run folder: a process that is killed while it makes a run leaves none, and the next one begins anew") {
  const TempFolder folder;
  const fs::path root = folder.path / "run";
  const RunFolder run{root};
  // A fork of a checkpoint writes metrics and a checkpoint before the folder becomes a run.
  const auto write_history = [](const RunFolder& made) {
    write_file_atomically(made.metrics(), "{\"step\":7}\n");
    StagedCheckpoint(made, 7, Json::object(), [](const fs::path& staging) {
      write_file_atomically(staging / "model", "x");
    }).publish();
  };
  const pid_t child = ::fork();
  if (child == 0) {
    create_run(root, "[model]\n", {"{}", "{}"}, [&](const RunFolder& made) {
      write_history(made);
      ::raise(SIGKILL);
    });
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(fs::exists(run.checkpoint(7)));
  CHECK_THROWS_WITH_AS(find_run(root), (root.string() + " is not a run: it has no config.toml").c_str(), Error);

  create_run(root, "[data]\n", {"{}", ""});
  CHECK(read_all(run.config()) == "[data]\n");
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(root)) names.insert(entry.path().filename().string());
  CHECK(names == std::set<std::string>{"config.toml", "tokenizer.json"});
}

TEST_CASE("run folder: a creation that fails leaves nothing") {
  const TempFolder folder;
  const std::string file = folder.write("file", "x").string();
  CHECK_THROWS_WITH_AS(create_run(file, "", {"", ""}), (file + " is a file, expected a folder for the run").c_str(),
                       Error);
  CHECK_THROWS_WITH_AS(create_run(file + "/a", "", {"", ""}),
                       ("cannot make the folder " + file + "/a: Not a directory").c_str(), Error);

  const fs::path root = folder.path / "run";
  {
    const FileSizeLimit full(100);
    CHECK_THROWS_WITH_AS(create_run(root, std::string(200, 'x'), {"{}", ""}),
                         ("cannot write " + (root / "config.toml.unfinished").string() + ": File too large").c_str(),
                         Error);
  }
  CHECK_FALSE(fs::exists(root));
  CHECK_NOTHROW(create_run(root, "[model]\n", {"{}", ""}));
}

TEST_CASE("run folder: RUN is a run or one checkpoint of it") {
  const Fixture f({500, 1000});
  const auto same = [](const RunReference& found, const fs::path& root, std::optional<std::int64_t> step) {
    return fs::equivalent(found.run.root, root) && found.step == step;
  };
  mark_best(f.run, 500);
  const fs::path root = f.run.root;
  CHECK(same(find_run(root), root, std::nullopt));
  CHECK(find_run(root).run.root == root);  // as the user wrote it
  CHECK(same(find_run(root / ""), root, std::nullopt));
  CHECK(same(find_run(f.run.checkpoint(500)), root, 500));
  CHECK(same(find_run(f.run.checkpoint(500) / ""), root, 500));
  CHECK(same(find_run(f.run.latest()), root, 1000));
  CHECK(same(find_run(f.run.best()), root, 500));
  const fs::path before = fs::current_path();
  fs::current_path(f.run.checkpoint(1000));
  CHECK(same(find_run("."), root, 1000));
  fs::current_path(before);

  const auto refused = [](const fs::path& path, const std::string& why) {
    CHECK_THROWS_WITH_AS(find_run(path), (path.string() + why).c_str(), Error);
  };
  refused(root / "none", ": no such run or checkpoint");
  refused(f.run.checkpoint(700), ": no such run or checkpoint");
  refused(f.folder.path, " is not a run: it has no config.toml");
  refused(f.run.checkpoints(), " is not a run: it has no config.toml");
  refused(f.run.tokenizer(), " is not a run: it has no config.toml");
  write_file(f.run.best(), "nonsense\n");
  refused(f.run.best(), " names no checkpoint of the run");
}

TEST_CASE("run folder: one writer at a time") {
  const Fixture f;
  {
    const RunLock lock(f.run);
    CHECK_THROWS_WITH_AS(RunLock(f.run), (f.run.root.string() + ": another process is training this run").c_str(),
                         Error);
  }
  CHECK_NOTHROW(RunLock(f.run));
  CHECK_THROWS_WITH_AS(RunLock(RunFolder{"no/run"}), "cannot open no/run: No such file or directory", Error);
}

TEST_CASE("checkpoint: publishing writes the files, their checksums and the latest name") {
  const Fixture f({500});
  CHECK(read_all(f.file(500)) == "weights");
  CHECK(read_all(f.run.latest()) == "step-000500\n");
  CHECK(f.entries() == 2);
  CHECK(std::distance(fs::directory_iterator(f.run.checkpoint(500)), fs::directory_iterator{}) == 3);
  CHECK_FALSE(verify_checkpoint(f.run.checkpoint(500)));
  const Json state = read_checkpoint_state(f.run.checkpoint(500));
  CHECK(state["format"] == 1);
  CHECK(state["step"] == 500);
  CHECK(state["tokens"] == 32000);
  CHECK(state["loss"].get<double>() == 0.1 + 0.2);
  CHECK(state["files"]["model.safetensors"]["bytes"] == 7);
  CHECK(state["files"]["model.safetensors"]["xxh3"].get<std::string>().size() == 16);
  CHECK(state["files"].size() == 2);
  f.publish(1000);
  CHECK(list_checkpoints(f.run) == Steps{500, 1000});
  CHECK(latest_step(f.run) == 1000);
  CHECK(newest_valid_checkpoint(f.run).step == 1000);
  CHECK(newest_valid_checkpoint(f.run).skipped.empty());
}

TEST_CASE("checkpoint: one of the same step is replaced") {
  const Fixture f({500});
  f.publish(500, "better weights");
  CHECK(read_all(f.file(500)) == "better weights");
  CHECK_FALSE(verify_checkpoint(f.run.checkpoint(500)));
  CHECK(f.entries() == 2);
}

TEST_CASE("checkpoint: a publication that fails changes nothing") {
  const Fixture f({500});
  const auto half = [](const fs::path& staging) {
    write_file(staging / "model.safetensors", "half");
    fail("disk full");
  };
  for (const std::int64_t step : {500, 1000}) {
    CHECK_THROWS_WITH_AS(StagedCheckpoint(f.run, step, Json::object(), half), "disk full", Error);
    CHECK(f.entries() == 2);
    CHECK(read_all(f.file(500)) == "weights");
    CHECK(latest_step(f.run) == 500);
  }
  for (const char* field : {"format", "step", "files", "xxh3"}) {
    CHECK_THROWS_WITH_AS(StagedCheckpoint(f.run, 1000, {{field, 1}}, [](const fs::path&) {}).publish(),
                         ("checkpoint state: the field " + std::string(field) + " is reserved").c_str(), Error);
  }
  CHECK(f.entries() == 2);
}

TEST_CASE("checkpoint: every kind of damage has its reason") {
  const Fixture f({500});
  const fs::path checkpoint = f.run.checkpoint(500), state = f.file(500, "state.json");
  const auto reason = [&] { return verify_checkpoint(checkpoint).value_or("valid"); };
  const auto damaged = [&](const std::string& why) {
    CHECK(reason() == why);
    CHECK_FALSE(newest_valid_checkpoint(f.run).step);
    f.publish(500);
    REQUIRE(reason() == "valid");
  };
  flip_bit(f.file(500), 3);
  damaged("model.safetensors is damaged: its checksum differs");
  write_file(f.file(500), "weigh");
  damaged("model.safetensors: expected 7 bytes, got 5");
  fs::remove(f.file(500, "optimizer.safetensors"));
  damaged("cannot open " + f.file(500, "optimizer.safetensors").string() + ": No such file or directory");
  fs::remove(state);
  damaged("cannot open " + state.string() + ": No such file or directory");
  write_file(state, read_all(state).substr(0, 40));
  damaged(state.string() + " is damaged: line 4: not valid JSON at byte 41");
  write_file(state, "{\"a\":" + std::string(20000, '['));
  damaged(state.string() + " is damaged: lists and objects are more than 100 deep");
  write_file(state, "[]");
  damaged(state.string() + " is damaged: expected a JSON object with a format");
  flip_bit(state, read_all(state).find("32000"));
  damaged(state.string() + " is damaged: its checksum differs");
  write_file(state, "{\"format\":1,\"step\":500,\"files\":{}}");
  damaged(state.string() + " is damaged: its checksum differs");
  write_file(state, "{\"format\":2}");
  damaged(state.string() + ": expected format 1, got 2");
  fs::rename(checkpoint, f.run.checkpoint(600));
  CHECK(verify_checkpoint(f.run.checkpoint(600)) == "step-000600: holds step 500");
}

TEST_CASE("checkpoint: a flip of any bit that matters in state.json is found") {
  const Fixture f({500});
  const fs::path state = f.file(500, "state.json");
  const std::string good = read_all(state);
  const Json meaning = Json::parse(good);
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    std::string flipped = good;
    flipped[byte] ^= 1;
    write_file(state, flipped);
    const bool same = Json::parse(flipped, nullptr, false) == meaning;  // white space, or a digit too many
    CAPTURE(byte);
    CHECK(verify_checkpoint(f.run.checkpoint(500)).has_value() == !same);
  }
}

TEST_CASE("checkpoint: the newest that verifies is taken, and newer ones are told") {
  const Fixture f({500, 1000, 1500});
  flip_bit(f.file(1500), 0);
  write_file(f.file(1000), "");
  const NewestCheckpoint newest = newest_valid_checkpoint(f.run);
  CHECK(newest.step == 500);
  CHECK(newest.skipped == std::vector<std::string>{f.at(1500) + ": model.safetensors is damaged: its checksum differs",
                                                   f.at(1000) + ": model.safetensors: expected 7 bytes, got 0"});
  CHECK_FALSE(newest_valid_checkpoint(Fixture().run).step);
}

TEST_CASE("checkpoint: an error of reading is no damage: it ends the search, and nothing is removed") {
  const Fixture f({500, 1000});
  mark_best(f.run, 1000);
  const auto everything = [&] {
    CHECK(list_checkpoints(f.run) == Steps{500, 1000});
    CHECK(best_step(f.run) == 1000);
    CHECK(newest_valid_checkpoint(f.run).step == 1000);
  };
  for (const char* name : {"state.json", "model.safetensors"}) {
    for (const int failing_call : {1, 2}) {  // open, and read
      CAPTURE(name);
      CAPTURE(failing_call);
      std::string error;
      {
        int calls = 0;
        const ReadHook hook(
            [&](const fs::path& path) { return path == f.file(1000, name) && ++calls == failing_call ? EIO : 0; });
        try {
          newest_valid_checkpoint(f.run);
        } catch (const IoError& refused) {
          error = refused.what();
        }
      }
      CHECK(error == str_cat(failing_call == 1 ? "cannot open " : "cannot read ", f.file(1000, name).string(),
                             ": Input/output error"));
      everything();
    }
  }
  // Where `best` cannot be looked at, the best one must not be taken for one that nobody wants.
  f.publish(1500);
  fs::remove(f.run.best());
  fs::create_symlink("best", f.run.best());  // leads to itself
  CHECK_THROWS_AS(prune_checkpoints(f.run, 1), IoError);
  CHECK(list_checkpoints(f.run) == Steps{500, 1000, 1500});
}

TEST_CASE("checkpoint: damaged ones after a step are set aside under names of their own") {
  const Fixture f({500, 1000});
  CHECK(set_aside_checkpoints_after(f.run, 500) ==
        std::vector<std::string>{f.at(1000) + " is now " + f.at(1000) + ".damaged"});
  f.publish(1000);
  f.publish(1500);
  CHECK(set_aside_checkpoints_after(f.run, 500) ==
        std::vector<std::string>{f.at(1000) + " is now " + f.at(1000) + ".damaged-2",
                                 f.at(1500) + " is now " + f.at(1500) + ".damaged"});
  CHECK(list_checkpoints(f.run) == Steps{500});
  CHECK(read_all(f.at(1000) + ".damaged/model.safetensors") == "weights");
  CHECK(newest_valid_checkpoint(f.run).step == 500);
}

TEST_CASE("checkpoint: `latest` may be missing, behind, nonsense, or name a missing folder") {
  const Fixture f({500, 1000});
  const auto newest = [&] { return newest_valid_checkpoint(f.run); };
  fs::remove(f.run.latest());
  CHECK(newest().step == 1000);
  CHECK(newest().skipped.empty());
  CHECK_FALSE(latest_step(f.run));
  write_file(f.run.latest(), "step-000500\n");  // killed between the rename and the name
  CHECK(newest().step == 1000);
  CHECK(newest().skipped.empty());
  write_file(f.run.latest(), "");
  CHECK(newest().step == 1000);
  CHECK_FALSE(latest_step(f.run));
  write_file(f.run.latest(), "step-001500\n");
  CHECK_FALSE(latest_step(f.run));
  CHECK(newest().step == 1000);
  CHECK(newest().skipped == std::vector<std::string>{f.at(1500) + ": no such folder, yet `latest` names it"});
}

TEST_CASE("checkpoint: leftovers of a killed process are cleared away or put back") {
  const Fixture f({500, 1000});
  const fs::path folder = f.run.checkpoints();
  // Killed while writing 1500: half a staging folder.
  fs::create_directories(folder / ".step-001500.partial");
  write_file(folder / ".step-001500.partial/model.safetensors", "hal");
  // Killed while replacing 1000, between the two renames.
  fs::rename(f.run.checkpoint(1000), folder / ".step-001000.replaced");
  // Killed while replacing 500, before the old one was removed.
  fs::create_directories(folder / ".step-000500.replaced");
  // Killed in an atomic write: beside is what AtomicFile leaves.
  for (const fs::path& path : {f.run.latest(), f.run.config()}) {
    const pid_t child = ::fork();
    if (child == 0) {
      AtomicFile unfinished(path);
      unfinished.append("half");
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }
  CHECK(f.entries() == 6);
  CHECK(list_checkpoints(f.run) == Steps{500});
  remove_leftovers(f.run);
  CHECK(list_checkpoints(f.run) == Steps{500, 1000});
  CHECK(f.entries() == 3);
  CHECK(std::distance(fs::directory_iterator(f.run.root), fs::directory_iterator{}) == 3);
  CHECK(newest_valid_checkpoint(f.run).step == 1000);
  CHECK(newest_valid_checkpoint(f.run).skipped.empty());
  CHECK_NOTHROW(remove_leftovers(Fixture().run));
}

TEST_CASE("checkpoint: pruning keeps the last ones, the best and the latest") {
  const Fixture f({1, 2, 3, 4, 5, 6});
  mark_best(f.run, 2);
  CHECK(best_step(f.run) == 2);
  prune_checkpoints(f.run, 0);
  CHECK(list_checkpoints(f.run).size() == 6);
  prune_checkpoints(f.run, 10);
  CHECK(list_checkpoints(f.run).size() == 6);
  prune_checkpoints(f.run, 3);
  CHECK(list_checkpoints(f.run) == Steps{2, 4, 5, 6});
  write_file(f.run.latest(), "step-000004\n");
  prune_checkpoints(f.run, 1);
  CHECK(list_checkpoints(f.run) == Steps{2, 4, 6});
  CHECK(f.entries() == 5);
  CHECK_THROWS_WITH_AS(mark_best(f.run, 3), ("cannot mark the best: " + f.at(3) + " does not exist").c_str(), Error);
  CHECK(best_step(f.run) == 2);
}

TEST_CASE("checkpoint: going back to a step leaves later ones behind") {
  const Fixture f({1, 2, 3, 4});
  mark_best(f.run, 3);
  remove_checkpoints_after(f.run, 3);
  CHECK(list_checkpoints(f.run) == Steps{1, 2, 3});
  CHECK(latest_step(f.run) == 3);
  CHECK(best_step(f.run) == 3);
  remove_checkpoints_after(f.run, 2);
  CHECK(latest_step(f.run) == 2);
  CHECK_FALSE(best_step(f.run));
  remove_checkpoints_after(f.run, 0);
  CHECK(f.entries() == 0);
  CHECK(newest_valid_checkpoint(f.run).skipped.empty());
}

TEST_CASE("checkpoint: kill -9 at any moment leaves a run that resumes") {
  const Fixture f({1});
  const auto begin = std::chrono::steady_clock::now();
  f.publish(1);
  const std::chrono::duration<double, std::micro> one_publication = std::chrono::steady_clock::now() - begin;
  std::int64_t reached = 1;
  // On a busy machine the child may not come to its first publication: then it gets twice the time for 24 rounds more.
  for (int round = 0; round < 24 || (reached == 1 && round < 8 * 24); ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      // As a resumed run does, which first saves the step that it took up: replacing is hit as well.
      const RunLock lock(f.run);
      remove_leftovers(f.run);
      for (std::int64_t step = newest_valid_checkpoint(f.run).step.value();; ++step) {
        f.publish(step, std::string(20000, static_cast<char>('a' + step % 26)));
        mark_best(f.run, step);
        prune_checkpoints(f.run, 2);
      }
    }
    ::usleep(static_cast<useconds_t>(one_publication.count() * (4 << round / 24) * (round * 7 % 24) / 24));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(WTERMSIG(status) == SIGKILL);

    const RunLock lock(f.run);
    remove_leftovers(f.run);
    const NewestCheckpoint newest = newest_valid_checkpoint(f.run);
    CHECK(newest.skipped.empty());
    REQUIRE(newest.step);
    CHECK(*newest.step >= reached);
    CHECK(latest_step(f.run).has_value());
    CHECK(list_checkpoints(f.run).size() <= 4);
    reached = *newest.step;
  }
  CHECK(reached > 1);
}
