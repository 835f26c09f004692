// Where a text begins for a causal model: what precedes its first token.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "nn/interfaces/causal_model.h"
#include "tokenizer/tokenizer.h"
#include "train/config/config.h"

namespace tapeformer {

// `is_imported`, below: whether the weights are those of a published model, which no training here has changed.

// Returns whether the model may have learned from a text with kEndOfText. A text without documents does not have it,
// even if the tokenizer does, so the model's predictions of it, and those after it, then mean nothing.
bool may_know_end_of_text(const ResolvedConfig& config, bool is_imported = false);

// Returns the tokens before a text as a causal model has learned them: what its tokenizer says (Tokenizer::frame()) for
// a published model, and for runs that began with its weights. None for a run that began with random values: whatever
// its tokenizer says, its training has read texts without them. None for models that are not causal, whose rows have
// tokens of their own, and for runs that tune vectors of sentences, which they read without such tokens.
std::vector<std::int32_t> text_prefix(const ResolvedConfig& config, const Tokenizer& tokenizer,
                                      bool is_imported = false);

// Returns the token from which a causal model predicts the first token of a text: the first one of text_prefix(), the
// <|endoftext|> of the previous document or, if the tokenizer has none or the model has learned from a text without
// documents, a line end. Throws Error if there is none of them.
std::int32_t text_start(const ResolvedConfig& config, const Tokenizer& tokenizer, bool is_imported = false);

// Returns the ids of a prompt after text_prefix() and the document token of a model that has one; only text_start() if
// an empty prompt gives no tokens. Throws Error for a prompt that the tokenizer cannot encode.
std::vector<std::int32_t> beginning_tokens(const ResolvedConfig& config, const Tokenizer& tokenizer,
                                           const CausalModel& model, std::string_view prompt, bool is_imported = false);

// Whether generated tokens are the first ones of a text: `shown` is what the reader sees of it before them, and `ids`
// are beginning_tokens(). The space that SentencePiece puts before a text is no part of it then.
bool begins_text(const Tokenizer& tokenizer, std::string_view shown, std::span<const std::int32_t> ids);

}  // namespace tapeformer
