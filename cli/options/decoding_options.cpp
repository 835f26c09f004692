#include "cli/options/decoding_options.h"

#include "core/error.h"

namespace tapeformer::cli {

std::vector<Option> sampling_options(SamplingOptions& sampling, std::uint64_t& seed, const OptionRules& rules) {
  OptionRules of_seed = rules;
  of_seed.least = 0;
  return {{"--temperature", &sampling.temperature, "0: always the likeliest token [1]", rules},
          {"--top-k", &sampling.top_k, "Only the k likeliest tokens; 0: all [0]", rules},
          {"--top-p", &sampling.top_p, "Only the likeliest tokens of this total probability [1]", rules},
          {"--seed", &seed, "The same seed gives the same text [1]", of_seed}};
}

Option length_penalty_option(BeamOptions& search, const std::string& texts, OptionRules rules) {
  return {"--length-penalty", &search.length_penalty,
          str_cat("a: scores are log P / ((5 + tokens)/6)^a; more favours longer ", texts, " [0.6]"), std::move(rules)};
}

TranslateOptions SearchArguments::checked() const {
  TranslateOptions all = options;
  all.use_cache = !no_cache;
  if (sample) all.sampling = sampling;
  check_options(all);
  return all;
}

std::vector<Option> search_options(SearchArguments& arguments, const SearchWords& words) {
  TranslateOptions& options = arguments.options;
  const std::string outputs = words.output + "s";
  return concatenated(
      {{{"--beam",
         &options.search.beam,
         "Hypotheses kept at each length; 1: greedy [5]",
         {.least = 1, .most = kMaxHypotheses}},
        length_penalty_option(options.search, outputs),
        {"--sample",
         &arguments.sample,
         str_cat("Draw each ", words.output, " at random, with no search"),
         {.excludes = {"--beam", "--length-penalty"}}}},
       sampling_options(arguments.sampling, options.seed, {.needs = {"--sample"}}),
       {{"--batch",
         &options.batch,
         str_cat(words.inputs, " at once; the ", outputs, " do not depend on it [64]"),
         {.least = 1}},
        {"--max-length",
         &options.max_length,
         str_cat("Tokens of a ", words.output, ", at most [", words.longest, "]"),
         {.least = 1}},
        {"--no-cache", &arguments.no_cache, str_cat("Without the decoder's cache: slower, the same ", outputs)}}});
}

std::vector<Option> alignment_options(AlignmentHeads& heads) {
  return {{"--layer", &heads.layer, "The layer whose attention weights are taken, from 0 [mean of all]", {.least = 0}},
          {"--head", &heads.head, "The head whose attention weights are taken, from 0 [mean of all]", {.least = 0}}};
}

}  // namespace tapeformer::cli
