// What simple models reach on the validation data of a run, so that its loss can be compared.
#pragma once

#include <cstdint>
#include <optional>

#include "train/loop/evaluation.h"

namespace tapeformer {

struct Baselines {
  // A Kneser-Ney n-gram model (KneserNey) of the run's tokens, evaluated on the tokens that Objective::evaluate()
  // scores, each given what the run's model is given of its last tokens.
  struct Ngrams {
    int order = 0;
    Evaluation evaluation;
    std::int64_t tokens = 0, of = 0;  // it has learned from the first `tokens` of the `of` training tokens
  };
  // xz, on the validation text after the training text (xz_growth()).
  struct Xz {
    double bits_per_byte = 0;
    std::int64_t training_bytes = 0, validation_bytes = 0;  // the last ones of the training text, the first to validate
    bool whole = false;                                     // these are all
  };
  Ngrams ngrams;
  std::optional<Xz> xz;  // nullopt if only a part of the validation text is evaluated
};

}  // namespace tapeformer
