#include "core/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace tapeformer {

struct Hasher::State {
  XXH3_state_t xxh;
};

std::uint64_t hash_bytes(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string hash_file(const InputFile& file) {
  Hasher hasher;
  std::string buffer(std::size_t{1} << 20, '\0');
  for (std::int64_t offset = 0; offset < file.size();) {
    const auto count = static_cast<std::size_t>(std::min<std::int64_t>(file.size() - offset, std::ssize(buffer)));
    file.read_at(offset, std::span(buffer).first(count));
    hasher.update(std::string_view(buffer).substr(0, count));
    offset += static_cast<std::int64_t>(count);
  }
  return to_hex(hasher.digest());
}

std::string to_hex(std::uint64_t value) {
  std::string digits(16, '0');
  for (int i = 15; i >= 0; --i, value >>= 4) digits[i] = "0123456789abcdef"[value & 15];
  return digits;
}

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh); }
Hasher::~Hasher() = default;

void Hasher::update(std::string_view bytes) { XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size()); }

void Hasher::update(std::uint64_t value) { XXH3_64bits_update(&state_->xxh, &value, sizeof value); }

std::uint64_t Hasher::digest() const { return XXH3_64bits_digest(&state_->xxh); }

}  // namespace tapeformer
