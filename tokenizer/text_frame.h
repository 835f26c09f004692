// What a tokenizer's text says of the tokens around a text.
#pragma once

#include <string>
#include <string_view>

namespace tapeformer {

// Returns a text of Tokenizer::to_json() without what it says of Tokenizer::frame().
std::string without_frame(std::string_view json);

}  // namespace tapeformer
