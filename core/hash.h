// 64-bit xxHash (XXH3) of bytes, by which texts, tokenizers and damaged files are recognised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tapeformer {

std::uint64_t hash_bytes(std::string_view bytes);

// A number as 16 hexadecimal digits in lower case, for names and for JSON, whose readers elsewhere keep 53 bits only.
std::string to_hex(std::uint64_t value);

// The hash of bytes that come in pieces: update(a), then update(b), gives hash_bytes(a + b).
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
