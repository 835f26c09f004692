// A page that shows how many questions of each group a model answers right.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tapeformer {

// The counts of the questions of one group, such as all questions with 2 examples in their prompts.
struct ScoredGroup {
  std::string name;
  std::int64_t questions = 0;
  std::array<std::int64_t, 3> right = {};  // by the total log-likelihood, per token and per byte
  double chance = 0;                       // the sum of 1/options over the questions
  double optimum = 0;                      // the sum of the best possible accuracy over `with_optimum` questions
  std::int64_t with_optimum = 0;           // the number of questions whose best possible accuracy is known

  void add(const ScoredGroup& other);
  double accuracy(std::size_t measure) const;
  bool has_optimum() const { return with_optimum > 0 && with_optimum == questions; }
  double mean_optimum() const { return optimum / static_cast<double>(with_optimum); }
};

// {"group", "questions", "accuracy", "accuracy_per_token", "accuracy_per_byte", "chance"}, and "optimum" if that of
// every question is known.
nlohmann::ordered_json score_json(const ScoredGroup& group);
// Returns a page that shows the accuracy of each group. On the x axis groups are at their names if these are all
// numbers, else at their places in the list, with their names.
std::string score_page(const std::string& title, const std::vector<ScoredGroup>& groups);

}  // namespace tapeformer
