// A page that colours the tokens of a text by their surprisal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tasks/text/text_evaluation.h"

namespace tapeformer {

struct SurprisalToken {
  std::string text;
  std::optional<TokenScore> score;     // nullopt for a token that has no context
  std::vector<std::string> likeliest;  // the texts of score->likeliest
};

// A text, or a translation with its source.
struct SurprisalText {
  std::string source = {};
  std::vector<SurprisalToken> tokens = {};
};

// Throws UsageError for more than 50,000 tokens.
std::string surprisal_page(const std::string& title, const std::vector<SurprisalText>& texts);

}  // namespace tapeformer
