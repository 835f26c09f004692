// A run with checkpoints of a few bytes.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/temp_folder.h"
#include "train/run/checkpoint_store.h"
#include "train/run/run_folder.h"

namespace tapeformer {

namespace fs = std::filesystem;
using Steps = std::vector<std::int64_t>;

inline void write_file(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// A run with checkpoints, in a folder that goes away.
struct CheckpointedRun {
  TempFolder folder;
  RunFolder run = create_run(folder.path / "runs/a", "[model]\n", {"{}", ""});

  explicit CheckpointedRun(std::initializer_list<std::int64_t> steps = {}) {
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

inline void flip_bit(const fs::path& path, std::size_t byte) {
  std::string bytes = read_all(path);
  bytes.at(byte) ^= 1;
  write_file(path, bytes);
}

}  // namespace tapeformer
