#include "tokenizer/bpe/byte_level.h"

#include "core/text/utf8.h"

namespace tapeformer {
namespace {

constexpr int kCharacters = 256 + 68;

struct Alphabet {
  std::array<std::uint8_t, 256> order{};
  std::array<std::int32_t, 256> character{};     // by byte
  std::array<std::int32_t, kCharacters> byte{};  // by character; -1 for none

  constexpr Alphabet() {
    byte.fill(-1);
    int next = 256, place = 0;
    for (int b = 0; b < 256; ++b) {
      const bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      character[b] = printable ? b : next++;
      byte[character[b]] = b;
    }
    for (const std::int32_t b : byte) {
      if (b >= 0) order[place++] = static_cast<std::uint8_t>(b);
    }
  }
};

constexpr Alphabet kAlphabet;

}  // namespace

const std::array<std::uint8_t, 256>& byte_order() { return kAlphabet.order; }

std::string write_bytes(std::string_view bytes) {
  std::string written;
  for (const char c : bytes) append_utf8(written, kAlphabet.character[static_cast<std::uint8_t>(c)]);
  return written;
}

std::optional<std::string> read_bytes(std::string_view written) {
  std::string bytes;
  for (std::size_t at = 0; at < written.size();) {
    const Utf8Char c = read_utf8(written, at);
    if (c.code_point < 0 || c.code_point >= kCharacters || kAlphabet.byte[c.code_point] < 0) return std::nullopt;
    bytes += static_cast<char>(kAlphabet.byte[c.code_point]);
    at += c.length;
  }
  return bytes;
}

}  // namespace tapeformer
