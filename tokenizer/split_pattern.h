// The regular expressions that split text into pretokens (pretokenizer.h).
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace tapeformer {

// gpt2    Radford et al. 2019, encoder.py
// cl100k  tiktoken's pattern for GPT-4, also used by Llama 3: a word may begin with any one character that is no
//         letter, digit or newline; numbers are split into groups of three digits; newlines belong to the symbols
//         before them
// qwen2   the pattern of Qwen2 and Qwen3: cl100k's, but each digit is a pretoken
// smollm  the pattern of SmolLM: gpt2's, but each digit is a pretoken, and so is all white space before a digit
enum class SplitPattern { gpt2, cl100k, qwen2, smollm };

struct SplitPatternInfo {
  SplitPattern pattern;
  std::string_view name, regex;
};

inline constexpr std::array<SplitPatternInfo, 4> kSplitPatterns = {{
    {SplitPattern::gpt2, "gpt2", R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {SplitPattern::cl100k, "cl100k",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {SplitPattern::qwen2, "qwen2",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {SplitPattern::smollm, "smollm",
     R"('s|'t|'re|'ve|'m|'ll|'d|\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+)"},
}};
inline constexpr std::string_view kSplitPatternNames = "gpt2, cl100k, qwen2 or smollm";

constexpr std::string_view regex_of(SplitPattern pattern) {
  return kSplitPatterns[static_cast<std::size_t>(pattern)].regex;
}

constexpr std::string_view name_of(SplitPattern pattern) {
  return kSplitPatterns[static_cast<std::size_t>(pattern)].name;
}

}  // namespace tapeformer
