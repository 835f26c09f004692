// A page that shows a model's attention in a text, the same numbers as JSON, and one head as a picture.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generate/alignment/attention_map.h"
#include "tasks/analysis/head_study.h"
#include "tasks/analysis/logit_lens.h"
#include "tasks/text/loss_breakdown.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

// The logit lens at one place: what a layer would predict at a position, with the tokens' texts.
struct LensCell {
  std::vector<std::pair<std::string, double>> likeliest;  // the most probable tokens with P, in order
  std::optional<double> nats;                             // −ln P of the right token; nullopt if there is none
};

// An attention map with the texts of its tokens and, if they were computed, the logit lens of its layers, a study of
// its heads, and the loss by position.
struct AttentionText {
  AttentionMap map;
  std::vector<std::string> queries, keys;
  std::vector<std::vector<LensCell>> lens = {};   // the logit lens, [layer][position]; layer 0: the first block's input
  std::vector<HeadReport> heads = {};             // in the order of HeadStudy
  std::optional<LossBreakdown> by_position = {};  // the loss of a text file by the place in the window
};

// Adds the logit lens of a model with this tokenizer.
void add_lens(AttentionText& text, const LogitLens& lens, const Tokenizer& tokenizer);
// Adds the heads of the study that are in the map's stack.
void add_heads(AttentionText& text, const HeadStudy& study);

// [{"name", "queries": [tokens], "keys": [tokens], "layers": [{"heads": [{"weights": [[a row for each query]],
// "output": [the norm for each query]}]}]}]. With `digits` significant digits. If they are known, also "lens":
// [[{"likeliest": [[token, probability]], "nats"} for each query] for each layer], "heads": [head_json()], and
// "by_position": breakdown_json().
nlohmann::ordered_json attention_json(const std::vector<AttentionText>& maps, int digits);
// Throws UsageError if the page would hold more than two million weights.
std::string attention_page(const std::string& title, const std::vector<AttentionText>& maps);
// Returns one head as SVG. Throws UsageError for a layer or head that the map does not have.
std::string attention_svg(const AttentionText& text, std::int64_t layer, std::int64_t head);

}  // namespace tapeformer
