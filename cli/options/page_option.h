// The option that names the page (HTML) which a command writes.
#pragma once

#include <string>
#include <string_view>

#include "cli/options/command.h"

namespace tapeformer::cli {

inline constexpr std::string_view kPageEnding = ".html";

// The file must have the ending of a page. Otherwise the option throws UsageError before the command does any work: a
// browser would show such a page as text, and the name of another file is a mistake.
Option page_option(std::string name, std::string& path, std::string help, OptionRules rules = {});

}  // namespace tapeformer::cli
