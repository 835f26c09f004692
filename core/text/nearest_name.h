// Finds the nearest known name, for error messages: "did you mean …?"
#pragma once

#include <span>
#include <string_view>

namespace tapeformer {

// The known name with the smallest Levenshtein distance to `name` (letters to insert, delete or change); the first of
// several. `known` must not be empty.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

// Whether `name` may be a misspelling of `known`: at most about a third of its letters are wrong.
bool is_near(std::string_view name, std::string_view known);

}  // namespace tapeformer
