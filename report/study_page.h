// A page that shows what a study found: the curves of its variants in one chart, its measures, and whether they show
// the claim.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tapeformer {

// Returns the page as HTML. `study` is the result with curves of cli/study/study_result.h.
std::string study_page(const nlohmann::ordered_json& study);

}  // namespace tapeformer
