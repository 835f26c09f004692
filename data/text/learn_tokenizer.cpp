#include "data/text/learn_tokenizer.h"

#include <string_view>
#include <utility>

namespace tapeformer {

std::vector<TextChunk> sample_text(TextReader& reader, std::int64_t bytes) {
  std::vector<TextChunk> chunks;
  std::int64_t stride = 1, held = 0, index = 0;
  for (TextChunk chunk; reader.next(chunk); ++index) {
    if (index % stride != 0) continue;
    held += static_cast<std::int64_t>(chunk.text.size());
    chunks.push_back(std::move(chunk));
    while (held > bytes && chunks.size() > 1) {
      std::vector<TextChunk> every_second;
      held = 0;
      for (std::size_t i = 0; i < chunks.size(); i += 2) {
        held += static_cast<std::int64_t>(chunks[i].text.size());
        every_second.push_back(std::move(chunks[i]));
      }
      chunks = std::move(every_second);
      stride *= 2;
    }
  }
  return chunks;
}

std::unique_ptr<Tokenizer> learn_tokenizer(const TokenizerOptions& options, std::span<TextReader* const> texts,
                                           std::int64_t sample_bytes, const ProgressMaker& progress) {
  const auto trainer = make_tokenizer_trainer(options);
  const bool is_char = options.kind == "char";
  const ProgressCallback reading = start_progress(progress, is_char ? "finding characters" : "counting words");
  const auto add = [&](const TextChunk& chunk) {
    std::vector<std::string_view> views;
    for (const TextSegment& segment : chunk.segments()) views.push_back(segment.text);
    trainer->add(views);
    if (reading) reading(chunk.share);
  };
  for (TextReader* text : texts.first(is_char ? texts.size() : 1)) {
    try {
      if (is_char || sample_bytes == 0) {
        for_each_chunk(*text, add);
      } else {
        for (const TextChunk& chunk : sample_text(*text, sample_bytes)) add(chunk);
      }
    } catch (const InvalidUtf8&) {
      text->source().require_utf8();
      throw;
    }
  }
  if (reading) reading(1);
  ProgressCallback learning;
  return trainer->finish([&](double share) {
    if (!learning && progress) learning = progress("learning merges");
    if (learning) learning(share);
  });
}

}  // namespace tapeformer
