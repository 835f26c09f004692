// Finds the layer of a model to which a parameter belongs, from the parameter's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tapeformer {

// Returns the name up to its first part that is a number: "blocks.3" for "blocks.3.attention.qkv.weight". Returns "" if
// no part is a number.
std::string_view layer_name(std::string_view parameter);

// Returns the number at the end of layer_name(): 3 for "blocks.3.attention.qkv.weight"; nullopt if no part is a number.
std::optional<std::int64_t> layer_number(std::string_view parameter);

}  // namespace tapeformer
