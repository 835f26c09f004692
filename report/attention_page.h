// A page that shows a model's attention in a text, the same numbers as JSON, and one head as a picture.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "generate/attention_map.h"

namespace tapeformer {

// An attention map with the texts of its tokens.
struct AttentionText {
  AttentionMap map;
  std::vector<std::string> queries, keys;
};

// [{"name", "queries": [tokens], "keys": [tokens], "layers": [{"heads": [{"weights": [[a row for each query]],
// "output": [the norm for each query]}]}]}]. With `digits` significant digits.
nlohmann::ordered_json attention_json(const std::vector<AttentionText>& maps, int digits);
// Throws UsageError if the page would hold more than two million weights.
std::string attention_page(const std::string& title, const std::vector<AttentionText>& maps);
// Returns one head as SVG. Throws UsageError for a layer or head that the map does not have.
std::string attention_svg(const AttentionText& text, std::int64_t layer, std::int64_t head);

}  // namespace tapeformer
