// What a study found: its measures by variant, and whether they show the claim.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "cli/study/study_runs.h"

namespace tapeformer::cli {

// Returns
//   {"study", "title", "claim", "shown", "finding", "checks": [{"text", "holds"}], "seeds", "x_label", "options",
//    "measures": [{"name", "digits", "line", "x"}], "variants": [{"name", "line", "x", "options", "values": {MEASURE:
//    {"mean", "least", "most", "seeds": [number or null]}}, "failures", "seconds"}]}.
// A check holds if the means differ as it says, and every seed of the lower side is below every seed of the other.
// "shown" is whether all hold, null if the study has none. For a check, the loss of a training that failed counts
// as infinitely high; a check of another measure does not hold if a seed lacks the measure. The mean, the least and the
// most are over the seeds that did not fail, and null if all failed. The "options" at the top are those of the study,
// followed by `extra`.
nlohmann::ordered_json study_json(const Study& study, std::span<const StudyRun> runs, const TrainOptions& extra);

// Returns that JSON as a text for people: a table of the variants, and the claim with its checks.
std::string study_text(const nlohmann::ordered_json& result);

// Returns that JSON with what the page has of the runs: "variants" gain "curve": {"step", "mean", "least", "most"},
// lists of the validation loss over the seeds, and "units" are the different units of these losses.
nlohmann::ordered_json with_curves(nlohmann::ordered_json result, std::span<const StudyRun> runs);

}  // namespace tapeformer::cli
