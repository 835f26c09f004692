#include "tasks/analysis/option_scores.h"

#include <algorithm>

#include "core/error.h"
#include "tasks/text/text_evaluation.h"
#include "tasks/translation/translation_evaluation.h"

namespace tapeformer {
namespace {

void require_tokens(std::string_view option, const std::vector<std::int32_t>& ids) {
  check(!option.empty() && !ids.empty(), "score: expected options that are not empty");
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
    require_tokens(option, own);
    std::vector<std::int32_t> ids(prompt.begin(), prompt.end());
    ids.insert(ids.end(), own.begin(), own.end());
    const std::int64_t read = std::ssize(ids) - 1;  // nothing follows the last token
    check(!model.context() || read <= *model.context(), "score: prompt and option \"", option, "\" have ", ids.size(),
          " tokens, expected at most ", model.context().value_or(0) + 1);
    OptionScore& score =
        scores.emplace_back(OptionScore{.text = option, .tokens = std::ssize(own), .bytes = std::ssize(option)});
    std::int64_t token = 1;
    score_tokens(model, std::span<const std::int32_t>(ids), {.context = read}, 0, [&](const TokenScore& scored) {
      if (token++ >= std::ssize(prompt)) score.log_likelihood -= scored.nats;
    });
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
    require_tokens(option, target);
    const std::int64_t longest = std::max(std::ssize(source), std::ssize(target)) + 1;
    check(!model.context() || longest <= *model.context(), "score: prompt or option \"", option, "\" has ", longest,
          " tokens with its end, expected at most ", model.context().value_or(0));
    OptionScore& score = scores.emplace_back(OptionScore{.text = option, .bytes = std::ssize(option)});
    score_tokens(model, source, target, tokenizers.symbols, 0, [&](const TokenScore& scored) {
      score.log_likelihood -= scored.nats;
      ++score.tokens;
    });
  }
  return scores;
}

}  // namespace tapeformer
