// Errors whose messages tell the user what to change: what failed, where, what was expected, what was found.
#pragma once

#include <initializer_list>
#include <ostream>
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

// One part of a message: a value of any type that operator<< writes. The value must live as long as the part.
class MessagePart {
 public:
  MessagePart(const char* text) : value_(text), write_(write_text) {}
  template <Writable T>
  MessagePart(const T& value) : value_(&value), write_(write_value<T>) {}

  void write(std::ostream& out) const { write_(out, value_); }

 private:
  static void write_text(std::ostream& out, const void* text);
  template <class T>
  static void write_value(std::ostream& out, const void* value) {
    out << *static_cast<const T*>(value);
  }

  const void* value_;
  void (*write_)(std::ostream&, const void*);
};

// These take the parts as a list, so that a call compiles to little more than that list: there are thousands of them.
std::string join_parts(std::initializer_list<MessagePart> parts);
[[noreturn]] void throw_error(std::initializer_list<MessagePart> parts);
[[noreturn]] void throw_usage_error(std::initializer_list<MessagePart> parts);

// Joins the parts, each formatted by operator<<.
template <Writable... Parts>
std::string str_cat(const Parts&... parts) {
  return join_parts({MessagePart(parts)...});
}

// fail("matmul: a is ", a.sizes(), ", b is ", b.sizes()) throws Error with the joined parts as message.
template <Writable... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw_error({MessagePart(parts)...});
}

template <Writable... Parts>
[[noreturn]] void fail_usage(const Parts&... parts) {
  throw_usage_error({MessagePart(parts)...});
}

// Throws Error with the joined parts unless the condition holds. The parts are joined only on failure.
template <Writable... Parts>
void check(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]]
    throw_error({MessagePart(parts)...});
}

}  // namespace tapeformer
