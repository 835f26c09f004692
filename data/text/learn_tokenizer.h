// Tokenizers learned from texts of any size, in bounded memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/text/text_reader.h"
#include "tokenizer/train_tokenizer.h"

namespace tapeformer {

// Of a reader of a text to learn from: what is sampled, and what is held while it is read.
inline constexpr std::size_t kLearnPartBytes = std::size_t{1} << 20;

// Parts of a text, spread evenly over it, of `bytes` at most (or one part, where that is more): all of a text that is
// no longer, else every 2nd, 4th, 8th, … part.
std::vector<TextPart> sample_text(TextReader& reader, std::int64_t bytes);

// Words and byte pairs are learned from a sample of the first text, which is held in memory, or from all of it where
// sample_bytes is 0; characters from all texts. What is not sampled is read part by part. Throws as TokenizerTrainer
// and the readers do.
std::unique_ptr<Tokenizer> learn_tokenizer(const TokenizerOptions& options, std::span<TextReader* const> texts,
                                           std::int64_t sample_bytes, const ProgressMaker& progress = {});

}  // namespace tapeformer
