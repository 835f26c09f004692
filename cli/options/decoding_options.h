// Options of the commands that write texts: by sampling, or by a beam search.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options/command.h"
#include "generate/alignment/aligner.h"
#include "generate/beam_search.h"
#include "generate/sampler.h"
#include "generate/translator.h"

namespace tapeformer::cli {

// The widest beam that a search may have: a wider one takes gigabytes and does not help.
inline constexpr std::int64_t kMaxHypotheses = 1000;

// The options --temperature, --top-k, --top-p and --seed of a command; `rules` apply to each of them.
std::vector<Option> sampling_options(SamplingOptions& sampling, std::uint64_t& seed, const OptionRules& rules = {});

// The option --length-penalty. `texts` names what a larger value makes longer.
Option length_penalty_option(BeamOptions& search, const std::string& texts, OptionRules rules = {});

// What search_options() sets.
struct SearchArguments {
  TranslateOptions options{.search = {.beam = 5}};
  SamplingOptions sampling;
  bool sample = false, no_cache = false;

  // The options of the search or, with --sample, of drawing. Throws UsageError as check_options() does.
  TranslateOptions checked() const;
};

// What the help of search_options() calls the inputs ("Sentences"), the outputs ("translation"), and the most tokens of
// an output without --max-length ("the model's context").
struct SearchWords {
  std::string inputs, output, longest;
};

// The options of a command that writes a text for each of its inputs: --beam, --length-penalty, --sample with
// sampling_options(), --batch, --max-length and --no-cache.
std::vector<Option> search_options(SearchArguments& arguments, const SearchWords& words);

// The options --layer and --head, which choose the attention weights that a command shows.
std::vector<Option> alignment_options(AlignmentHeads& heads);

}  // namespace tapeformer::cli
