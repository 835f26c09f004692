#include "cli/terminal/terminal.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "cli/terminal/messages.h"
#include "cli/terminal/progress_line.h"
#include "core/text/utf8.h"
#include "core/text/visible_text.h"

namespace tapeformer {
namespace {

constexpr int kUnknownColumns = 80;

// Prints the message without control characters, as it may contain file names and texts of users.
class PrintableMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string text = printable_text({message.payload.data(), message.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<PrintableMessage>(); }
};

// Messages are written above the progress line.
using ColorSink = spdlog::sinks::stderr_color_sink_mt;
class LogSink : public ColorSink {
 public:
  explicit LogSink(spdlog::color_mode mode) : ColorSink(mode) {}
  void log(const spdlog::details::log_msg& message) override {
    ProgressLine::clear_visible();
    ColorSink::log(message);
  }
};

// Whether the terminal knows no escape sequences, as a shell in Emacs.
bool is_dumb() {
  const char* const term = std::getenv("TERM");
  return term != nullptr && std::string_view(term) == "dumb";
}

// The number of bytes at the end that may be the beginning of an unfinished character.
std::size_t unfinished_bytes(std::string_view text) {
  for (std::size_t count = 1; count <= std::min<std::size_t>(3, text.size()); ++count) {
    const auto byte = static_cast<unsigned char>(text[text.size() - count]);
    if (is_continuation_byte(text[text.size() - count])) continue;
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > count ? count : 0;
  }
  return 0;
}

}  // namespace

int terminal_columns(int fd) {
  if (::isatty(fd) == 0 || is_dumb()) return 0;
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUnknownColumns;
}

bool wants_color(int fd, ColorWhen when) {
  if (when != ColorWhen::automatic) return when == ColorWhen::always;
  const char* const no_color = std::getenv("NO_COLOR");
  return ::isatty(fd) != 0 && !is_dumb() && (no_color == nullptr || *no_color == '\0');
}

void set_up_log() {
  const auto sink =
      std::make_shared<LogSink>(wants_color(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never);
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<PrintableMessage>('*').set_pattern("%^%l:%$ %*");
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("tapeformer", sink));
  spdlog::set_formatter(std::move(formatter));
}

void log_line(MessageKind kind, const std::string& text) {
  const auto level = kind == MessageKind::info      ? spdlog::level::info
                     : kind == MessageKind::warning ? spdlog::level::warn
                                                    : spdlog::level::err;
  spdlog::default_logger_raw()->log(level, spdlog::string_view_t(text));
}

void be_silent() { spdlog::set_level(spdlog::level::off); }
void be_quiet() { spdlog::set_level(spdlog::level::warn); }
bool is_quiet() { return !spdlog::should_log(spdlog::level::info); }

std::string output_text(std::string text) { return ::isatty(STDOUT_FILENO) != 0 ? printable_text(text) : text; }

std::string output_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return output_text(std::move(text));
}

TextOutput::TextOutput() : TextOutput(::isatty(STDOUT_FILENO) != 0) {}

void TextOutput::write(std::string_view bytes) {
  if (!terminal_) {
    std::cout << bytes;
    return;
  }
  pending_ += bytes;
  const std::size_t whole = pending_.size() - unfinished_bytes(pending_);
  std::cout << printable_text(std::string_view(pending_).substr(0, whole)) << std::flush;
  pending_.erase(0, whole);
}

void TextOutput::finish() {
  std::cout << printable_text(pending_) << std::flush;
  pending_.clear();
}

}  // namespace tapeformer
