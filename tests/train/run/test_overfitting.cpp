// Whether a training learned its data by heart.
#include "train/run/overfitting.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <vector>

using namespace tapeformer;
using Json = nlohmann::ordered_json;

namespace {

// A training line and an evaluation after each of the steps 10, 20, …
std::vector<Json> run_of(const std::vector<std::pair<double, double>>& losses) {
  std::vector<Json> lines;
  for (const auto& [training, validation] : losses) {
    const auto step = static_cast<std::int64_t>(10 * (lines.size() / 3 + 1));
    lines.push_back({{"step", step - 5}, {"loss", training + 0.5}});
    lines.push_back({{"step", step}, {"loss", training - 0.5}});
    lines.push_back({{"step", step}, {"eval_loss", validation}});
  }
  return lines;
}

}  // namespace

TEST_CASE("overfitting: the validation loss rises from its minimum while the training loss falls") {
  const auto found = find_overfitting(loss_curve(run_of({{5, 5.5}, {4, 5}, {3.75, 5.25}, {3.5, 6}})), 20);
  REQUIRE(found);
  CHECK(found->step == 20);
  CHECK(found->best == 5);
  CHECK(found->last == 6);
  CHECK(found->before == 4);
  CHECK(found->after == 3.5);
  CHECK_FALSE(find_overfitting(loss_curve(run_of({{5, 5.5}, {4, 5}, {3.5, 4.9}})), 30));   // it still falls
  CHECK_FALSE(find_overfitting(loss_curve(run_of({{5, 5.5}, {4, 5}, {3.5, 5.09}})), 20));  // by chance
  CHECK_FALSE(
      find_overfitting(loss_curve(run_of({{5, 5.5}, {4, 5}, {4.5, 6}})), 20));  // both rise: the rate is too large
  CHECK_FALSE(
      find_overfitting(loss_curve(run_of({{9, 5.5}, {8, 5}, {7, 6}})), 20));  // the training text is the harder one
  CHECK_FALSE(find_overfitting({}, 0));
}

TEST_CASE("overfitting: evaluations between which no step was logged count too") {
  std::vector<Json> lines = run_of({{5, 5.5}, {4, 5}, {3.75, 5.25}, {3.5, 5.5}, {3, 6}});
  const std::vector<Json> all = lines;
  std::erase_if(lines, [](const Json& line) { return line["step"] == 20 && line.contains("loss"); });
  std::erase_if(lines, [](const Json& line) { return line["step"] == 15; });
  std::erase_if(lines, [](const Json& line) { return line["step"] >= 45 && line.contains("loss"); });
  REQUIRE(lines.size() + 4 == all.size());
  const auto found = find_overfitting(loss_curve(lines), 20);
  REQUIRE(found);
  CHECK(found->step == 20);
  CHECK(found->best == 5);
  CHECK(found->last == 6);
  CHECK(found->before == 3.75);
  CHECK(found->after == 3.5);
  std::erase_if(lines, [](const Json& line) { return line.contains("loss"); });
  CHECK_FALSE(find_overfitting(loss_curve(lines), 20));
}

TEST_CASE("overfitting: with label smoothing the plain loss is compared") {
  std::vector<Json> lines = run_of({{4, 5}, {3.5, 6}});
  for (Json& line : lines) {
    if (line.contains("loss")) line["unsmoothed_loss"] = line["loss"].get<double>() - 1;
  }
  const auto found = find_overfitting(loss_curve(lines), 10);
  REQUIRE(found);
  CHECK(found->after == 2.5);
}
