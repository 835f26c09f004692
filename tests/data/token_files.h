// Texts that become files of tokens.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/text/token_cache.h"
#include "tests/data/texts.h"
#include "tests/temp_folder.h"
#include "tokenizer/train_tokenizer.h"

namespace tapeformer {

using Ids = std::vector<std::int32_t>;

inline std::unique_ptr<Tokenizer> train(const std::string& kind, std::int64_t vocab, const std::string& text,
                                        std::vector<std::string> special = {}) {
  const std::string_view view = text;
  return train_tokenizer({.kind = kind, .vocab = vocab, .special_tokens = std::move(special)}, std::span(&view, 1));
}

inline Ids ids_of(const TokenFile& file) {
  Ids out(file.size());
  file.copy(0, out);
  return out;
}

inline TextRange whole(const TextSource& source) {
  const TextSummary summary = summarize(source);
  return {summary, 0, summary.bytes};
}

inline TokenFile build(const std::filesystem::path& path, const TextSource& source, const Tokenizer& tokenizer,
                       std::size_t chunk_bytes = TextReader::kChunkBytes) {
  TextReader reader(source, chunk_bytes);
  build_token_file(path, reader, whole(source), tokenizer);
  return TokenFile::open(path);
}

}  // namespace tapeformer
