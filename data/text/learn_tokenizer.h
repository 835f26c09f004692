// Learns tokenizers from texts of any size, in bounded memory.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "data/text/text_reader.h"
#include "tokenizer/train_tokenizer.h"

namespace tapeformer {

// The size of the chunks that a TextReader gives for learning: a sample consists of such chunks.
inline constexpr std::size_t kLearnPartBytes = std::size_t{1} << 20;

// Returns how many bytes a sample of so many MiB may have. More than the largest number mean all of any text.
constexpr std::int64_t sample_bytes_of(std::int64_t mib) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return mib > kMost >> 20 ? kMost : mib << 20;
}

// A sample of at most `bytes` of a text (but at least one chunk), in chunks that are spread evenly over it: the whole
// text if it is short enough, else every 2nd, 4th, 8th, … chunk.
std::vector<TextChunk> sample_text(TextReader& reader, std::int64_t bytes);

// word and bpe learn from a sample of the first text, which is held in memory, or from the whole first text if
// sample_bytes is 0. char learns from all texts. A text that is not sampled is read chunk by chunk. Throws Error as
// TokenizerTrainer and the readers do, and names the file that is not UTF-8.
std::unique_ptr<Tokenizer> learn_tokenizer(const TokenizerOptions& options, std::span<TextReader* const> texts,
                                           std::int64_t sample_bytes, const ProgressMaker& progress = {});

}  // namespace tapeformer
