#include "data/text/learn_tokenizer.h"

#include <string_view>
#include <utility>

namespace tapeformer {

std::vector<TextPart> sample_text(TextReader& reader, std::int64_t bytes) {
  std::vector<TextPart> parts;
  std::int64_t stride = 1, held = 0, index = 0;
  for (TextPart part; reader.next(part); ++index) {
    if (index % stride != 0) continue;
    held += static_cast<std::int64_t>(part.text.size());
    parts.push_back(std::move(part));
    while (held > bytes && parts.size() > 1) {
      std::vector<TextPart> every_second;
      held = 0;
      for (std::size_t i = 0; i < parts.size(); i += 2) {
        held += static_cast<std::int64_t>(parts[i].text.size());
        every_second.push_back(std::move(parts[i]));
      }
      parts = std::move(every_second);
      stride *= 2;
    }
  }
  return parts;
}

std::unique_ptr<Tokenizer> learn_tokenizer(const TokenizerOptions& options, std::span<TextReader* const> texts,
                                           std::int64_t sample_bytes, const ProgressMaker& progress) {
  const auto trainer = make_tokenizer_trainer(options);
  const bool is_char = options.kind == "char";
  const ProgressCallback reading = start_progress(progress, is_char ? "finding characters" : "counting words");
  const auto add = [&](const TextPart& part) {
    std::vector<std::string_view> views;
    for (const TextSegment& segment : part.segments()) views.push_back(segment.text);
    trainer->add(views);
    if (reading) reading(part.share);
  };
  for (TextReader* text : texts.first(is_char ? texts.size() : 1)) {
    try {
      if (is_char || sample_bytes == 0) {
        for_each_part(*text, add);
      } else {
        for (const TextPart& part : sample_text(*text, sample_bytes)) add(part);
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
