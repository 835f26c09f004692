// Tokenizers learned from texts of any size, in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "data/text_reader.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

// Of a reader whose text is sampled.
inline constexpr std::size_t kSamplePartBytes = std::size_t{1} << 20;

// Parts of a text, spread evenly over it, of `bytes` at most (or one part, where that is more): all of a text that is
// no longer, else every 2nd, 4th, 8th, … part. 0: all of any text.
std::vector<TextPart> sample_text(TextReader& reader, std::int64_t bytes);

// Tells each phase's share of its work to what make(name of the phase) gives, if that is callable.
TrainProgress by_phase(std::function<std::function<void(double)>(std::string)> make);

// Words and byte pairs are learned from a sample of the first text, which is held in memory; characters from all texts,
// which are only read. Throws as train_tokenizer() and the readers do.
std::unique_ptr<Tokenizer> learn_tokenizer(const TokenizerOptions& options, std::span<TextReader* const> texts,
                                           std::int64_t sample_bytes, const TrainProgress& progress = {});

}  // namespace tapeformer
