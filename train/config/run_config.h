// The configuration of a run that is resumed: what may change, and what changes with it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/config/config.h"

namespace tapeformer {

// The configuration that a run's folder holds.
Config load_run_config(const std::filesystem::path& path);

// What somebody has changed by hand in a run's configuration file since the program wrote it, one text for each key:
// "train.batch was 4 and is 16". Nothing can be said of a file that an older version wrote. `copy`: the one of the
// checkpoint that the run goes on with, if there is one.
std::vector<std::string> changes_by_hand(const std::filesystem::path& config,
                                         const std::optional<std::filesystem::path>& copy);

// The values that the run's configuration holds, whatever they follow.
ResolvedConfig stored_config(Config run);

// What resuming changes, a line for each key, such as "schedule.total is now 200 (follows train.steps)". Throws
// UsageError when a key would change that says what the model, its tokens or its task are.
std::vector<std::string> check_resume(const ResolvedConfig& stored, const ResolvedConfig& resumed);

}  // namespace tapeformer
