#include "core/error.h"
#include "targets.h"
#include "train/config/config.h"

namespace tapeformer::fuzz {

void config(std::string_view data) {
  Config read;
  try {
    read = parse_config(data, "fuzz");
  } catch (const UsageError&) {
    return;
  }
  std::string written;
  try {
    written = to_toml(read);
  } catch (const UsageError&) {
    return;  // a string that is not UTF-8
  }
  require(parse_config(written, "fuzz") == read, "a configuration reads back otherwise");
  try {
    validate(resolve(read));
  } catch (const UsageError&) {
  }
}

}  // namespace tapeformer::fuzz
