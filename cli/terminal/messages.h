// Messages on standard error, as lines of the log that set_up_log() opens: "info: resumed at step 40". Only
// log_line() uses spdlog, because its headers take longer to compile than most commands.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

namespace tapeformer {

enum class MessageKind { info, warning, error };

void log_line(MessageKind kind, const std::string& text);

// log_info("{} threads", count): formats with fmt.
template <class... Parts>
void log_info(fmt::format_string<Parts...> format, Parts&&... parts) {
  log_line(MessageKind::info, fmt::format(format, std::forward<Parts>(parts)...));
}
template <class... Parts>
void log_warning(fmt::format_string<Parts...> format, Parts&&... parts) {
  log_line(MessageKind::warning, fmt::format(format, std::forward<Parts>(parts)...));
}
template <class... Parts>
void log_error(fmt::format_string<Parts...> format, Parts&&... parts) {
  log_line(MessageKind::error, fmt::format(format, std::forward<Parts>(parts)...));
}

}  // namespace tapeformer
