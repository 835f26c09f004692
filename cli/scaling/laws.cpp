#include "cli/scaling/laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/terminal/results.h"
#include "core/error.h"
#include "core/text/joined.h"
#include "core/text/parse_number.h"
#include "report/page.h"
#include "tasks/analysis/scaling_law.h"

namespace tapeformer::cli {
namespace {

constexpr int kCurvePoints = 60, kCurveDigits = 6;
constexpr double kBeyond = 10;             // how far curves go on, as a factor of the largest x
constexpr double kMostCorrelation = 0.98;  // of ln N and ln D: beyond it, N and D change together
using Member = std::optional<double> ScalingRun::*;

// A law, and the quantities that it depends on: N, D or C.
struct LawKind {
  const char* name;
  std::vector<const char*> of;
  std::string unpredicted;  // why it predicts no loss of an N and a D; empty if it does
};

// Trainings with equal N, D and C become one, with the mean of their losses. A file may give C without D.
std::vector<ScalingRun> means_of(const std::vector<ScalingRun>& runs) {
  using Sizes = std::array<std::optional<double>, 3>;
  std::map<Sizes, std::vector<ScalingRun>> groups;
  std::vector<ScalingRun> means;
  for (const ScalingRun& run : runs) {
    if (!run.parameters && !run.tokens) {
      means.push_back(run);
    } else {
      groups[Sizes{run.parameters, run.tokens, run.flops}].push_back(run);
    }
  }
  for (const auto& group : groups) {
    ScalingRun mean = group.second.front();
    mean.loss = 0;
    for (const ScalingRun& run : group.second) mean.loss += run.loss / static_cast<double>(group.second.size());
    means.push_back(std::move(mean));
  }
  return means;
}

// Returns a point for each value of x, with the smallest loss of the trainings there, in the order of x.
std::vector<ScalingPoint> best_of_each(const std::vector<ScalingRun>& runs, Member x) {
  std::map<double, double> best;
  for (const ScalingRun& run : runs) {
    if (!(run.*x)) continue;
    const auto [place, is_new] = best.emplace(*(run.*x), run.loss);
    if (!is_new) place->second = std::min(place->second, run.loss);
  }
  std::vector<ScalingPoint> points;
  for (const auto& [at, loss] : best) points.push_back({{at}, loss});
  return points;
}

// Returns the points that have a lower loss than all points before them; the points are in the order of x.
std::vector<ScalingPoint> frontier(const std::vector<ScalingPoint>& points) {
  std::vector<ScalingPoint> kept;
  for (const ScalingPoint& point : points) {
    if (kept.empty() || point.loss < kept.back().loss) kept.push_back(point);
  }
  return kept;
}

std::vector<ScalingPoint> pairs_of(const std::vector<ScalingRun>& runs) {
  std::vector<ScalingPoint> points;
  for (const ScalingRun& run : runs) {
    if (run.parameters && run.tokens) points.push_back({{*run.parameters, *run.tokens}, run.loss});
  }
  return points;
}

std::size_t different(const std::vector<ScalingPoint>& points, std::size_t axis) {
  std::set<double> values;
  for (const ScalingPoint& point : points) values.insert(point.x[axis]);
  return values.size();
}

double log_correlation(const std::vector<ScalingPoint>& points) {
  double mean[2] = {0, 0}, products[3] = {0, 0, 0};
  for (const ScalingPoint& point : points) {
    for (int k = 0; k < 2; ++k) mean[k] += std::log(point.x[k]) / static_cast<double>(points.size());
  }
  for (const ScalingPoint& point : points) {
    const double n = std::log(point.x[0]) - mean[0], d = std::log(point.x[1]) - mean[1];
    products[0] += n * n;
    products[1] += d * d;
    products[2] += n * d;
  }
  return products[2] / std::sqrt(products[0] * products[1]);
}

// Returns why L(C) predicts no loss at C = 6ND: a file may count C in another way or unit, such as PF-days. Empty if no
// training shows that.
std::string why_not_at_6nd(const std::vector<ScalingRun>& runs) {
  constexpr double kEqual = 0.05;  // numbers of a file may be rounded
  const auto is_other = [](const ScalingRun& run) {
    if (!run.parameters || !run.tokens || !run.flops) return false;
    return std::abs(*run.flops / (6 * *run.parameters * *run.tokens) - 1) > kEqual;
  };
  return std::ranges::any_of(runs, is_other) ? "C is not 6ND in these trainings" : "";
}

// Why the law cannot be fitted to these points; "" if it can.
std::string obstacle(const LawKind& kind, const std::vector<ScalingPoint>& points, const ScalingFitOptions& options) {
  const std::size_t least = scaling_parameters(1, options) + 1;
  for (std::size_t axis = 0; axis < kind.of.size(); ++axis) {
    const std::size_t values = points.empty() ? 0 : different(points, axis);
    if (kind.of.size() == 1 && values < least)
      return fmt::format("it needs at least {} different {}, got {}", least, kind.of[axis], values);
    if (values < 3) return fmt::format("it needs at least 3 different {}, got {}", kind.of[axis], values);
  }
  const std::size_t needed = scaling_parameters(kind.of.size(), options) + 1;
  if (points.size() < needed) return fmt::format("it needs at least {} trainings, got {}", needed, points.size());
  if (kind.of.size() == 2 && std::abs(log_correlation(points)) > kMostCorrelation) return "N and D change together";
  return "";
}

Json estimate(const ScalingFit& fit, const std::function<double(const ScalingLaw&)>& quantity) {
  const ScalingFit::Interval interval = fit.interval(quantity);
  return {{"value", quantity(fit.law)}, {"low", interval.low}, {"high", interval.high}};
}

Json curve_of(const ScalingFit& fit, double from, double to) {
  Json curve{{"x", Json::array()}, {"loss", Json::array()}, {"low", Json::array()}, {"high", Json::array()}};
  for (int i = 0; i < kCurvePoints; ++i) {
    const double x = from * std::pow(to / from, i / (kCurvePoints - 1.0));
    const Json loss = estimate(fit, [&](const ScalingLaw& law) { return law.loss(std::span(&x, 1)); });
    curve["x"].push_back(rounded(x, kCurveDigits));
    curve["loss"].push_back(rounded(loss["value"], kCurveDigits));
    for (const char* side : {"low", "high"}) curve[side].push_back(rounded(loss[side], kCurveDigits));
  }
  return curve;
}

// Returns the x of a law at which the user wants a prediction; empty if the request does not give them.
std::vector<double> wanted(const LawKind& kind, const LawsRequest& request) {
  const auto both = request.parameters && request.tokens;
  std::vector<double> x;
  for (const std::string_view of : kind.of) {
    if (of == "N" && request.parameters) x.push_back(*request.parameters);
    if (of == "D" && request.tokens) x.push_back(*request.tokens);
    if (of == "C" && both) x.push_back(6 * *request.parameters * *request.tokens);
  }
  return x.size() == kind.of.size() ? x : std::vector<double>();
}

Json law_json(const LawKind& kind, const std::vector<ScalingPoint>& points, const LawsRequest& request) {
  const ScalingFit fit = fit_scaling_law(points, {.irreducible = request.irreducible});
  Json json{{"law", kind.name},
            {"of", kind.of},
            {"points", points.size()},
            {"fitted", !request.irreducible.has_value()},
            {"irreducible", estimate(fit, [](const ScalingLaw& law) { return law.irreducible; })},
            {"terms", Json::array()},
            {"residual", fit.residual}};
  for (std::size_t k = 0; k < kind.of.size(); ++k) {
    json["terms"].push_back({{"exponent", estimate(fit, [k](const ScalingLaw& law) { return law.terms[k].exponent; })},
                             {"scale", estimate(fit, [k](const ScalingLaw& law) { return law.terms[k].scale(); })}});
  }
  const std::vector<double> x = wanted(kind, request);
  if (kind.of.size() == 1) {
    json["places"] = Json::array();
    for (const ScalingPoint& point : points) json["places"].push_back(Json::array({point.x[0], point.loss}));
    const double last = points.back().x[0];
    const bool predicts = !x.empty() && kind.unpredicted.empty();
    json["curve"] = curve_of(fit, points.front().x[0], std::max(kBeyond * last, predicts ? x[0] : last));
  }
  json["prediction"] = Json();
  if (!x.empty() && !kind.unpredicted.empty()) {
    json["unpredicted"] = kind.unpredicted;
  } else if (!x.empty()) {
    const Json loss = estimate(fit, [&](const ScalingLaw& law) { return law.loss(x); });
    json["prediction"] = {{"x", x}, {"loss", loss["value"]}, {"low", loss["low"]}, {"high", loss["high"]}};
  }
  return json;
}

std::string law_text(const Json& law) {
  const bool joint = law["of"].size() > 1;
  std::string text =
      fmt::format("{} = {:.4g}", law["law"].get<std::string>(), law["irreducible"]["value"].get<double>());
  std::vector<std::vector<std::string>> rows{
      {"  irreducible loss", law["fitted"].get<bool>() ? with_interval(law["irreducible"]) : std::string("given")}};
  for (std::size_t k = 0; k < law["of"].size(); ++k) {
    const std::string of = law["of"][k];
    const Json& term = law["terms"][k];
    const double scale = term["scale"]["value"], exponent = term["exponent"]["value"];
    text += fmt::format(" + ({:.4g} / {})^{:.4g}", scale, of, exponent);
    rows.push_back({joint ? "  exponent of " + of : "  exponent", with_interval(term["exponent"])});
    rows.push_back({"  " + of + "_c", with_interval(term["scale"])});
  }
  text +=
      fmt::format("   {} points, residual {:.2g} %\n", law["points"].get<int>(), 100 * law["residual"].get<double>());
  if (const Json& prediction = law["prediction"]; !prediction.is_null()) {
    std::vector<std::string> at;
    for (std::size_t k = 0; k < law["of"].size(); ++k) {
      at.push_back(fmt::format("{} = {:.6g}", law["of"][k].get<std::string>(), prediction["x"][k].get<double>()));
    }
    rows.push_back(
        {"  predicted at " + joined(at, ", "),
         with_interval({{"value", prediction["loss"]}, {"low", prediction["low"]}, {"high", prediction["high"]}})});
  }
  if (law.contains("unpredicted")) rows.push_back({"  not predicted", law["unpredicted"].get<std::string>()});
  return text + Table::fitted(std::move(rows)).text();
}

}  // namespace

std::optional<double> irreducible_loss(const std::string& option, const ScalingRuns& runs) {
  if (option == "free") return std::nullopt;
  if (option == "corpus") {
    if (!runs.entropy) fail_usage("--entropy: expected runs of one generated corpus of known entropy, or a number");
    return runs.entropy;
  }
  const std::optional<double> value = parse_finite_number(option);
  if (!value || *value < 0) fail_usage("--entropy: expected free, corpus or a number of at least 0, got ", option);
  return value;
}

Json laws_json(const ScalingRuns& runs, const LawsRequest& request) {
  Json result{{"unit", runs.unit}, {"runs", Json::array()}, {"laws", Json::array()}, {"skipped", Json::array()}};
  const auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  for (const ScalingRun& run : runs.runs) {
    result["runs"].push_back({{"name", run.name},
                              {"N", number(run.parameters)},
                              {"D", number(run.tokens)},
                              {"C", number(run.flops)},
                              {"loss", run.loss}});
  }
  const std::vector<ScalingRun> means = means_of(runs.runs);
  const std::vector<ScalingPoint> pairs = pairs_of(means);
  const bool grid = pairs.empty() || (different(pairs, 0) > 1 && different(pairs, 1) > 1);
  const ScalingFitOptions options{.irreducible = request.irreducible};
  const std::pair<LawKind, std::vector<ScalingPoint>> laws[] = {
      {{"L(N)", {"N"}, ""}, best_of_each(means, &ScalingRun::parameters)},
      {{"L(D)", {"D"}, ""}, best_of_each(means, &ScalingRun::tokens)},
      {{"L(C)", {"C"}, why_not_at_6nd(runs.runs)}, frontier(best_of_each(means, &ScalingRun::flops))},
      {{"L(N, D)", {"N", "D"}, ""}, pairs}};
  for (const auto& [kind, points] : laws) {
    std::string why = obstacle(kind, points, options);
    if (why.empty() && kind.name == std::string_view("L(C)") && !grid)
      why = "C = 6ND only repeats what changes of N and D";
    if (why.empty()) {
      result["laws"].push_back(law_json(kind, points, request));
    } else {
      result["skipped"].push_back({{"law", kind.name}, {"why", why}});
    }
  }
  if (result["laws"].empty()) {
    fail("no scaling law can be fitted: L(N): ", result["skipped"][0]["why"].get<std::string>(),
         "; L(D): ", result["skipped"][1]["why"].get<std::string>());
  }
  return result;
}

std::string laws_text(const Json& result) {
  std::vector<std::vector<std::string>> rows{{"N", "D", "C", "loss", "training"}};
  for (const Json& run : result["runs"]) {
    const auto cell = [&](const char* key) {
      return run[key].is_null() ? "–" : fmt::format("{:.6g}", run[key].get<double>());
    };
    rows.push_back({cell("N"), cell("D"), cell("C"), fmt::format("{:.4f}", run["loss"].get<double>()), run["name"]});
  }
  std::string text = Table::fitted(std::move(rows)).text() + "\n";
  for (const Json& law : result["laws"]) text += law_text(law);
  for (const Json& law : result["skipped"]) {
    text += fmt::format("{} is not fitted: {}\n", law["law"].get<std::string>(), law["why"].get<std::string>());
  }
  return text + "losses in " + result["unit"].get<std::string>() +
         "; N without embeddings and heads; in brackets 90 % of the bootstrap\n";
}

std::string with_interval(const Json& value) {
  return fmt::format("{:.4g} [{:.4g}, {:.4g}]", value["value"].get<double>(), value["low"].get<double>(),
                     value["high"].get<double>());
}

}  // namespace tapeformer::cli
