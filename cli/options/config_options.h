// The configuration as the commands take it: from a file, changed by the options --section.key.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "train/config/config.h"

namespace tapeformer::cli {

// Adds an option for every key. The options write into `overrides`, which must live as long as the command.
void add_config_options(CLI::App& command, ConfigOverrides& overrides);

// Sets what the options give, makes all paths absolute (a run's configuration does not depend on the folder that the
// command was called in), and resolves the result. Adds to `notes` what the options replace.
[[nodiscard]] ResolvedConfig override_config(Config config, const ConfigOverrides& overrides,
                                             std::vector<std::string>& notes);
// The same for a new run: what train.init_from and the data imply takes the place of what is not given (imply_model()).
// The notes are printed.
[[nodiscard]] ResolvedConfig new_config(Config config, const ConfigOverrides& overrides);

}  // namespace tapeformer::cli
