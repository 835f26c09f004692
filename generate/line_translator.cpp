#include "generate/line_translator.h"

namespace tapeformer {

std::vector<LineTranslation> translate_lines(const Transformer& model, const Tokenizer& source, const Tokenizer& target,
                                             const PairSymbols& symbols, std::span<const std::string_view> lines,
                                             const BeamOptions& options, const std::function<void(double)>& progress) {
  const std::size_t most = model.config().context - 1;  // and the end
  std::vector<LineTranslation> results(lines.size());
  std::vector<std::vector<std::int32_t>> sources;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find_first_not_of(" \t\r\n\v\f") == std::string_view::npos) {
      results[i] = {.texts = {""}, .scores = {0}};
      continue;
    }
    std::vector<std::int32_t> ids;
    try {
      ids = source.encode(lines[i]);
    } catch (const Error& error) {
      fail("line ", i + 1, ": ", error.what());
    }
    if (ids.size() > most) {
      results[i].dropped_tokens = static_cast<std::int64_t>(ids.size() - most);
      ids.resize(most);
    }
    sources.push_back(std::move(ids));
    places.push_back(i);
  }
  const auto translations = translate(model, sources, symbols, options, progress);
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (const Hypothesis& hypothesis : translations[i]) {
      results[places[i]].texts.push_back(target.decode(hypothesis.ids));
      results[places[i]].scores.push_back(hypothesis.score);
    }
  }
  return results;
}

}  // namespace tapeformer
