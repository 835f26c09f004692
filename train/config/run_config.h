// The configuration of a run that is resumed: finds changes of keys, and refuses those that a resumed run cannot make.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/config/config.h"

namespace tapeformer {

// Reads the configuration from a run's folder. Keys that have no effect (idle_keys()) get their defaults: older
// versions accepted them, and recorded them.
Config load_run_config(const std::filesystem::path& path);

// Returns a text about each key whose value load_run_config() ignores, since it has no effect: "run/config.toml:
// task.mix = true has no effect beside task.kind = tag, and is ignored".
std::vector<std::string> ignored_keys(const std::filesystem::path& path);

// Returns a text about each key that somebody has edited in a run's configuration file since the program wrote it:
// "train.batch was 4 and is 16". Empty for a file of an older version, which has no checksum. `copy` is the
// configuration file in the checkpoint from which the run continues, if there is one.
std::vector<std::string> changes_by_hand(const std::filesystem::path& config,
                                         const std::optional<std::filesystem::path>& copy);

// Resolves a run's configuration with exactly the values in its file: keys that were derived from others are not
// derived again.
ResolvedConfig stored_config(Config run);

// Returns a line for each key that changes when the run is resumed, such as "schedule.total is now 200 (follows
// train.steps)". Throws UsageError if a key would change that describes the model, its tokens or its task.
std::vector<std::string> check_resume(const ResolvedConfig& stored, const ResolvedConfig& resumed);

}  // namespace tapeformer
