// Checkpoints in the folder of a run: published, verified, found, pruned.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "tests/system_calls.h"
#include "tests/train/run/checkpointed_run.h"

using namespace tapeformer;
using Json = nlohmann::ordered_json;

TEST_CASE("checkpoint: publishing writes the files, their checksums and the latest name") {
  const CheckpointedRun f({500});
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
  const CheckpointedRun f({500});
  f.publish(500, "better weights");
  CHECK(read_all(f.file(500)) == "better weights");
  CHECK_FALSE(verify_checkpoint(f.run.checkpoint(500)));
  CHECK(f.entries() == 2);
}

TEST_CASE("checkpoint: a publication that fails changes nothing") {
  const CheckpointedRun f({500});
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
  const CheckpointedRun f({500});
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
  for (const std::string& end : {std::string(), std::string(20000, ']') + "}"}) {
    write_file(state, "{\"format\":1,\"a\":" + std::string(20000, '[') + end);
    damaged(state.string() + " is damaged: lists and objects are more than 100 deep");
  }
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
  const CheckpointedRun f({500});
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
  const CheckpointedRun f({500, 1000, 1500});
  flip_bit(f.file(1500), 0);
  write_file(f.file(1000), "");
  const NewestCheckpoint newest = newest_valid_checkpoint(f.run);
  CHECK(newest.step == 500);
  CHECK(newest.skipped == std::vector<std::string>{f.at(1500) + ": model.safetensors is damaged: its checksum differs",
                                                   f.at(1000) + ": model.safetensors: expected 7 bytes, got 0"});
  CHECK_FALSE(newest_valid_checkpoint(CheckpointedRun().run).step);
}

TEST_CASE("checkpoint: an error of reading is no damage: it ends the search, and nothing is removed") {
  const CheckpointedRun f({500, 1000});
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
  const CheckpointedRun f({500, 1000});
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
  const CheckpointedRun f({500, 1000});
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
  const CheckpointedRun f({500, 1000});
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
  CHECK_NOTHROW(remove_leftovers(CheckpointedRun().run));
}

TEST_CASE("checkpoint: pruning keeps the last ones, the best and the latest") {
  const CheckpointedRun f({1, 2, 3, 4, 5, 6});
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

TEST_CASE("checkpoint: pruning keeps what was the best when a kept one was saved") {
  const CheckpointedRun f;
  const auto publish = [&](std::int64_t step, const Json& state) {
    StagedCheckpoint(f.run, step, state, [](const fs::path& staging) {
      write_file(staging / "model.safetensors", "weights");
    }).publish();
  };
  publish(1, {{"best_step", 1}});
  publish(2, {{"best_step", 2}});
  publish(3, {{"best_step", 2}});
  publish(4, {{"best_step", 2}, {"scheduled_best", {{"loss", 1.5}, {"step", 1}}}});
  publish(5, {{"best_step", 5}});
  mark_best(f.run, 5);
  prune_checkpoints(f.run, 2);
  CHECK(list_checkpoints(f.run) == Steps{1, 2, 4, 5});  // a run that goes back to step 4 has its best ones
  publish(6, {{"best_step", 5}});
  prune_checkpoints(f.run, 2);
  CHECK(list_checkpoints(f.run) == Steps{5, 6});
  // Where nothing was evaluated, none was the best: step 0 has the weights with which the run began.
  const CheckpointedRun unevaluated({0, 1, 2});
  prune_checkpoints(unevaluated.run, 1);
  CHECK(list_checkpoints(unevaluated.run) == Steps{2});
}

TEST_CASE("checkpoint: going back to a step leaves later ones behind") {
  const CheckpointedRun f({1, 2, 3, 4});
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
  const CheckpointedRun f({1});
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
