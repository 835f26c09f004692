// Random data for a dry run, instead of the configuration's own: random tokens in rows of the shapes that training
// reads, and no validation data. Sentences, and examples with labels, have kDummyLength tokens, or as many as the model
// reads. The tokenizers and labels are those of the run, if there is one, or the tokenizer is the one of
// tokenizer.file. Otherwise they are made up: the vocabulary size is tokenizer.vocab, or kDummyCharacters for a
// character tokenizer, and there are kDummyLabels labels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"
#include "train/config/config.h"
#include "train/run/run_folder.h"

namespace tapeformer {

inline constexpr std::int64_t kDummyLength = 24, kDummyCharacters = 100, kDummyLabels = 10;

// A tokenizer whose tokens are numbers.
std::unique_ptr<Tokenizer> dummy_tokenizer(const ResolvedConfig& config, std::vector<std::string> special_tokens);
// The tokenizer of a text: that of the run, or of the configuration's file, or a made-up one.
std::unique_ptr<Tokenizer> dummy_text_tokenizer(const ResolvedConfig& config, const RunFolder* run);

// kDummyLength words that the tokenizer can encode: numbers or, if it does not know their digits, a token of its own.
std::vector<std::string> dummy_words(const Tokenizer& tokenizer);

// `count` random tokens of the vocabulary.
std::vector<std::int32_t> random_ids(std::int64_t count, const Tokenizer& tokenizer);

}  // namespace tapeformer
