// How probable a model finds each of several texts after a prompt: multiple choice without training (Brown et al. 2020,
// section 2.4).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "nn/interfaces/causal_model.h"
#include "tasks/translation/trained_translator.h"

namespace tapeformer {

struct OptionScore {
  std::string text;
  double log_likelihood = 0;  // Σ ln P(token | prompt, earlier tokens of the option), in nats
  std::int64_t tokens = 0;    // the number of tokens in the sum
  std::int64_t bytes = 0;     // of the text
  std::int64_t unknown = 0;   // the tokens that are <unk>, whose probability is that of all unknown words together
  double per_token() const { return log_likelihood / static_cast<double>(tokens); }
  double per_byte() const { return log_likelihood / static_cast<double>(bytes); }
};

// What the options are compared by.
enum class OptionMeasure { total, token, byte };

// The index of the option with the highest value; of equal ones the first.
std::size_t best_option(std::span<const OptionScore> scores, OptionMeasure measure);

// Scores the options as continuations of `prompt`: the ids of the prompt with what the model reads before a text
// (beginning_tokens()). Each option is encoded by itself, without the prompt's text. Throws Error for a prompt without
// ids, for an option without text, and for more tokens than the model reads.
std::vector<OptionScore> score_options(const CausalModel& model, const Tokenizer& tokenizer,
                                       std::span<const std::int32_t> prompt, std::span<const std::string> options);
// Scores the options as translations of the prompt; each has the end token as well.
std::vector<OptionScore> score_options(const EncoderDecoder& model, const PairTokenizers& tokenizers,
                                       std::string_view prompt, std::span<const std::string> options);

}  // namespace tapeformer
