// Checkpoints as folders of files: published whole, verified, pruned. The caller decides what the files hold.
//
//   checkpoints/step-000500/      the caller's files, and state.json
//   checkpoints/latest, best      names of the newest and the best
//   checkpoints/average/          the mean of the last regular checkpoints, once the run is finished
//   checkpoints/step-000500.damaged     one that did not verify when the run was resumed: never read
//   checkpoints/.step-000500.partial    being written, or being removed: never read (.average.partial too)
//   checkpoints/.step-000500.replaced   the old one while a new one of the same name takes its place
//
// state.json: {"format": 1, "step": 500, the caller's fields…, "files": {name: {"bytes": …, "xxh3": …}}, "xxh3": …}.
// The last field is the checksum of the others, so that damage to the state is noticed. The caller's field "regular"
// is false for a checkpoint that was saved beside the schedule (an interruption, a new best): averages leave it out.
//
// A process killed at any moment leaves a run that can be resumed. A folder step-… appears by rename when all its files
// are on disk, and disappears by rename before its files do. The newest checkpoint is found by listing the folders;
// `latest` may lag behind. One process writes (RunLock); others may read at any time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "train/run/disk.h"
#include "train/run/run_folder.h"

namespace tapeformer {

// A checkpoint that is saved in two steps, so that training need not wait for the disk: its files are written to a
// staging folder; later, on any thread, publish() syncs them to disk and moves the folder into place.
class StagedCheckpoint {
 public:
  // Calls write_files with the staging folder. The files need not be synced: publish() does that. Throws Error, and
  // what write_files throws: then nothing has changed. The run's folder must exist; it is never made here.
  StagedCheckpoint(const RunFolder& run, std::int64_t step, const nlohmann::ordered_json& state,
                   const std::function<void(const std::filesystem::path& staging)>& write_files);
  // The same for the average of checkpoints up to a step. `latest` never names it.
  static std::unique_ptr<StagedCheckpoint> average(
      const RunFolder& run, std::int64_t step, const nlohmann::ordered_json& state,
      const std::function<void(const std::filesystem::path& staging)>& write_files);
  ~StagedCheckpoint();  // removes the staging folder unless it was published
  StagedCheckpoint(const StagedCheckpoint&) = delete;
  StagedCheckpoint& operator=(const StagedCheckpoint&) = delete;

  // More fields of the state, which are known only after the files are written.
  void add_fields(const nlohmann::ordered_json& fields);

  // Returns when the checkpoint is on disk and `latest` names it. Replaces a checkpoint of the same step. Call it once.
  // Throws Error: then nothing has changed, except when only `latest` could not be written.
  void publish();

 private:
  StagedCheckpoint(const RunFolder& run, std::string name, std::int64_t step, const nlohmann::ordered_json& state,
                   const std::function<void(const std::filesystem::path& staging)>& write_files);

  RunFolder run_;
  std::string name_;
  std::int64_t step_;
  std::unique_ptr<nlohmann::ordered_json> state_;
  std::filesystem::path staging_;
};

// Why a checkpoint must not be used, in one line; nothing when every file is there with the bytes that were written.
// Throws IoError where the system does not let it see: that is no damage.
std::optional<std::string> verify_checkpoint(const std::filesystem::path& checkpoint);
// The same. Throws CheckpointGone when the checkpoint is removed meanwhile.
std::optional<std::string> verify_beside_training(const std::filesystem::path& checkpoint);

// The fields of state.json without its checksum. Throws Error when the file is missing or damaged.
nlohmann::ordered_json read_checkpoint_state(const std::filesystem::path& checkpoint);

// Steps of the published checkpoints, ascending; damaged ones too.
std::vector<std::int64_t> list_checkpoints(const RunFolder& run);
// Those whose state does not say that they are not regular. Older checkpoints do not say it.
std::vector<std::int64_t> list_regular_checkpoints(const RunFolder& run);

// A checkpoint was removed while it was read, as happens beside a training that prunes: look for another one.
class CheckpointGone : public Error {
 public:
  using Error::Error;
};

// Calls look() again as long as it throws CheckpointGone, up to a hundred times.
template <class Look>
auto retry_while_gone(const Look& look) {
  for (int attempt = 1;; ++attempt) {
    try {
      return look();
    } catch (const CheckpointGone&) {
      if (attempt == 100) throw;
    }
  }
}

// Returns call(). When the folder is removed or replaced meanwhile, an Error of the call becomes CheckpointGone.
template <class Call>
auto while_in_place(const std::filesystem::path& folder, const Call& call) {
  const HeldFolder held(folder);
  try {
    return call();
  } catch (const Error& error) {
    if (!held.in_place()) throw CheckpointGone(error.what());
    throw;
  }
}

struct NewestCheckpoint {
  std::optional<std::int64_t> step;  // nothing: the run has no usable checkpoint
  // The newer ones that do not verify, as "path: reason" each: the user must be told.
  std::vector<std::string> skipped;
};
// Safe beside a training: a checkpoint that is removed during the search is not taken for a damaged one.
NewestCheckpoint newest_valid_checkpoint(const RunFolder& run);

// The steps that `latest` and `best` name; nothing while there is no such file or no such checkpoint.
std::optional<std::int64_t> latest_step(const RunFolder& run);
std::optional<std::int64_t> best_step(const RunFolder& run);
// Throws Error when the run has no checkpoint of that step.
void mark_best(const RunFolder& run, std::int64_t step);

// Removes the average, if there is one: it is not the average of a run that goes on.
void remove_average(const RunFolder& run);
// Removes all checkpoints but the last `keep` (0: all stay), the last `average` regular ones, the best, the latest and
// that of the step `also` (0: no further one).
void prune_checkpoints(const RunFolder& run, std::int64_t keep, std::int64_t average = 0, std::int64_t also = 0);
// Makes the same checkpoint in another run, under construction: its files are on disk on return, and `latest` of that
// run names it. Throws Error when it does not verify.
void copy_checkpoint(const RunFolder& from, std::int64_t step, const RunFolder& to);
// Removes the checkpoints after a step, for a run that goes back to that step. `latest` then names that step's
// checkpoint; `best` is removed when it named one of the removed checkpoints.
void remove_checkpoints_after(const RunFolder& run, std::int64_t step);

// Renames the checkpoints after a step, which are damaged, to "step-000500.damaged", where nothing takes them for
// checkpoints: they may be of use to somebody. Returns a line for each, to be told.
std::vector<std::string> set_aside_checkpoints_after(const RunFolder& run, std::int64_t step);

// Removes, or moves back into place, what a killed process left. Call it under the lock, before writing.
void remove_leftovers(const RunFolder& run);

}  // namespace tapeformer
