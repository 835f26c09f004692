// Detects what standard output and standard error are, and writes to them accordingly.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/keys.h"

namespace tapeformer {

// The width in columns of the terminal behind a file descriptor; 0 if it is not a terminal, or a dumb one (TERM), which
// cannot erase a line.
int terminal_columns(int fd);

enum class ColorWhen { automatic, always, never };
template <>
struct Words<ColorWhen> {
  static constexpr std::pair<ColorWhen, std::string_view> list[] = {
      {ColorWhen::automatic, "auto"}, {ColorWhen::always, "always"}, {ColorWhen::never, "never"}};
};

// Whether text for the file descriptor may have colours. Automatic means: on a terminal that is not dumb (TERM), unless
// the environment has NO_COLOR (no-color.org).
bool wants_color(int fd, ColorWhen when = ColorWhen::automatic);

// Opens the log on standard error, coloured if wants_color() says so. Control characters in messages are made harmless.
void set_up_log();

// Implements --quiet: from now on standard error shows only warnings and errors.
void be_quiet();
// From now on the log shows nothing.
void be_silent();
bool is_quiet();

// Text for standard output: printable_text() on a terminal, unchanged elsewhere.
std::string output_text(std::string text);
// The same of a text that a model has written where a line is expected: line ends become spaces.
std::string output_line(std::string text);

// A stream of text to standard output. On a terminal it is printable_text() and appears at once, but a character that
// comes in several parts is shown when it is complete; elsewhere it is written byte for byte.
class TextOutput {
 public:
  TextOutput();
  explicit TextOutput(bool terminal) : terminal_(terminal) {}

  void write(std::string_view bytes);
  // Writes the bytes of a last character that was never completed.
  void finish();

 private:
  bool terminal_;
  std::string pending_;  // the first bytes of a character that is not complete yet
};

}  // namespace tapeformer
