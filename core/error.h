// Errors whose messages tell the user what to change: what failed, where, what was expected, what was found.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace tapeformer {

// The exception that the library throws. The command prints what() as one line and exits with 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Wrong usage or configuration: the command exits with 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

template <class T>
concept Writable = requires(std::ostream& out, const T& value) {
  out << value;
};

// Joins the parts, each formatted by operator<<.
template <Writable... Parts>
std::string str_cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// fail("matmul: a is ", a.sizes(), ", b is ", b.sizes()) throws Error with the joined parts as message.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Error(str_cat(parts...));
}

template <class... Parts>
[[noreturn]] void fail_usage(const Parts&... parts) {
  throw UsageError(str_cat(parts...));
}

// Throws Error with the joined parts unless the condition holds. The parts are joined only on failure.
template <class... Parts>
void check(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]]
    fail(parts...);
}

}  // namespace tapeformer
