#include "tasks/analysis/option_scores.h"

#include <algorithm>

#include "core/error.h"
#include "data/text/encode_text.h"
#include "tasks/text/text_evaluation.h"
#include "tasks/translation/translation_evaluation.h"

namespace tapeformer {
namespace {

// An option with these ids, which is not scored yet.
OptionScore unscored(const std::string& option, const std::vector<std::int32_t>& ids, const Tokenizer& tokenizer) {
  check(!option.empty() && !ids.empty(), "score: expected options that are not empty");
  return {.text = option, .bytes = std::ssize(option), .unknown = count_unknown(ids, tokenizer)};
}

}  // namespace

std::size_t best_option(std::span<const OptionScore> scores, OptionMeasure measure) {
  const auto value = [&](const OptionScore& score) {
    return measure == OptionMeasure::token  ? score.per_token()
           : measure == OptionMeasure::byte ? score.per_byte()
                                            : score.log_likelihood;
  };
  return std::ranges::max_element(scores, {}, value) - scores.begin();
}

std::vector<OptionScore> score_options(const CausalModel& model, const Tokenizer& tokenizer,
                                       std::span<const std::int32_t> prompt, std::span<const std::string> options) {
  check(!prompt.empty(), "score: the prompt has no tokens");
  std::vector<OptionScore> scores;
  for (const std::string& option : options) {
    const std::vector<std::int32_t> own = tokenizer.encode_continuation(option);
    OptionScore score = unscored(option, own, tokenizer);
    score.tokens = std::ssize(own);
    std::vector<std::int32_t> ids(prompt.begin(), prompt.end());
    ids.insert(ids.end(), own.begin(), own.end());
    const std::int64_t read = std::ssize(ids) - 1;  // nothing follows the last token
    check(!model.context() || read <= *model.context(), "score: prompt and option \"", option, "\" have ", ids.size(),
          " tokens, expected at most ", model.context().value_or(0) + 1);
    std::int64_t token = 1;
    score_tokens(model, std::span<const std::int32_t>(ids), {.context = read}, 0, [&](const TokenScore& scored) {
      if (token++ >= std::ssize(prompt)) score.log_likelihood -= scored.nats;
    });
    scores.push_back(std::move(score));
  }
  return scores;
}

std::vector<OptionScore> score_options(const EncoderDecoder& model, const PairTokenizers& tokenizers,
                                       std::string_view prompt, std::span<const std::string> options) {
  const std::vector<std::int32_t> source = tokenizers.source->encode(prompt);
  check(!source.empty(), "score: the prompt has no tokens");
  std::vector<OptionScore> scores;
  for (const std::string& option : options) {
    const std::vector<std::int32_t> target = tokenizers.target->encode(option);
    OptionScore score = unscored(option, target, *tokenizers.target);
    const std::int64_t longest = std::max(std::ssize(source), std::ssize(target)) + 1;
    check(!model.context() || longest <= *model.context(), "score: prompt or option \"", option, "\" has ", longest,
          " tokens with its end, expected at most ", model.context().value_or(0));
    score_tokens(model, source, target, tokenizers.symbols, 0, [&](const TokenScore& scored) {
      score.log_likelihood -= scored.nats;
      ++score.tokens;
    });
    scores.push_back(std::move(score));
  }
  return scores;
}

}  // namespace tapeformer
