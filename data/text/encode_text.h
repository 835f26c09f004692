// Encodes texts that are read chunk by chunk.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/progress.h"
#include "data/text/text_notes.h"
#include "data/text/text_reader.h"
#include "data/text/token_file.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

// The ids of a chunk: each segment is encoded by itself, and kEndOfText follows each document if the tokenizer has it.
// The vectors contain the ids in order. Many segments are divided among the threads; the tokenizer itself divides a
// long one.
std::vector<std::vector<std::int32_t>> encode_chunk(const TextChunk& chunk, const Tokenizer& tokenizer);

// Calls f(ids) with the ids of the reader's whole text, in order. While one chunk is encoded, the next one is read.
// Throws Error as the reader does, and as the tokenizer does with the name of the text, or of the file that is not
// UTF-8.
void for_each_encoded(TextReader& reader, const Tokenizer& tokenizer,
                      const std::function<void(std::span<const std::int32_t>)>& f,
                      const ProgressCallback& progress = {});

// The number of ids that are the tokenizer's unknown token; 0 for a tokenizer without one.
std::int64_t count_unknown(std::span<const std::int32_t> ids, const Tokenizer& tokenizer);
std::int64_t count_unknown(const TokenView& ids, const Tokenizer& tokenizer);

// Above this share of unknown tokens in its data a training tells of them: they are more than the rare words of a text.
inline constexpr double kMostUnknown = 0.1;
// Returns a sentence about the unknown tokens of `what`, if they are more than this share of its tokens.
std::optional<std::string> unknown_note(std::int64_t unknown, std::int64_t tokens, const Tokenizer& tokenizer,
                                        std::string_view what, double share = 0);

// Above this share of unknown tokens, bits per byte are meaningless: <unk> would count as if it predicted the bytes
// that it replaces.
inline constexpr double kMaxUnknownShare = 0.01;

struct EncodedText {
  std::vector<std::int32_t> ids;
  std::int64_t bytes = 0;    // bytes of the text; the ends of documents count as none
  std::int64_t unknown = 0;  // the number of ids that are the tokenizer's unknown token
  TextNotes notes;

  double unknown_share() const {
    return ids.empty() ? 0 : static_cast<double>(unknown) / static_cast<double>(ids.size());
  }
};

// Encodes files as training reads them: `inputs` are files, folders, globs or "-" (expand_inputs()), which are
// decompressed and cut into documents (FileText). Only the ids are held in memory. Throws Error as expand_inputs() and
// FileText do.
EncodedText encode_inputs(std::span<const std::string> inputs, const TextOptions& options, const Tokenizer& tokenizer,
                          const ProgressCallback& progress = {});

}  // namespace tapeformer
