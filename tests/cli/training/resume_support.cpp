#include "tests/cli/training/resume_support.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names.insert(it->path().filename().string());
  }
  return names;
}

Json without_times(Json object) {
  for (const char* key : {"tokens_per_s", "elapsed_s", "peak_memory_bytes", "metrics", "xxh3"}) object.erase(key);
  return object;
}

void check_same_run(const Sandbox& box, const std::string& a, const std::string& b) {
  CAPTURE(b);
  CHECK(box.read(a + "/config.toml") == box.read(b + "/config.toml"));
  CHECK(box.read(a + "/tokenizer.json") == box.read(b + "/tokenizer.json"));
  const auto lines = box.metrics(a), other_lines = box.metrics(b);
  REQUIRE(lines.size() == other_lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK(without_times(lines[i]) == without_times(other_lines[i]));

  const std::string folder = "/checkpoints/";
  const std::set<std::string> names = names_in(box / (a + folder));
  REQUIRE(names == names_in(box / (b + folder)));  // no leftovers of a kill either
  REQUIRE(names.contains("latest"));
  for (const std::string& name : names) {
    if (name == "latest" || name == "best") {
      CHECK(box.read(a + folder + name) == box.read(b + folder + name));
      continue;
    }
    const std::string checkpoint = folder + name;
    // Not a CHECK of the strings, which would print the files.
    const bool same_model =
        box.read(a + checkpoint + "/model.safetensors") == box.read(b + checkpoint + "/model.safetensors");
    const bool same_optimizer =
        box.read(a + checkpoint + "/optimizer.safetensors") == box.read(b + checkpoint + "/optimizer.safetensors");
    CHECK_MESSAGE(same_model, name);
    CHECK_MESSAGE(same_optimizer, name);
    CHECK(without_times(Json::parse(box.read(a + checkpoint + "/state.json"))) ==
          without_times(Json::parse(box.read(b + checkpoint + "/state.json"))));
  }
}

void wait_until(Process& process, const std::function<bool()>& reached) {
  while (process.running() && !reached()) std::this_thread::sleep_for(std::chrono::microseconds(200));
}

std::size_t lines_of(const Sandbox& box, const std::string& run) {
  const std::string text = box.read(run + "/metrics.jsonl");
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

bool is_caching(const Sandbox& box, const std::string& beginning) {
  return std::ranges::any_of(names_in(box / ".cache"), [&](const std::string& name) {
    return name.starts_with(beginning) && name.find(".tmp-") != std::string::npos;
  });
}

bool is_writing_checkpoint(const Sandbox& box, const std::string& run) {
  for (const std::string& name : names_in(box / (run + "/checkpoints"))) {
    if (name.ends_with(".partial")) return true;
  }
  return false;
}

std::unique_ptr<Process> go_on(const Sandbox& box, const std::string& run, const std::string& options) {
  if (box.has(run + "/config.toml")) return box.start("train --resume " + run);
  return box.start("train tiny.toml --out " + run + " " + options);
}

void check_kills(const Sandbox& box, const std::string& straight, int kills, const std::string& options,
                 const std::function<void(Process&, const std::string& run, int kill)>& wait_for_moment) {
  int killed = 0;
  for (int attempt = 0; killed < kills; ++attempt) {
    REQUIRE(attempt < 20);
    const std::string run = "killed-" + std::to_string(attempt);
    bool finished = false;
    while (!finished && killed < kills) {
      const auto process = go_on(box, run, options);
      wait_for_moment(*process, run, killed);
      process->send(SIGKILL);
      const Outcome outcome = process->wait();
      INFO(outcome.err);
      REQUIRE((outcome.exit_code == 0 || outcome.exit_code == -1));
      finished = outcome.exit_code == 0;
      killed += !finished;
    }
    if (!finished) {
      const Outcome outcome = go_on(box, run, options)->wait();
      INFO(outcome.err);
      REQUIRE(outcome.exit_code == 0);
    }
    check_same_run(box, straight, run);
    fs::remove_all(box / run);
  }
}

void check_kills_at_steps(const Sandbox& box, const std::string& straight, int kills, const std::string& options,
                          unsigned seed, std::size_t least) {
  std::mt19937 random(seed);
  check_kills(box, straight, kills, options, [&](Process& process, const std::string& run, int) {
    const std::size_t lines = lines_of(box, run) + least + random() % 10;
    wait_until(process, [&] { return lines_of(box, run) >= lines; });
  });
}
