// 64-bit xxHash (XXH3) of bytes, which identifies texts and tokenizers, and detects damaged files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/files.h"

namespace tapeformer {

std::uint64_t hash_bytes(std::string_view bytes);

// Returns the hash of a file's bytes by to_hex(). Reads it in pieces, because it may be larger than the free memory.
std::string hash_file(const InputFile& file);

// A number as 16 hexadecimal digits in lower case, for names and for JSON, where other readers keep only 53 bits.
std::string to_hex(std::uint64_t value);

// The hash of bytes that come in pieces: after update(a) and update(b), it is hash_bytes(a + b).
class Hasher {
 public:
  Hasher();
  ~Hasher();
  void update(std::string_view bytes);
  void update(std::uint64_t value);
  std::uint64_t digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tapeformer
