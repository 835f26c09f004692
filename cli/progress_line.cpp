#include "cli/progress_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

namespace tapeformer {

namespace {

constexpr const char* kEraseToEnd = "\x1b[K";
constexpr int kUnknownColumns = 80;

template <class... Values>
std::string print(const char* format, Values... values) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

// Three digits and a unit: 950, 41.2k, 1.20M.
std::string format_rate(double value) {
  if (value < 999.5) return print("%.0f", value);
  const char* unit = "k";
  value /= 1000;
  if (value >= 999.5) {
    value /= 1000;
    unit = "M";
  }
  return print("%.*f%s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit);
}

}  // namespace

std::string format_duration(double seconds) {
  if (!(seconds >= 0 && seconds < 1e9)) return "?";
  const auto s = static_cast<int>(std::lround(seconds));
  if (s < 60) return print("%ds", s);
  if (s < 3600) return print("%dm%02ds", s / 60, s % 60);
  const auto m = static_cast<int>(std::lround(seconds / 60));
  if (m < 24 * 60) return print("%dh%02dm", m / 60, m % 60);
  const auto h = static_cast<int>(std::lround(seconds / 3600));
  return print("%dd%02dh", h / 24, h % 24);
}

std::string format_perplexity(double value) {
  if (value < 1e6) return print("%.2f", value);
  std::string text = print("%.1e", value);
  return text.erase(std::min(text.find('+'), text.size()), 1);
}

std::string format_progress(const ProgressState& state) {
  const auto done = static_cast<double>(state.step - state.first_step);
  const double left = state.elapsed_s / done * static_cast<double>(state.steps - state.step);
  const std::int64_t percent = state.steps > 0 ? 100 * state.step / state.steps : 0;
  return "step " + std::to_string(state.step) + "/" + std::to_string(state.steps) + "  " + std::to_string(percent) +
         "%  " + (state.smoothed ? "smoothed loss " : "loss ") + (state.with_z ? "+ z " : "") +
         print("%.4f", state.loss) + "  lr " + print("%.3g", state.lr) + "  " + format_rate(state.tokens_per_s) +
         " tokens/s  " + format_duration(state.elapsed_s) + " elapsed  " + format_duration(left) + " left" +
         (state.waiting ? print("  %.0f%% waiting", 100 * *state.waiting) : "");
}

int terminal_columns(int fd) {
  if (::isatty(fd) == 0) return 0;
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUnknownColumns;
}

ProgressLine::ProgressLine(std::ostream& out, std::function<int()> columns, std::function<double()> now)
    : out_(out), columns_(std::move(columns)), now_(std::move(now)) {}

void ProgressLine::update(const ProgressState& state) {
  const double now = now_();
  if (started_ && now < next_) return;
  const int columns = columns_();
  started_ = true;
  next_ = now + (columns > 0 ? kTerminalInterval : kLogInterval);
  show(state, columns);
}

void ProgressLine::finish(const ProgressState& state) {
  show(state, columns_());
  if (visible_) out_ << "\n" << std::flush;
  visible_ = false;
}

void ProgressLine::clear() {
  if (visible_) out_ << "\r" << kEraseToEnd << std::flush;
  visible_ = false;
}

void ProgressLine::show(const ProgressState& state, int columns) {
  const std::string line = format_progress(state);
  if (columns == 0) {
    out_ << line << "\n" << std::flush;
    return;
  }
  // The last column stays free: some terminals begin a new line after a character there.
  out_ << "\r" << line.substr(0, static_cast<std::size_t>(columns) - 1) << kEraseToEnd << std::flush;
  visible_ = true;
}

double ProgressLine::steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace tapeformer
