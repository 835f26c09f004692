// Finds the checkpoint of a run that the user means, for every command that reads the weights of a run.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "train/run/checkpoint_store.h"
#include "train/run/run_folder.h"

namespace tapeformer {

// The arguments RUN and --checkpoint of the command line.
struct RunSelection {
  std::filesystem::path path;   // a run's folder, or a checkpoint in it as find_run() takes it
  std::string checkpoint = {};  // with a run's folder: latest, best, average, or a step; empty: the default choice
  // For a run of several tasks, the name of one of them; empty: the only task that fits the command.
  std::string task = {};

  RunSelection() = default;
  template <std::convertible_to<std::filesystem::path> Path>
  RunSelection(const Path& run, std::string word = {}) : path(run), checkpoint(std::move(word)) {}
};

// A verified checkpoint or average.
struct UsableCheckpoint {
  RunFolder run;
  std::filesystem::path folder;
  std::int64_t step = 0;
  bool averaged = false;              // whether it is an average up to that step
  std::string text = {};              // "step 500 (best)"
  std::vector<std::string> warnings;  // about damaged checkpoints that were skipped
};

// Finds the checkpoint that the source names. The default is the one with the best evaluation; the average if its
// evaluation is better; the newest one if nothing was evaluated. A damaged one is skipped unless the source names it.
//
// Throws Error when the run has no such checkpoint, or none that verifies, and when a tokenizer or the labels have
// changed since it was saved; CheckpointGone when a training has removed it meanwhile; UsageError for an unknown word
// in `checkpoint`, and for any word when the path itself names a checkpoint.
UsableCheckpoint find_checkpoint(const RunSelection& source);

// Returns use(find_checkpoint(source)). If a training removes the checkpoint before it has been read, looks for another
// one and calls `use` again. Throws what `use` throws otherwise.
template <class Use>
auto with_checkpoint(const RunSelection& source, const Use& use) {
  return retry_while_gone([&] {
    const UsableCheckpoint found = find_checkpoint(source);
    return while_in_place(found.folder, [&] { return use(found); });
  });
}

// Returns the step of the named checkpoint, or if none is named, of the newest one that verifies; adds a warning for
// each newer one that does not. Throws Error if the named one does not verify, or if none does.
std::int64_t usable_checkpoint(const RunReference& reference, std::vector<std::string>& warnings);

}  // namespace tapeformer
