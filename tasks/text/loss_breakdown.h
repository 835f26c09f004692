// Divides the loss of a text by a property of its tokens.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/text/token_file.h"
#include "tasks/text/text_evaluation.h"

namespace tapeformer {

// The tokens whose number (LossBreakdown::number) is from first to last, such as those with 9 to 16 tokens before them.
struct LossBin {
  std::int64_t first = 0, last = 0;
  // The number of scored tokens, and how many of them the model finds the most probable.
  std::int64_t tokens = 0, right = 0;
  double nats = 0;         // Σ −ln P
  std::int64_t kinds = 0;  // the number of different tokens of the vocabulary; 0: not counted

  double loss() const { return nats / static_cast<double>(tokens); }
  double accuracy() const { return static_cast<double>(right) / static_cast<double>(tokens); }
};

// A breakdown of a text's tokens by a number that each of them has. The bins lie side by side, in ascending order.
struct LossBreakdown {
  std::string name;  // what the number is, in words
  std::function<std::int64_t(const TokenScore&)> number;
  std::vector<LossBin> bins = {};
};

// Groups tokens by the number of tokens before them in a window of `context` tokens: 1, 2, 3 to 4, 5 to 8, 9 to 16, …
LossBreakdown breakdown_by_position(std::int64_t context);
// Groups tokens by how often they occur in the training text: never, 1 to 9 times, 10 to 99, 100 to 999, …
LossBreakdown breakdown_by_frequency(TokenView training, std::int64_t vocab);

// Does what evaluate() does, token by token, and adds each token's score to its bin of each of `breakdowns`. So the
// bins of a breakdown add up to the result.
Evaluation evaluate_breakdowns(const CausalModel& model, TokenView tokens, const WindowOptions& options,
                               std::vector<LossBreakdown>& breakdowns, const ProgressCallback& progress = {});

// Returns [{"first", "last", "kinds" if counted, "tokens", "loss", "accuracy"}]; loss and accuracy are null in a bin
// without scored tokens.
nlohmann::ordered_json breakdown_json(const LossBreakdown& breakdown);
// Returns these numbers as a table for people.
std::string breakdown_table(const LossBreakdown& breakdown);

}  // namespace tapeformer
