// The folder of a run: its files, and which paths mean it.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "tests/system_calls.h"
#include "tests/train/run/checkpointed_run.h"

using namespace tapeformer;
using Json = nlohmann::ordered_json;

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
  folder.write("config.toml.unfinished", "[model]\n");
  create_run(folder.path, "[model]\n", {"{}", ""});
  CHECK(read_all(folder.path / "tokenizer.json") == "{}");
  CHECK(read_all(folder.path / "notes.txt") == "mine");
}

TEST_CASE("run folder: creation refuses a folder with a file that the run would read as its own") {
  for (const char* name : {"tokenizer-target.json", "tokenizer_config.json", "labels.json", "base.safetensors",
                           "machine.json", "comparison.json"}) {
    CAPTURE(name);
    const TempFolder folder;
    const std::string file = folder.write(name, "of something else").string();
    CHECK_THROWS_WITH_AS(create_run(folder.path, "[model]\n", {"{}", ""}),
                         (file + " is there already, and the run would read it as its own: give another --out").c_str(),
                         Error);
    CHECK(read_all(file) == "of something else");
    CHECK(folder.entries() == 1);
  }
}

TEST_CASE("run folder: creation refuses a folder with a page that the run would replace") {
  const TempFolder folder;
  const std::string file = folder.write("report.html", "of something else").string();
  CHECK_THROWS_WITH_AS(create_run(folder.path, "[model]\n", {"{}", ""}),
                       (file + " is there already, and the run would replace it: give another --out").c_str(), Error);
  CHECK(folder.entries() == 1);
}

TEST_CASE("run folder: creation replaces no other tokenizer") {
  const TempFolder folder;
  const std::string file = folder.write("tokenizer.json", "mine").string();
  CHECK_THROWS_WITH_AS(
      create_run(folder.path, "[model]\n", {"{}", ""}),
      (file + " is there already, and is another tokenizer than the run's: give another --out").c_str(), Error);
  CHECK(read_all(file) == "mine");
  CHECK(folder.entries() == 1);
  create_run(folder.path, "[model]\n", {"mine", ""});
  CHECK(read_all(file) == "mine");
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
  const CheckpointedRun f({500, 1000});
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

TEST_CASE("run folder: whoever looks for a moment whether a run is in training keeps no training from it") {
  const CheckpointedRun f;
  const int fd = ::open(f.run.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(::flock(fd, LOCK_SH | LOCK_NB) == 0);  // as is_in_training() does
  std::thread looker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    ::close(fd);
  });
  CHECK_NOTHROW(RunLock(f.run));
  looker.join();
}

TEST_CASE("run folder: one writer at a time") {
  const CheckpointedRun f;
  {
    const RunLock lock(f.run);
    CHECK_THROWS_WITH_AS(RunLock(f.run), (f.run.root.string() + ": another process is training this run").c_str(),
                         Error);
  }
  CHECK_NOTHROW(RunLock(f.run));
  CHECK_THROWS_WITH_AS(RunLock(RunFolder{"no/run"}), "cannot open no/run: No such file or directory", Error);
}
