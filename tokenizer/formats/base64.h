// Bytes as text (RFC 4648, section 4, with padding).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tapeformer {

std::string write_base64(std::string_view bytes);

// The inverse of write_base64(); nothing for a text that it would not write.
std::optional<std::string> read_base64(std::string_view text);

}  // namespace tapeformer
