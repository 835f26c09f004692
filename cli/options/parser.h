// Reads the words of a command line by the descriptions of the commands.
#pragma once

#include "cli/options/command.h"

namespace tapeformer::cli {

// Sets what the given options say, and returns the command that the words name, to be run. Where they ask for a help or
// for the version, prints that on standard output and returns null. Every command has the options --help and --quiet
// (be_quiet()). A number that is not finite, or too large for its type, is refused. Throws UsageError with one line.
//
// `program` has the program's name and its commands.
const Command* parse_command_line(const Command& program, const std::string& version, int argc,
                                  const char* const* argv);

}  // namespace tapeformer::cli
