// Messages about wrong usage that say what to do, unlike some of CLI11's own.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace tapeformer::cli {

// The error's text, with the middle left out if it is too long.
std::string shortened(const std::string& text);

// Returns the message, in one line, for an error of app.parse(). For an unknown command or option it suggests the
// nearest known one.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tapeformer::cli
