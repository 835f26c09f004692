// 64-bit xxHash (XXH3) of bytes: recognises texts, tokenizers and damaged files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace tapeformer {

std::uint64_t hash_bytes(std::string_view bytes);

// The same over bytes that come in pieces: hash_bytes(a + b) equals a then b put in here.
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
