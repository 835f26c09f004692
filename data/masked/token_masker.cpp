#include "data/masked/token_masker.h"

#include "core/error.h"
#include "core/ignored_target.h"
#include "tokenizer/masked_symbols.h"

namespace tapeformer {

TokenMasker::TokenMasker(const Tokenizer& tokenizer, const MaskRates& rates)
    : rates_(rates), mask_token_(masked_symbols(tokenizer).mask), is_special_(tokenizer.vocab_size()) {
  const auto is_probability = [](double p) { return p >= 0 && p <= 1; };
  if (!is_probability(rates.mlm_probability) || !is_probability(rates.mask_token) ||
      !is_probability(rates.random_token) || rates.mask_token + rates.random_token > 1) {
    fail_usage("masks: expected probabilities, of which those of [MASK] and of a random token are at most 1 together, ",
               "got ", rates.mlm_probability, ", ", rates.mask_token, " and ", rates.random_token);
  }
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    is_special_[id] = tokenizer.is_special(id);
    if (!is_special_[id]) replacements_.push_back(id);
  }
  check(!replacements_.empty(), "masks: the vocabulary has special tokens only");
}

// Each position uses four random words: the first decides whether it is masked, the second how its token is corrupted,
// the last two which random token replaces it.
std::int64_t TokenMasker::mask(std::span<std::int32_t> ids, std::span<std::int32_t> targets,
                               const RandomKey& key) const {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    targets[i] = kIgnoredTarget;
    if (!can_mask(ids[i])) continue;
    const auto words = key.words(i);
    if (words[0] * 0x1p-32 >= rates_.mlm_probability) continue;
    targets[i] = ids[i];
    ++count;
    const double share = words[1] * 0x1p-32;
    if (share < rates_.mask_token) {
      ids[i] = mask_token_;
    } else if (share < rates_.mask_token + rates_.random_token) {
      // The remainder of the division makes a token at most 2⁻⁶⁴ times the vocabulary more probable than another.
      ids[i] = replacements_[(std::uint64_t{words[2]} << 32 | words[3]) % replacements_.size()];
    }
  }
  return count;
}

}  // namespace tapeformer
