// Parses a command line according to the descriptions of the commands.
#pragma once

#include "cli/options/command.h"

namespace tapeformer::cli {

// Sets the targets of the options that are given, and returns the command that is named, which the caller runs. For
// --help and --version, prints the text on standard output and returns null. Every command also has the options --help
// and --quiet (be_quiet()). Throws UsageError with one line for wrong usage, also for a number that is not finite or is
// too large for its type. `program` has the program's name and its commands.
const Command* parse_command_line(Command& program, const std::string& version, int argc, const char* const* argv);

}  // namespace tapeformer::cli
