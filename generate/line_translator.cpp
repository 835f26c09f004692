#include "generate/line_translator.h"

#include <limits>

#include "core/text/utf8.h"
#include "tokenizer/unicode_class.h"

namespace tapeformer {

std::vector<LineTranslation> translate_lines(const EncoderDecoder& model, const Tokenizer& source,
                                             const Tokenizer& target, const PairSymbols& symbols,
                                             std::span<const std::string_view> lines, const TranslateOptions& options,
                                             std::int64_t first_number) {
  // The end token takes one position of the context.
  const std::size_t most = model.context() ? *model.context() - 1 : std::numeric_limits<std::size_t>::max();
  std::vector<LineTranslation> results(lines.size());
  std::vector<std::vector<std::int32_t>> sources;
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::int32_t> ids;
    try {
      if (!is_white_space(lines[i])) ids = source.encode(with_valid_utf8(lines[i]));
    } catch (const Error& error) {
      fail("line ", first_number + static_cast<std::int64_t>(i), ": ", error.what());
    }
    if (ids.empty()) {
      results[i].texts = {""};
      results[i].scores = {0};
      continue;
    }
    if (ids.size() > most) {
      results[i].dropped_tokens = static_cast<std::int64_t>(ids.size() - most);
      ids.resize(most);
    }
    sources.push_back(std::move(ids));
    indices.push_back(i);
  }
  TranslateOptions of_sources = options;
  if (options.grammar) {
    of_sources.grammar = [&](std::size_t source, std::int64_t most) { return options.grammar(indices[source], most); };
  }
  const auto translations = translate(model, sources, symbols, of_sources);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    LineTranslation& result = results[indices[i]];
    for (const Hypothesis& hypothesis : translations[i]) {
      result.texts.push_back(target.decode(hypothesis.ids));
      result.scores.push_back(hypothesis.score);
    }
    result.source = std::move(sources[i]);
    result.target = translations[i][0].ids;
  }
  return results;
}

}  // namespace tapeformer
