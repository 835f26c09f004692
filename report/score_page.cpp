#include "report/score_page.h"

#include <nlohmann/json.hpp>

#include "report/page.h"

namespace tapeformer {

void ScoredGroup::add(const ScoredGroup& other) {
  questions += other.questions;
  for (std::size_t i = 0; i < right.size(); ++i) right[i] += other.right[i];
  chance += other.chance;
  optimum += other.optimum;
  with_optimum += other.with_optimum;
}

double ScoredGroup::accuracy(std::size_t measure) const {
  return static_cast<double>(right[measure]) / static_cast<double>(questions);
}

nlohmann::ordered_json score_json(const ScoredGroup& group) {
  nlohmann::ordered_json json{{"group", group.name},
                              {"questions", group.questions},
                              {"accuracy", group.accuracy(0)},
                              {"accuracy_per_token", group.accuracy(1)},
                              {"accuracy_per_byte", group.accuracy(2)},
                              {"chance", group.chance / static_cast<double>(group.questions)}};
  if (group.has_optimum()) json["optimum"] = group.mean_optimum();
  return json;
}

std::string score_page(const std::string& title, const std::vector<ScoredGroup>& groups) {
  nlohmann::ordered_json data{{"title", title}, {"groups", nlohmann::ordered_json::array()}};
  for (const ScoredGroup& group : groups) data["groups"].push_back(score_json(group));
  return page_html(
      {.title = title, .styles = {"dygraph.min.css", "report.css"}, .scripts = {"dygraph.min.js", "score.js"}}, data);
}

}  // namespace tapeformer
