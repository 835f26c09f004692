#include "cli/terminal/progress_line.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>

#include "cli/terminal/terminal.h"
#include "core/text/joined.h"
#include "core/text/numbers.h"

namespace tapeformer {
namespace {

constexpr const char* kEraseToEnd = "\x1b[K";

// The stream on which an unfinished progress line is visible; null if there is none.
std::ostream* visible_on = nullptr;

std::string join(const std::vector<ProgressPart>& parts) { return joined(parts, "  ", &ProgressPart::text); }

}  // namespace

std::string fit_line(std::vector<ProgressPart> parts, int columns) {
  std::string line = join(parts);
  if (columns == 0) return line;
  while (line.size() > static_cast<std::size_t>(columns) && parts.size() > 1) {
    parts.erase(std::ranges::max_element(parts, {}, &ProgressPart::rank));
    line = join(parts);
  }
  return line.substr(0, static_cast<std::size_t>(columns));
}

ProgressLine::ProgressLine(std::ostream& out, std::function<int()> columns, std::function<double()> now)
    : out_(out), columns_(std::move(columns)), now_(std::move(now)) {}

ProgressLine ProgressLine::standard_error() {
  return {std::cerr, [] { return terminal_columns(STDERR_FILENO); }};
}

bool ProgressLine::is_due() const { return !started_ || now_() >= next_; }

void ProgressLine::show(const std::vector<ProgressPart>& parts) {
  const int columns = columns_();
  started_ = true;
  next_ = now_() + (columns > 0 ? kTerminalInterval : kLogInterval);
  if (columns == 0) {
    out_ << fit_line(parts, 0) << "\n" << std::flush;
    return;
  }
  // The last column stays free: some terminals begin a new line after a character in it.
  out_ << "\r" << fit_line(parts, std::max(columns - 1, 1)) << kEraseToEnd << std::flush;
  visible_on = &out_;
}

void ProgressLine::end() {
  if (visible_on != &out_) return;
  out_ << "\n" << std::flush;
  visible_on = nullptr;
}

void ProgressLine::clear() {
  if (visible_on == &out_) clear_visible();
}

void ProgressLine::clear_visible() {
  if (visible_on) *visible_on << "\r" << kEraseToEnd << std::flush;
  visible_on = nullptr;
}

ProgressCallback show_progress(std::string what) {
  if (is_quiet()) return {};
  const bool terminal = terminal_columns(STDERR_FILENO) > 0;
  const double begin = steady_seconds();
  auto line = std::make_shared<ProgressLine>(ProgressLine::standard_error());
  return [=, what = std::move(what)](double share) {
    if (share >= 1) return line->clear();
    const double elapsed = steady_seconds() - begin;
    if (!line->is_due() || (!terminal && elapsed < ProgressLine::kLogInterval)) return;
    const std::string left = share > 0 ? format_duration(elapsed * (1 - share) / share) : "?";
    line->show({{what + " " + std::to_string(static_cast<int>(100 * share)) + "%", 1}, {left + " left", 2}});
  };
}

}  // namespace tapeformer
