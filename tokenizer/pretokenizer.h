// Splits text into pretokens. A token never spans two pretokens. The pretokens are the matches of a regular expression
// of split_pattern.h, one after another; together they are the whole text.
//
// \p{L}, \p{N} and \s are Unicode's letters, numbers and White_Space (unicode_class.h). A byte that is not valid UTF-8
// counts as one character of the class [^\s\p{L}\p{N}]. The contractions of cl100k and qwen2 ignore case, (?i:'s), so
// U+017F (long s) counts as an s, as in Unicode's case folding; tiktoken and Hugging Face's tokenizers do the same.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/split_pattern.h"

namespace tapeformer {

// The end of the pretoken that begins at byte `begin` < text.size().
std::size_t pretoken_end(std::string_view text, std::size_t begin, SplitPattern pattern);

// Calls f(pretoken) for every pretoken, in order.
template <class F>
void for_each_pretoken(std::string_view text, SplitPattern pattern, const F& f) {
  for (std::size_t begin = 0, end; begin < text.size(); begin = end) {
    end = pretoken_end(text, begin, pattern);
    f(text.substr(begin, end - begin));
  }
}

// Whether a letter or a number ends at byte `at`, from 1 to text.size().
bool word_ends(std::string_view text, std::size_t at);

// A safe cut: the first place at or after `from` where `text` can be cut without changing its pretokens, for any
// pattern; text.size() if there is none. It is between a letter or a number and ASCII white space. There every pretoken
// ends, its match does not depend on what follows, and the next one begins as at the beginning of a text. (After other
// characters a newline is part of their pretoken in cl100k.)
std::size_t safe_cut(std::string_view text, std::size_t from);

// The texts in parts of about `part_bytes`, cut at safe cuts. An empty text has no parts.
std::vector<std::string_view> cut_texts(std::span<const std::string_view> texts, std::size_t part_bytes);

}  // namespace tapeformer
