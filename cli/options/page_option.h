// The option that names the page (HTML) which a command writes.
#pragma once

#include <string>
#include <string_view>

#include "cli/options/command.h"

namespace tapeformer::cli {

inline constexpr std::string_view kPageEnding = ".html";

// Throws UsageError, which begins with the option, for a file without the ending of a page: a browser would show it as
// text, and the name of another file is a mistake.
void require_page_name(std::string_view option, std::string_view file);

// The option calls require_page_name(), before the command does any work.
Option page_option(std::string name, std::string& path, std::string help, OptionRules rules = {});

}  // namespace tapeformer::cli
