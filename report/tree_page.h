// A page that draws the trees which a model has written, and where it looked in the sentence for each bracket.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace tapeformer {

// A part of a flat tree, such as "(NP" or a word.
struct TreePart {
  std::string text;
  std::vector<double> weights;  // one for each word of the sentence, and one for its end; their sum is 1
};

struct TreeText {
  std::vector<std::string> words;  // of the sentence
  std::vector<TreePart> parts;
  std::string broken;  // why the parts are not a tree; empty: they are
};

// Returns a tree that a model wrote, with the attention of each part: `weights` is what align() returns for the ids of
// the sentence and of the tree. A part's weight is the mean over its tokens, a word's weight the sum over its tokens.
TreeText tree_text(const Tokenizer& source_tokenizer, std::span<const std::int32_t> source,
                   const Tokenizer& target_tokenizer, std::span<const std::int32_t> target,
                   const std::vector<std::vector<double>>& weights);

// Throws UsageError for more than a million weights.
std::string tree_page(const std::string& title, const std::vector<TreeText>& trees);

}  // namespace tapeformer
