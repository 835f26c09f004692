// The tokenizer of sentences that have a beginning and an end.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/progress.h"
#include "tokenizer/tokenizer.h"
#include "train/config/config.h"

namespace tapeformer {

// Learns a tokenizer from texts, with the special tokens for the padding, the beginning and the end of sentences.
std::shared_ptr<const Tokenizer> train_sentence_tokenizer(const Config::Tokenizer& config,
                                                          std::span<const std::string_view> texts,
                                                          const ProgressMaker& progress);

}  // namespace tapeformer
