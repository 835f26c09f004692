#include "cli/terminal/standard_input.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <system_error>

#include "core/error.h"

namespace tapeformer {

std::size_t read_standard_input(std::span<char> out) {
  ssize_t count = -1;
  do {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    ::poll(&input, 1, -1);
    count = ::read(STDIN_FILENO, out.data(), out.size());
  } while (count < 0 && (errno == EAGAIN || errno == EINTR));
  check(count >= 0, "cannot read standard input: ", std::generic_category().message(errno));
  return static_cast<std::size_t>(count);
}

StandardInput::StandardInput() : before_(std::cin.rdbuf(this)) { std::cin.exceptions(std::ios::badbit); }

StandardInput::~StandardInput() {
  std::cin.exceptions(std::ios::goodbit);
  std::cin.rdbuf(before_);
}

StandardInput::int_type StandardInput::underflow() {
  const std::size_t count = read_standard_input(bytes_);
  setg(bytes_.data(), bytes_.data(), bytes_.data() + count);
  return count > 0 ? traits_type::to_int_type(bytes_[0]) : traits_type::eof();
}

}  // namespace tapeformer
