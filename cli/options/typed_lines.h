// The lines that a user types in a conversation.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <utility>

#include "cli/terminal/messages.h"
#include "cli/terminal/results.h"
#include "core/text/utf8.h"

namespace tapeformer::cli {

// Lines of standard input, which a user types or another program sends.
class TypedLines {
 public:
  // A user who types gets `advice` first.
  explicit TypedLines(const char* advice) : typed_(::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0) {
    if (typed_) log_info("{}", advice);
  }
  bool typed() const { return typed_; }
  // The number of the line that was read last, from 1.
  std::int64_t number() const { return number_; }
  // Reads the next line. Returns false at the end of the input.
  bool next(std::string& line) {
    if (typed_) print_text("> "), flush_results();
    if (std::getline(std::cin, line)) {
      if (std::exchange(at_begin_, false)) line.erase(0, line.size() - without_byte_order_mark(line).size());
      if (line.ends_with('\r')) line.pop_back();
      ++number_;
      return true;
    }
    if (typed_) print_line("");
    return false;
  }

 private:
  bool typed_, at_begin_ = true;
  std::int64_t number_ = 0;
};

}  // namespace tapeformer::cli
