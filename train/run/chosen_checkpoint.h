// Which checkpoint of a run is meant, for whatever reads the weights of a run.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/run/checkpoint_store.h"
#include "train/run/run_folder.h"

namespace tapeformer {

// RUN and --checkpoint of the command line.
struct ModelSource {
  std::filesystem::path path;   // a run's folder, or a checkpoint in it as find_run() takes it
  std::string checkpoint = {};  // beside a run's folder: latest, best, average, or a step; empty: none is named

  ModelSource() = default;
  template <std::convertible_to<std::filesystem::path> Path>
  ModelSource(const Path& run, std::string word = {}) : path(run), checkpoint(std::move(word)) {}
};

// A verified checkpoint or average.
struct UsableCheckpoint {
  RunFolder run;
  std::filesystem::path folder;
  std::int64_t step = 0;
  bool averaged = false;              // it is the average of checkpoints up to that step
  std::string text = {};              // "step 500 (best)"
  std::vector<std::string> warnings;  // of damaged ones that were skipped
};

// The checkpoint that the source names. Where it names none: the one with the best evaluation; the average where its
// evaluation is better still; the newest one where nothing was evaluated. A damaged one is skipped unless it is named.
//
// Throws Error when the run has no such checkpoint, or none that verifies, and when a tokenizer or the labels have
// changed since it was saved; CheckpointGone when a training has removed
// it meanwhile; UsageError for another word, and for one beside a path that names a checkpoint itself.
UsableCheckpoint find_checkpoint(const ModelSource& source);

// Returns use(find_checkpoint(source)). A training beside it may remove the checkpoint before it has been read: then
// looks for another one and calls `use` again. Throws what `use` throws otherwise.
template <class Use>
auto with_checkpoint(const ModelSource& source, const Use& use) {
  return retry_while_gone([&] {
    const UsableCheckpoint found = find_checkpoint(source);
    return while_in_place(found.folder, [&] { return use(found); });
  });
}

// The step of the checkpoint that is named or, where none is named, of the newest one that verifies; adds a warning for
// each newer one that does not. Throws Error when the named one does not verify, or there is none.
std::int64_t usable_checkpoint(const RunReference& reference, std::vector<std::string>& warnings);

}  // namespace tapeformer
