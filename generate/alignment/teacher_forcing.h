// The batch with which an encoder-decoder reads one source and its given translation (teacher forcing).
#pragma once

#include <cstdint>
#include <span>

#include "nn/interfaces/encoder_decoder.h"
#include "tokenizer/sentence_symbols.h"

namespace tapeformer {

struct TeacherForcedPair {
  SourceBatch source;  // the source's ids and its end token: ids (1, S)
  Tensor inputs;       // i32 (1, T): the begin token and the target's ids; the model predicts the next token at each
};

// Returns the batch for a source and its translation, whose ids have no begin and end tokens.
TeacherForcedPair teacher_forced_pair(std::span<const std::int32_t> source, std::span<const std::int32_t> target,
                                      const PairSymbols& symbols);

}  // namespace tapeformer
