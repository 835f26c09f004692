// The configuration of a command: it is read from a file, and changed by the options --section.key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command.h"
#include "train/config/config.h"

namespace tapeformer::cli {

// Adds an option for every key, and --help-all. The options set `overrides`, which must live as long as the command.
void add_config_options(Command& command, ConfigOverrides& overrides);

// Refuses a configuration file among the words that follow --data.text, --data.valid and the like, which take all of
// them. The command is one for which no other configuration is named.
void refuse_configuration_as_text(std::string_view command, const ConfigOverrides& overrides);

// Applies the options, makes all paths absolute (a run's configuration must not depend on the current folder), and
// resolves the result. Adds a line to `notes` for each value that an option replaces.
[[nodiscard]] ResolvedConfig override_config(Config config, const ConfigOverrides& overrides,
                                             std::vector<std::string>& notes);
// The configuration of a new run, changed by the options. Unlike the result of override_config() it is not resolved,
// and keys that are not given have the values that train.init_from and the data imply (imply_model()).
struct GivenConfig {
  Config values;
  std::vector<std::string> notes;  // what was replaced or implied
};
[[nodiscard]] GivenConfig given_config(Config config, const ConfigOverrides& overrides);
// Returns given_config(), resolved, and prints its notes.
[[nodiscard]] ResolvedConfig new_config(Config config, const ConfigOverrides& overrides);

}  // namespace tapeformer::cli
