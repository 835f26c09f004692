// Splits text into the pretokens within which tokens lie, as the regular expressions of split_pattern.h do: a pretoken
// is what the expression matches next. Pretokens put one after another are the text.
//
// \p{L}, \p{N} and \s are Unicode's letters, numbers and White_Space (unicode_class.h). A byte that is not valid UTF-8
// counts as one character of the class [^\s\p{L}\p{N}]. cl100k's contractions without regard to case, (?i:'s), take
// U+017F (long s) for an s as Unicode's case folding does, which is how tiktoken and Hugging Face's tokenizers read
// them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/split_pattern.h"

namespace tapeformer {

// Where the pretoken ends that begins at byte `begin` < text.size().
std::size_t pretoken_end(std::string_view text, std::size_t begin, SplitPattern pattern);

// Calls f(pretoken) for every pretoken, in order.
template <class F>
void for_each_pretoken(std::string_view text, SplitPattern pattern, const F& f) {
  for (std::size_t begin = 0, end; begin < text.size(); begin = end) {
    end = pretoken_end(text, begin, pattern);
    f(text.substr(begin, end - begin));
  }
}

// The first place at or after `from` where `text` may be cut without a change to its pretokens, whatever the pattern;
// text.size() when there is none. It is between a letter or a number and white space of ASCII: no pretoken of either
// pattern goes on there, the one before does not look at what follows, and the next begins as a text does. (A newline
// after other characters is part of their pretoken in cl100k.)
std::size_t safe_cut(std::string_view text, std::size_t from);

// The texts in parts of about `part_bytes`, cut at safe cuts; empty texts have none.
std::vector<std::string_view> cut_texts(std::span<const std::string_view> texts, std::size_t part_bytes);

}  // namespace tapeformer
