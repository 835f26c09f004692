// Bytes as text (RFC 4648, section 4, with padding).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tapeformer {

std::string write_base64(std::string_view bytes);

// Nothing for what write_base64() does not give.
std::optional<std::string> read_base64(std::string_view text);

}  // namespace tapeformer
