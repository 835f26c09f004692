// Fits scaling laws to trainings, and writes the result as JSON and as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cli/scaling/points.h"

namespace tapeformer::cli {

struct LawsRequest {
  std::optional<double> irreducible = {};  // the irreducible loss, if it is known; nullopt: it is fitted
  // The training whose loss is predicted: N, D, or both.
  std::optional<double> parameters = {}, tokens = {};
};

// Reads the option --entropy: free, corpus, or a number of nats per token of at least 0. Throws UsageError for other
// words, and for `corpus` if the entropy of the runs' corpus is not known.
std::optional<double> irreducible_loss(const std::string& option, const ScalingRuns& runs);

// Fits L(N), L(D), L(C) and L(N, D), as far as the trainings determine them. Trainings with equal N and D count as one,
// with the mean of their losses. L(N) is fitted to the best training of each N, L(D) to the best of each D, and L(C) to
// the trainings that no other training with as few operations beats. Returns
//   {"unit", "runs": [{"name", "N", "D", "C", "loss"}], "laws": [{"law": "L(N)", "of": ["N"], "points", "fitted"
//   (whether the irreducible loss is), "irreducible": {"value", "low", "high"}, "terms": [{"exponent": {"value", "low",
//   "high"}, "scale": {…}}], "residual", "places" (of its points: [[x, loss]]), "curve": {"x", "loss", "low", "high"},
//   "prediction": {"x", "loss", "low", "high"} or null, "unpredicted" (why it is null, though the training is given)}],
//   "skipped": [{"law", "why"}]}.
// L(C) predicts at C = 6ND, and nothing if C is another number in the trainings.
// "low" and "high" hold 90 % of the bootstrap. L(N, D) has no places and no curve. Throws Error if no law is fitted.
nlohmann::ordered_json laws_json(const ScalingRuns& runs, const LawsRequest& request);

// Returns that JSON as a text for people.
std::string laws_text(const nlohmann::ordered_json& result);

// "0.5146 [0.5101, 0.5170]": a value with its interval.
std::string with_interval(const nlohmann::ordered_json& value);

}  // namespace tapeformer::cli
