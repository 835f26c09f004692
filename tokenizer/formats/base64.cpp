#include "tokenizer/formats/base64.h"

#include <cstddef>
#include <cstdint>

namespace tapeformer {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string write_base64(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) bits = bits << 8 | (i < group.size() ? static_cast<std::uint8_t>(group[i]) : 0);
    for (std::size_t i = 0; i < 4; ++i) text += i <= group.size() ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

std::optional<std::string> read_base64(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    std::uint32_t bits = 0;
    for (const char c : text.substr(at, 4)) bits = bits << 6 | static_cast<std::uint32_t>(kDigits.find(c) & 63);
    for (const int shift : {16, 8, 0}) bytes += static_cast<char>(bits >> shift);
  }
  for (std::string_view rest = text; rest.ends_with('=') && !bytes.empty(); rest.remove_suffix(1)) bytes.pop_back();
  if (write_base64(bytes) != text) return std::nullopt;  // it has other characters, or extra bits at the end
  return bytes;
}

}  // namespace tapeformer
