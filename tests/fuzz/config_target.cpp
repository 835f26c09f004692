#include "core/error.h"
#include "targets.h"
#include "train/config/config.h"

namespace tapeformer::fuzz {

void config(std::string_view data) {
  std::optional<ResolvedConfig> read;
  std::string written;
  try {
    read.emplace(resolve(parse_config(data, "fuzz")));
    written = to_toml(*read);
  } catch (const UsageError&) {
    return;  // no valid configuration, or a string that is not UTF-8
  }
  require(resolve(parse_config(written, "fuzz")) == *read, "a configuration reads back otherwise");
}

}  // namespace tapeformer::fuzz
