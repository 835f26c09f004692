// GPT-2's way of writing arbitrary bytes as text: each byte is written as one printable Unicode character. Bytes that
// are printable in Latin-1 ('!'..'~', U+00A1..U+00AC, U+00AE..U+00FF) are written as themselves; the other 68, in
// ascending order, as U+0100, U+0101, … (a space is 'Ġ', a newline 'Ċ').
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tapeformer {

// The bytes in the order of their characters, which is the order of GPT-2's token ids 0..255.
const std::array<std::uint8_t, 256>& byte_order();

// The bytes written as characters.
std::string write_bytes(std::string_view bytes);

// The inverse; nothing if some character does not stand for a byte.
std::optional<std::string> read_bytes(std::string_view written);

}  // namespace tapeformer
