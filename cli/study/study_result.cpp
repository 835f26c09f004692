#include "cli/study/study_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/terminal/results.h"
#include "core/files.h"
#include "report/page.h"
#include "train/loop/run_summary.h"
#include "train/run/metrics.h"
#include "train/run/run_folder.h"

namespace tapeformer::cli {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int kDigits = 6;  // significant digits of a curve

struct Numbers {
  std::vector<double> finite;
  bool any_infinite = false, any_missing = false;

  double mean() const {
    if (any_infinite) return kInfinite;
    double sum = 0;
    for (const double number : finite) sum += number;
    return sum / static_cast<double>(finite.size());
  }
  double least() const { return finite.empty() ? kInfinite : std::ranges::min(finite); }
  double most() const { return any_infinite ? kInfinite : std::ranges::max(finite); }
  bool empty() const { return finite.empty() && !any_infinite; }
};

Numbers numbers_of(const Study& study, std::span<const StudyRun> runs, const std::string& variant,
                   const std::string& measure) {
  Numbers numbers;
  for (const StudyRun& run : runs) {
    if (study.variants[run.variant].name != variant) continue;
    const auto value = run.values.at(measure);
    if (value) {
      numbers.finite.push_back(*value);
    } else if (measure == "loss" && !run.failure.empty()) {
      numbers.any_infinite = true;
    } else {
      numbers.any_missing = true;
    }
  }
  return numbers;
}

Json mean_json(const Numbers& numbers) {
  if (numbers.finite.empty()) return {{"mean", nullptr}, {"least", nullptr}, {"most", nullptr}};
  const Numbers finite{numbers.finite};
  return {{"mean", finite.mean()}, {"least", finite.least()}, {"most", finite.most()}};
}

std::string side_text(const StudyCheck& check) {
  if (check.bound) return fmt::format("{:g}", *check.bound);
  return (check.other_measure == check.measure ? "" : check.other_measure + " of ") + "“" + check.other_variant + "”";
}

Json check_json(const Study& study, std::span<const StudyRun> runs, const StudyCheck& check) {
  const Numbers of = numbers_of(study, runs, check.variant, check.measure);
  const Numbers than =
      check.bound ? Numbers{{*check.bound}} : numbers_of(study, runs, check.other_variant, check.other_measure);
  std::string text = fmt::format("{} of “{}” is {} {}", check.measure, check.variant, check.lower ? "below" : "above",
                                 side_text(check));
  if (check.margin > 0) text += fmt::format(" by at least {:g}", check.margin);
  if (of.empty() || than.empty() || of.any_missing || than.any_missing)
    return {{"text", text + ": not measured"}, {"holds", false}};
  const Numbers &low = check.lower ? of : than, &high = check.lower ? than : of;
  const bool holds = low.most() < high.least() && high.mean() - low.mean() >= check.margin;
  const auto number = [](double value) {
    if (!std::isfinite(value)) return std::string("infinite");
    return std::abs(value) >= 10000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
  };
  text += ": " + number(of.mean());
  if (!check.bound) text += " and " + number(than.mean());
  return {{"text", text}, {"holds", holds}};
}

Json variant_json(const Study& study, std::span<const StudyRun> runs, std::size_t index) {
  const StudyVariant& variant = study.variants[index];
  Json json{{"name", variant.name}, {"line", variant.line}, {"x", variant.x ? Json(*variant.x) : Json()}};
  json["options"] = variant.options;
  json["values"] = Json::object();
  for (const StudyMeasure& measure : study.measures) {
    Json values = mean_json(numbers_of(study, runs, variant.name, measure.name));
    values["seeds"] = Json::array();
    for (const StudyRun& run : runs) {
      if (run.variant != index) continue;
      const auto value = run.values.at(measure.name);
      values["seeds"].push_back(value ? Json(*value) : Json());
    }
    json["values"][measure.name] = std::move(values);
  }
  json["failures"] = Json::array();
  double seconds = 0;
  for (const StudyRun& run : runs) {
    if (run.variant != index) continue;
    seconds += run.seconds;
    if (!run.failure.empty()) json["failures"].push_back(run.failure);
  }
  json["seconds"] = seconds;
  return json;
}

// The mean and, if the seeds differ, half of their range: "1.4857 ± 0.0091".
std::string cell(const Json& values, int digits) {
  if (values["mean"].is_null()) return "–";
  const double mean = values["mean"], spread = (values["most"].get<double>() - values["least"].get<double>()) / 2;
  const std::string text = fmt::format("{:.{}f}", mean, digits);
  return spread > 0 ? text + fmt::format(" ± {:.{}f}", spread, digits) : text;
}

}  // namespace

Json study_json(const Study& study, std::span<const StudyRun> runs, const TrainOptions& extra) {
  Json checks = Json::array();
  bool all = true;
  for (const StudyCheck& check : study.checks) {
    checks.push_back(check_json(study, runs, check));
    all = all && checks.back()["holds"].get<bool>();
  }
  Json measures = Json::array();
  for (const StudyMeasure& measure : study.measures) {
    measures.push_back({{"name", measure.name}, {"digits", measure.digits}});
    if (!measure.line.empty()) measures.back().update({{"line", measure.line}, {"x", *measure.x}});
  }
  Json variants = Json::array();
  for (std::size_t i = 0; i < study.variants.size(); ++i) variants.push_back(variant_json(study, runs, i));
  TrainOptions options = study.options;
  options.insert(options.end(), extra.begin(), extra.end());
  return {{"study", study.name},
          {"title", study.title},
          {"claim", study.claim},
          {"shown", study.checks.empty() ? Json() : Json(all)},
          {"finding", study.finding},
          {"checks", std::move(checks)},
          {"seeds", study.seeds},
          {"x_label", study.x_label},
          {"options", options},
          {"measures", std::move(measures)},
          {"variants", std::move(variants)}};
}

std::string study_text(const Json& result) {
  std::vector<std::vector<std::string>> rows{{"variant"}};
  for (const Json& measure : result["measures"]) rows[0].push_back(measure["name"]);
  for (const Json& variant : result["variants"]) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(variant["name"]);
    for (const Json& measure : result["measures"]) {
      row.push_back(cell(variant["values"][measure["name"].get<std::string>()], measure["digits"]));
    }
    if (!variant["failures"].empty()) row.push_back(variant["failures"][0]);
  }
  std::string text = fmt::format("{}\n\n{}\nclaim: {}\n", result["title"].get<std::string>(),
                                 Table::fitted(std::move(rows)).text(), result["claim"].get<std::string>());
  for (const Json& check : result["checks"]) {
    text += fmt::format("  {}: {}\n", check["holds"].get<bool>() ? "yes" : "no", check["text"].get<std::string>());
  }
  if (!result["shown"].is_null()) text += result["shown"].get<bool>() ? "shown\n" : "not shown\n";
  if (const std::string finding = result["finding"]; !finding.empty()) text += "finding: " + finding + "\n";
  return text;
}

Json with_curves(Json result, std::span<const StudyRun> runs) {
  std::vector<std::map<std::int64_t, std::vector<double>>> losses(result["variants"].size());
  result["units"] = Json::array();
  for (const StudyRun& run : runs) {
    if (!is_there(RunFolder{run.folder}.metrics())) continue;
    const std::string unit = loss_unit({run.folder});
    if (!unit.empty() && std::ranges::count(result["units"], Json(unit)) == 0) result["units"].push_back(unit);
    for (const Json& line : read_metrics(RunFolder{run.folder}.metrics())) {
      if (!line.contains("eval_loss") || !line["eval_loss"].is_number() || line.contains("averaged")) continue;
      losses[run.variant][line["step"]].push_back(line["eval_loss"]);
    }
  }
  for (std::size_t i = 0; i < losses.size(); ++i) {
    Json curve{{"step", Json::array()}, {"mean", Json::array()}, {"least", Json::array()}, {"most", Json::array()}};
    for (const auto& [step, values] : losses[i]) {
      const Numbers numbers{values};
      curve["step"].push_back(step);
      curve["mean"].push_back(rounded(numbers.mean(), kDigits));
      curve["least"].push_back(rounded(numbers.least(), kDigits));
      curve["most"].push_back(rounded(numbers.most(), kDigits));
    }
    result["variants"][i]["curve"] = std::move(curve);
  }
  return result;
}

}  // namespace tapeformer::cli
