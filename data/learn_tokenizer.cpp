#include "data/learn_tokenizer.h"

#include <optional>
#include <string>
#include <utility>

#include "autograd/core/error.h"
#include "tokenizer/utf8.h"

namespace tapeformer {

namespace {

// Every character of the text at least once.
std::string characters(TextReader& reader) {
  std::string all;
  std::int64_t before = 0;  // bytes of the parts before this one
  for (TextPart part; reader.next(part); before += static_cast<std::int64_t>(part.text.size())) {
    if (part.text.empty()) continue;
    const std::size_t invalid = find_invalid_utf8(part.text);
    check(invalid == std::string::npos, "char tokenizer: invalid UTF-8 at byte ",
          before + static_cast<std::int64_t>(invalid), "; a bpe tokenizer takes any bytes");
    const std::string_view text = part.text;
    const auto tokenizer = train_tokenizer({.kind = "char", .vocab = 0, .special_tokens = {}}, std::span(&text, 1));
    for (std::int32_t id = 0; id < tokenizer->vocab_size(); ++id) all += tokenizer->token_bytes(id);
  }
  return all;
}

}  // namespace

std::vector<TextPart> sample_text(TextReader& reader, std::int64_t bytes) {
  std::vector<TextPart> parts;
  std::int64_t stride = 1, held = 0, index = 0;
  for (TextPart part; reader.next(part); ++index) {
    if (index % stride != 0) continue;
    held += static_cast<std::int64_t>(part.text.size());
    parts.push_back(std::move(part));
    while (bytes > 0 && held > bytes && parts.size() > 1) {
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

TrainProgress by_phase(std::function<std::function<void(double)>(std::string)> make) {
  if (!make) return {};
  return [make = std::move(make), shown = std::optional<TrainPhase>(), show = std::function<void(double)>()](
             TrainPhase phase, std::int64_t done, std::int64_t wanted) mutable {
    if (phase != shown) show = make(phase == TrainPhase::count ? "counting words" : "learning merges");
    shown = phase;
    if (show) show(wanted > 0 ? static_cast<double>(done) / static_cast<double>(wanted) : 1);
  };
}

std::unique_ptr<Tokenizer> learn_tokenizer(const TokenizerOptions& options, std::span<TextReader* const> texts,
                                           std::int64_t sample_bytes, const TrainProgress& progress) {
  std::vector<TextPart> parts;
  if (options.kind == "char") {
    for (TextReader* text : texts) parts.push_back({.text = characters(*text), .ends = {}});
  } else {
    parts = sample_text(*texts.front(), sample_bytes);
  }
  std::vector<std::string_view> views;
  for (const TextPart& part : parts) {
    for (const TextSegment& segment : part.segments()) views.push_back(segment.text);
  }
  return train_tokenizer(options, views, progress);
}

}  // namespace tapeformer
