// The nearest known name, for error messages: "did you mean …?"
#pragma once

#include <span>
#include <string_view>

namespace tapeformer {

// The known name with the fewest letters to insert, delete or change (Levenshtein distance) from `name`; the first one
// if there are several. `known` must not be empty.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

// Whether `name` may be a misspelling of `known`: at most about a third of its letters are wrong.
bool is_near(std::string_view name, std::string_view known);

}  // namespace tapeformer
