// Removes from a tokenizer.json the special tokens that other programs put around a text.
#pragma once

#include <string>
#include <string_view>

namespace tapeformer {

// Returns a text of Tokenizer::to_json() without the part that describes Tokenizer::frame().
std::string without_frame(std::string_view json);

}  // namespace tapeformer
