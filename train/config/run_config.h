// The configuration of a resumed run: which keys may change, and which keys change with them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/config/config.h"

namespace tapeformer {

// Reads the configuration from a run's folder.
Config load_run_config(const std::filesystem::path& path);

// The keys that somebody has edited in a run's configuration file since the program wrote it, one text for each:
// "train.batch was 4 and is 16". Empty for a file of an older version, which has no checksum. `copy`: the configuration
// file in the checkpoint that the run continues from, if there is one.
std::vector<std::string> changes_by_hand(const std::filesystem::path& config,
                                         const std::optional<std::filesystem::path>& copy);

// The configuration with the values that the run's file holds: keys derived from others are not derived again.
ResolvedConfig stored_config(Config run);

// The changes that resuming makes, a line for each key, such as "schedule.total is now 200 (follows train.steps)".
// Throws UsageError when a key would change that describes the model, its tokens or its task.
std::vector<std::string> check_resume(const ResolvedConfig& stored, const ResolvedConfig& resumed);

}  // namespace tapeformer
