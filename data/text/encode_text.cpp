#include "data/text/encode_text.h"

#include <algorithm>

#include "core/error.h"
#include "core/parallel.h"
#include "data/text/text_files.h"

namespace tapeformer {

std::vector<std::vector<std::int32_t>> encode_chunk(const TextChunk& chunk, const Tokenizer& tokenizer) {
  const std::vector<TextSegment> segments = chunk.segments();
  const std::optional<std::int32_t> end_of_text = tokenizer.special(kEndOfText);
  const auto count = static_cast<std::int64_t>(segments.size());
  const std::int64_t grain = 1 + count / 256;
  std::vector<std::vector<std::int32_t>> groups(chunk_count(count, grain));
  parallel_chunks(count, grain, [&](std::int64_t group, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const TextSegment& segment = segments[i];
      std::vector<std::int32_t> ids =
          segment.continues ? tokenizer.encode_continuation(segment.text) : tokenizer.encode(segment.text);
      if (segment.ends_document && end_of_text) ids.push_back(*end_of_text);
      if (groups[group].empty()) {
        groups[group] = std::move(ids);
      } else {
        groups[group].insert(groups[group].end(), ids.begin(), ids.end());
      }
    }
  });
  return groups;
}

void for_each_encoded(TextReader& reader, const Tokenizer& tokenizer,
                      const std::function<void(std::span<const std::int32_t>)>& f, const ProgressCallback& progress) {
  const std::int64_t begin = reader.position();
  std::int64_t bytes = 0;
  for_each_chunk(reader, [&](const TextChunk& chunk) {
    try {
      for (const std::vector<std::int32_t>& ids : encode_chunk(chunk, tokenizer)) f(ids);
    } catch (const Error& error) {
      if (dynamic_cast<const InvalidUtf8*>(&error)) reader.source().require_utf8();
      const std::string where = bytes == 0 ? "" : str_cat("the text from byte ", begin + bytes, " on: ");
      fail(reader.source().name(), ": ", where, error.what());
    }
    bytes += static_cast<std::int64_t>(chunk.text.size());
    if (progress) progress(chunk.share);
  });
  if (progress) progress(1);
}

std::int64_t count_unknown(std::span<const std::int32_t> ids, const Tokenizer& tokenizer) {
  const std::optional<std::int32_t> unknown = tokenizer.unknown_id();
  return unknown ? std::count(ids.begin(), ids.end(), *unknown) : 0;
}

std::int64_t count_unknown(const TokenView& ids, const Tokenizer& tokenizer) {
  if (!tokenizer.unknown_id()) return 0;
  std::int64_t count = 0;
  for_each_piece(ids, [&](std::span<const std::int32_t> piece) { count += count_unknown(piece, tokenizer); });
  return count;
}

std::optional<std::string> unknown_note(std::int64_t unknown, std::int64_t tokens, const Tokenizer& tokenizer,
                                        std::string_view what, double share) {
  if (static_cast<double>(unknown) <= share * static_cast<double>(tokens)) return std::nullopt;
  return str_cat(unknown, " of ", tokens, " tokens of ", what,
                 " are words or characters that the vocabulary does not have: the model reads ",
                 tokenizer.token_bytes(*tokenizer.unknown_id()));
}

EncodedText encode_inputs(std::span<const std::string> inputs, const TextOptions& options, const Tokenizer& tokenizer,
                          const ProgressCallback& progress) {
  const FileText source(expand_inputs(inputs), options);
  TextReader reader(source);
  EncodedText encoded;
  for_each_encoded(
      reader, tokenizer,
      [&](std::span<const std::int32_t> ids) { encoded.ids.insert(encoded.ids.end(), ids.begin(), ids.end()); },
      progress);
  encoded.bytes = reader.position();
  encoded.unknown = count_unknown(encoded.ids, tokenizer);
  encoded.notes = reader.notes();
  return encoded;
}

}  // namespace tapeformer
