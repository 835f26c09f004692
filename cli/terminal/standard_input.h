// Reads standard input.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <streambuf>

namespace tapeformer {

// Reads the next bytes, as many as have come, and returns their number, or 0 at the end. Waits for them, also where
// another program has made standard input non-blocking, as one that shares the terminal may. Throws Error.
std::size_t read_standard_input(std::span<char> out);

// While an object lives, std::cin reads by read_standard_input(), and reading throws its Error.
class StandardInput : public std::streambuf {
 public:
  StandardInput();
  ~StandardInput() override;
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

 private:
  int_type underflow() override;

  std::array<char, 1 << 16> bytes_;
  std::streambuf* const before_;
};

}  // namespace tapeformer
