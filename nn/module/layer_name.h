// Which layer of a model a parameter belongs to, by its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tapeformer {

// The name up to its first part that is a number: "blocks.3" of "blocks.3.attention.qkv.weight". Empty where no part is
// one.
std::string_view layer_name(std::string_view parameter);

// That number: 3.
std::optional<std::int64_t> layer_number(std::string_view parameter);

}  // namespace tapeformer
