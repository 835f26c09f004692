// Chooses the masked positions whose tokens a model must predict, and corrupts these tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

// The probabilities of masked-language-model training (Devlin et al. 2019, section 3.1).
struct MaskRates {
  double mlm_probability = 0.15;  // the probability of a token to be masked, so that the model must predict it
  double mask_token = 0.8;        // the probability of a masked position to become [MASK]
  double random_token = 0.1;      // the probability of a masked position to become a random token; else its token stays
};

class TokenMasker {
 public:
  // Throws UsageError for a tokenizer without [MASK], and for rates that are not probabilities.
  TokenMasker(const Tokenizer& tokenizer, const MaskRates& rates);

  // Chooses each position of `ids` independently; writes the tokens at masked positions to `targets`, and
  // kIgnoredTarget at the others; then corrupts the masked positions in `ids`. Special tokens are never masked, and
  // never replace another token. The result at a position depends only on the key and the position. Returns the number
  // of masked positions.
  std::int64_t mask(std::span<std::int32_t> ids, std::span<std::int32_t> targets, const RandomKey& key) const;

  // Whether a token may be masked: it is not a special token.
  bool can_mask(std::int32_t id) const { return !is_special_[id]; }
  std::int32_t mask_token() const { return mask_token_; }

 private:
  MaskRates rates_;
  std::int32_t mask_token_;
  std::vector<bool> is_special_;            // by id
  std::vector<std::int32_t> replacements_;  // the tokens that are not special
};

}  // namespace tapeformer
