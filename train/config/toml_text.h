// Reads TOML.
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tapeformer {

// Throws UsageError with `origin` and the line for text that is not TOML.
toml::table parse_toml(std::string_view text, const std::string& origin);

// Returns the file as JSON, the keys of each table in the order of their names. Throws UsageError as parse_toml() does,
// and Error if the file cannot be read.
nlohmann::ordered_json read_toml(const std::filesystem::path& path);

}  // namespace tapeformer
