// A page that shows scaling laws: their points and curves, both axes logarithmic, and what they predict.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tapeformer {

// Returns the page as HTML. `result` is that of laws_json() or run_sweep() (cli/scaling).
std::string scaling_page(const nlohmann::ordered_json& result);

}  // namespace tapeformer
