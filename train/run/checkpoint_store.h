// Checkpoints as folders of files: published atomically, verified, pruned. The caller decides what the files contain.
//
//   checkpoints/step-000500/      the caller's files, and state.json
//   checkpoints/latest, best      names of the newest and the best
//   checkpoints/average/          the mean of the last regular checkpoints, or the moving average of the weights, once
//                                 the run is finished
//   checkpoints/step-000500.damaged     one that did not verify when the run was resumed: never read
//   checkpoints/.step-000500.partial    being written, or being removed: never read (.average.partial too)
//   checkpoints/.step-000500.replaced   the old one, until a new one of the same name has replaced it
//
// state.json: {"format": 1, "step": 500, the caller's fields…, "files": {name: {"bytes": …, "xxh3": …}}, "xxh3": …}.
// The last field is the checksum of the others, so that damage to the state is noticed. The caller's field "regular"
// is false for a checkpoint that was saved outside the schedule (an interruption, a new best): averages leave it out.
//
// If a process is killed at any moment, the run can be resumed. A folder step-… appears by a rename when all its files
// are on disk, and disappears by a rename before its files are removed. The newest checkpoint is found by listing the
// folders; `latest` may be older. One process writes (RunLock); others may read at any time.
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

// A checkpoint that is saved in two parts, so that training need not wait for the disk: first its files are written to
// a staging folder; later, on any thread, publish() syncs them to disk and renames the folder.
class StagedCheckpoint {
 public:
  // Calls write_files with the staging folder. The files need not be synced: publish() does that. Throws Error, and the
  // exceptions of write_files; then nothing has changed. The run's folder must exist; it is never created here.
  StagedCheckpoint(const RunFolder& run, std::int64_t step, const nlohmann::ordered_json& state,
                   const std::function<void(const std::filesystem::path& staging)>& write_files);
  // Stages an average of the weights up to a step, in the same way. `latest` never names it.
  static std::unique_ptr<StagedCheckpoint> average(
      const RunFolder& run, std::int64_t step, const nlohmann::ordered_json& state,
      const std::function<void(const std::filesystem::path& staging)>& write_files);
  ~StagedCheckpoint();  // removes the staging folder unless it was published
  StagedCheckpoint(const StagedCheckpoint&) = delete;
  StagedCheckpoint& operator=(const StagedCheckpoint&) = delete;

  // Adds fields of the state that are known only after the files are written.
  void add_fields(const nlohmann::ordered_json& fields);

  // Returns when the checkpoint is on disk and `latest` names it. Replaces a checkpoint of the same step. Call it once.
  // If it throws Error, nothing has changed, except when only `latest` could not be written.
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

// Returns the reason why a checkpoint must not be used, in one line; nullopt when every file exists with the bytes that
// were written. Throws IoError if the system refuses to read it, because that is no damage.
std::optional<std::string> verify_checkpoint(const std::filesystem::path& checkpoint);
// Verifies a checkpoint while a training may remove it: throws CheckpointGone if that happens.
std::optional<std::string> verify_beside_training(const std::filesystem::path& checkpoint);

// Returns the fields of state.json without its checksum. Throws Error if the file is missing or damaged.
nlohmann::ordered_json read_checkpoint_state(const std::filesystem::path& checkpoint);

// Returns the steps of the published checkpoints, ascending, including damaged ones.
std::vector<std::int64_t> list_checkpoints(const RunFolder& run);
// Returns the steps of the regular checkpoints. A checkpoint of an older version, which has no field "regular", counts
// as regular.
std::vector<std::int64_t> list_regular_checkpoints(const RunFolder& run);

// Thrown if a training removes a checkpoint while it is read: look for another one.
class CheckpointGone : public Error {
 public:
  using Error::Error;
};

// Calls look() again while it throws CheckpointGone, up to a hundred times.
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

// Returns call(). If the folder is removed or replaced meanwhile, an Error of the call becomes CheckpointGone.
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
  std::optional<std::int64_t> step;  // nullopt: the run has no usable checkpoint
  // The newer checkpoints that do not verify, each as "path: reason". The caller must report them to the user.
  std::vector<std::string> skipped;
};
// Finds the newest checkpoint that verifies. A training may go on meanwhile: a checkpoint that it removes during the
// search is not mistaken for a damaged one.
NewestCheckpoint newest_valid_checkpoint(const RunFolder& run);

// Return the step that `latest` or `best` names; nullopt if there is no such file or no such checkpoint.
std::optional<std::int64_t> latest_step(const RunFolder& run);
std::optional<std::int64_t> best_step(const RunFolder& run);
// Returns whether the newest weights of the run are those of a published model, which no training here has changed. A
// training that began with other weights (train.init_from) has a checkpoint of step 0 too, but also a metrics.jsonl.
bool is_imported(const RunFolder& run);
// Makes `best` name the checkpoint of this step. Throws Error if the run has no such checkpoint.
void mark_best(const RunFolder& run, std::int64_t step);

// Removes the average, if there is one. Call it for a run that continues, in which the average would be out of date.
void remove_average(const RunFolder& run);
// Removes all checkpoints except the last `keep` (0: keeps all), the last `average` regular ones, those that were the
// best when one of these was saved (the caller's fields "best_step" and "scheduled_best"), since a run may go on from
// it, the best, and the latest.
void prune_checkpoints(const RunFolder& run, std::int64_t keep, std::int64_t average = 0);
// Copies the checkpoint into another run that is being made: on return its files are on disk, and `latest` of that run
// names it. Throws Error when it does not verify.
void copy_checkpoint(const RunFolder& from, std::int64_t step, const RunFolder& to);
// Removes the checkpoints after a step, for a run that goes back to that step. `latest` then names that step's
// checkpoint; `best` is removed if it named one of the removed checkpoints.
void remove_checkpoints_after(const RunFolder& run, std::int64_t step);

// Renames the checkpoints after a step, which are damaged, to "step-000500.damaged": they are no longer read, but
// somebody may still need them. Returns a line for the user about each of them.
std::vector<std::string> set_aside_checkpoints_after(const RunFolder& run, std::int64_t step);

// Removes, or moves back, the leftovers of a killed process. Call it under the lock, before writing.
void remove_leftovers(const RunFolder& run);

}  // namespace tapeformer
