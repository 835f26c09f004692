#include "tasks/translation/length_parts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text/utf8.h"
#include "generate/line_translator.h"

namespace tapeformer {

TranslationsByLength translations_by_length(const TrainedTranslator& run, std::span<const SentencePair> pairs,
                                            std::int64_t batch) {
  constexpr std::int64_t kTokensOfPart = 10;
  const PairTokenizers& tokenizers = run.tokenizers;
  std::vector<std::string_view> sources;
  for (const SentencePair& pair : pairs) sources.push_back(pair.source);
  const std::vector<LineTranslation> lines =
      translate_lines(*run.model, *tokenizers.source, *tokenizers.target, tokenizers.symbols, sources,
                      {.search = {.beam = 1}, .batch = batch});
  const Bleu none(run.config.eval.bleu_tokenize);
  TranslationsByLength result{none, {}};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    result.all.add(lines[i].texts.front(), pairs[i].target);
    const std::int64_t length = std::ssize(lines[i].source) + lines[i].dropped_tokens;
    if (length == 0) continue;
    const std::int64_t place = (length - 1) / kTokensOfPart;
    while (std::ssize(result.parts) <= place) {
      const std::int64_t before = std::ssize(result.parts) * kTokensOfPart;
      result.parts.push_back({.first = before + 1, .last = before + kTokensOfPart, .bleu = none});
    }
    LengthPart& part = result.parts[place];
    ++part.pairs;
    part.tokens += std::ssize(tokenizers.target->encode(with_valid_utf8(pairs[i].target))) + 1;
    part.bleu.add(lines[i].texts.front(), pairs[i].target);
  }
  return result;
}

nlohmann::ordered_json lengths_json(const TranslationsByLength& result) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const LengthPart& part : result.parts) {
    list.push_back({{"first", part.first}, {"last", part.last}, {"pairs", part.pairs}, {"tokens", part.tokens}});
    list.back()["bleu"] = nullptr;
    if (part.pairs > 0) list.back()["bleu"] = part.bleu.score().score;
  }
  return list;
}

std::string lengths_table(const TranslationsByLength& result) {
  std::string table = fmt::format("\n{:<26}  {:>8}  {:>8}  {:>7}\n", "tokens of the source", "pairs", "tokens", "BLEU");
  for (const LengthPart& part : result.parts) {
    table += fmt::format("{:<26}  {:>8}  {:>8}", fmt::format("{}–{}", part.first, part.last), part.pairs, part.tokens);
    if (part.pairs > 0) table += fmt::format("  {:>7.2f}", part.bleu.score().score);
    table += '\n';
  }
  return table;
}

}  // namespace tapeformer
