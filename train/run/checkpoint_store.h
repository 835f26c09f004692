// Checkpoints as folders of files: published whole, verified, pruned. What the files hold is the caller's.
//
//   checkpoints/step-000500/      files of the caller, and state.json
//   checkpoints/latest, best      names of the newest and the best
//   checkpoints/average/          the mean of the last checkpoints, once the run is finished
//   checkpoints/.step-000500.partial    being written, or being removed: never read (.average.partial too)
//   checkpoints/.step-000500.replaced   the old one while a new one of the same name takes its place
//
// state.json: {"format": 1, "step": 500, the caller's fields…, "files": {name: {"bytes": …, "xxh3": …}}, "xxh3": …}.
// The last field is the checksum of the others, so that a damaged state does not go unnoticed.
//
// A process killed at any moment leaves a run that resumes: a folder step-… appears by rename when all its files are
// on disk, and disappears by rename before its files do; the newest checkpoint is found by looking at the folders,
// `latest` may lag behind. One process writes (RunLock); readers may look on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/run/run_folder.h"

namespace tapeformer {

// A checkpoint in two halves, so that training need not wait for the disk: its files are written where nobody looks,
// and later, on any thread, made durable and published.
class StagedCheckpoint {
 public:
  // Calls write_files with the folder for its files. They need not be on disk afterwards: that the system holds their
  // bytes is enough for the training to go on. Throws Error, as does what write_files throws: then nothing has changed.
  StagedCheckpoint(const RunFolder& run, std::int64_t step, const nlohmann::ordered_json& state,
                   const std::function<void(const std::filesystem::path& staging)>& write_files);
  // The average of checkpoints up to a step, in the same way; it is never the latest.
  static std::unique_ptr<StagedCheckpoint> average(
      const RunFolder& run, std::int64_t step, const nlohmann::ordered_json& state,
      const std::function<void(const std::filesystem::path& staging)>& write_files);
  ~StagedCheckpoint();  // not published: gone without a trace
  StagedCheckpoint(const StagedCheckpoint&) = delete;
  StagedCheckpoint& operator=(const StagedCheckpoint&) = delete;

  // Returns when the checkpoint is on disk and the latest one; one of the same step is replaced. To be called once.
  // Throws Error: then nothing has changed, unless it is just the name in `latest` that cannot be written.
  void publish();

 private:
  StagedCheckpoint(const RunFolder& run, std::string name, std::int64_t step, const nlohmann::ordered_json& state,
                   const std::function<void(const std::filesystem::path& staging)>& write_files);

  RunFolder run_;
  std::string name_;
  std::int64_t step_;
  std::unique_ptr<const nlohmann::ordered_json> state_;
  std::filesystem::path staging_;
};

// Why a checkpoint must not be used, in one line; nothing when every file is there with the bytes that were written.
std::optional<std::string> verify_checkpoint(const std::filesystem::path& checkpoint);

// The caller's state with format, step, files. Throws Error when it is missing or damaged.
nlohmann::ordered_json read_checkpoint_state(const std::filesystem::path& checkpoint);

// Steps of the published checkpoints, ascending; damaged ones too.
std::vector<std::int64_t> list_checkpoints(const RunFolder& run);

struct NewestCheckpoint {
  std::optional<std::int64_t> step;  // nothing: the run has no usable checkpoint
  // Newer ones that do not verify, as "path: reason" each: to be told loudly.
  std::vector<std::string> skipped;
};
NewestCheckpoint newest_valid_checkpoint(const RunFolder& run);

// The steps that `latest` and `best` name; nothing while there is no such file or no such checkpoint.
std::optional<std::int64_t> latest_step(const RunFolder& run);
std::optional<std::int64_t> best_step(const RunFolder& run);
// Throws Error when the run has no checkpoint of that step.
void mark_best(const RunFolder& run, std::int64_t step);

// The average goes, since the run goes on.
void remove_average(const RunFolder& run);
// Removes all but the last `keep` checkpoints (0: all stay), the best and the latest.
void prune_checkpoints(const RunFolder& run, std::int64_t keep);
// Removes the checkpoints after a step, what a run that goes back to that step leaves behind. `latest` then names that
// step's (a kill may have left it behind), and `best` nothing when it named one of the removed.
void remove_checkpoints_after(const RunFolder& run, std::int64_t step);

// To be called under the lock before writing: clears away, or puts back, what a killed process left.
void remove_leftovers(const RunFolder& run);

}  // namespace tapeformer
