// What standard output and standard error are, and how the commands write to them.
#pragma once

#include <string>
#include <string_view>

namespace tapeformer {

// The width in columns of the terminal behind a file descriptor; 0 when it is not a terminal.
int terminal_columns(int fd);

enum class ColorWhen { automatic, always, never };

// Whether text for the file descriptor may have colours. Automatic: on a terminal that is not dumb (TERM), unless the
// environment has NO_COLOR (no-color.org).
bool wants_color(int fd, ColorWhen when = ColorWhen::automatic);

// Opens the log on standard error, coloured where wants_color() says so. No text of a message can drive the terminal.
void set_up_log();

// --quiet: from now on standard error has warnings and errors only.
void be_quiet();
bool is_quiet();

// Text for standard output: printable_text() where that is a terminal, else as it is.
std::string output_text(std::string text);

// A stream of text to standard output. On a terminal it is printable_text(), appears at once, and a character that
// comes in several parts is shown when it is whole; elsewhere it is written byte for byte.
class TextOutput {
 public:
  TextOutput();
  explicit TextOutput(bool terminal) : terminal_(terminal) {}

  void write(std::string_view bytes);
  // Writes what is left of a character that never became whole.
  void finish();

 private:
  bool terminal_;
  std::string pending_;  // the beginning of a character
};

}  // namespace tapeformer
