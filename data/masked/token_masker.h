// Chooses tokens that a model must predict, and corrupts them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

// The probabilities of masked-language-model training (Devlin et al. 2019, section 3.1).
struct MaskRates {
  double chosen = 0.15;  // of each token
  double masked = 0.8;   // of a chosen token: to become [MASK]
  double random = 0.1;   // of a chosen token: to become any token; the others stay as they are
};

class TokenMasker {
 public:
  // Throws UsageError for a tokenizer without [MASK], and for rates that are no probabilities.
  TokenMasker(const Tokenizer& tokenizer, const MaskRates& rates);

  // Chooses each token of `ids` by itself, writes it to `targets`, and kIgnoredTarget for those that are not chosen;
  // then corrupts the chosen ones in `ids`. Special tokens are never chosen, and never put in place of another one.
  // What happens at a place depends on the key and the place alone. Returns how many were chosen.
  std::int64_t mask(std::span<std::int32_t> ids, std::span<std::int32_t> targets, const RandomKey& key) const;

  bool can_choose(std::int32_t id) const { return !is_special_[id]; }
  std::int32_t mask_token() const { return mask_token_; }

 private:
  MaskRates rates_;
  std::int32_t mask_token_;
  std::vector<bool> is_special_;            // by id
  std::vector<std::int32_t> replacements_;  // the tokens that are not special
};

}  // namespace tapeformer
