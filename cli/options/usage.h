// Messages about wrong usage that tell the user what to do, where CLI11's own do not.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace tapeformer::cli {

// Checks that an option's value is a whole number of at least `least`.
CLI::Validator at_least(std::int64_t least);
// The same, up to `most`.
CLI::Validator between(std::int64_t least, std::int64_t most);

// Makes every numeric option of all commands refuse a value that is not finite or too large for its type.
void refuse_numbers_out_of_range(CLI::App& app);

// The error's text, with the middle left out if it is too long.
std::string shortened(const std::string& text);

// One line for an error of app.parse(). For an unknown command or option it suggests the nearest known one.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tapeformer::cli
