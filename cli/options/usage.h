// Messages for wrong usage that a reader can act on, where CLI11's own are not.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace tapeformer::cli {

// Checks that an option's value is a whole number of at least `least`.
CLI::Validator at_least(std::int64_t least);
// The same, up to `most`.
CLI::Validator between(std::int64_t least, std::int64_t most);

// Makes every option of a number, of all commands, refuse what is not finite or too large for its type.
void refuse_numbers_out_of_range(CLI::App& app);

// An error's text, without the middle of one that is too long to be read.
std::string shortened(const std::string& text);

// One line for an error of app.parse(). An unknown command or option comes with the nearest known one.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tapeformer::cli
