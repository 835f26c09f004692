#include "train/run/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "train/run/loss_curve.h"
#include "train/run/overfitting.h"

namespace tapeformer {
namespace {

constexpr double kRisen = 1.02, kFalling = 0.01, kEqual = 1.02, kFar = 1.1;
constexpr double kLearned = 0.05;  // ratios of smaller losses say little
constexpr double kCooled = 0.5;    // a learning rate below this share of its peak has come down

// Returns the last learning rate as a share of the largest one; 1 if there are none.
double cooling(std::span<const nlohmann::ordered_json> lines) {
  double peak = 0, last = 0;
  for (const auto& line : lines) {
    const auto lr = line.find("lr");
    if (lr == line.end() || !lr->is_number()) continue;
    last = lr->get<double>();
    peak = std::max(peak, last);
  }
  return peak > 0 ? last / peak : 1;
}

std::string overfitting_text(const Overfitting& found) {
  return fmt::format(
      "overfitting: after step {} the training loss fell from {:.4g} to {:.4g}, and the validation loss rose from "
      "{:.4g} to {:.4g}: the model learns its training data by heart; more data, a smaller model, more dropout or "
      "fewer steps would help",
      found.step, found.before, found.after, found.best, found.last);
}

// Says how the validation loss changed over the last quarter of the evaluations; "" if they are too few to say.
std::string course_text(std::span<const LossPoint> curve, double cooling) {
  const std::size_t quarter = curve.size() / 4;
  if (quarter == 0) return "";
  const double first = curve[curve.size() - 1 - quarter].validation, last = curve.back().validation;
  const std::string over = quarter == 1 ? "the last evaluation" : fmt::format("the last {} evaluations", quarter);
  const bool cooled = cooling < kCooled;
  const std::string rate =
      cooled ? fmt::format(", at a learning rate that came down to {:.2g} % of its peak", 100 * cooling) : "";
  if (last < (1 - kFalling) * first) {
    return fmt::format(
        "still falling: over {} the validation loss fell by {:.3g} %, from {:.4g} to {:.4g}{}: a longer training would "
        "probably lower it further",
        over, 100 * (1 - last / first), first, last, rate);
  }
  if (quarter < 2) return "";
  return fmt::format("settled: over {} the validation loss went from {:.4g} to {:.4g}{}{}", over, first, last, rate,
                     cooled ? "" : ": as far as the curve shows, more steps at this rate would change little");
}

// Describes a last evaluation that is worse than the best one, without overfitting.
std::string risen_text(const LossPoint& best, const LossPoint& last) {
  std::string text = fmt::format("the validation loss rose after step {}, from {:.4g} to {:.4g}", best.step,
                                 best.validation, last.validation);
  if (best.training && last.training && *last.training >= *best.training) {
    text += fmt::format(", while the training loss went from {:.4g} to {:.4g}: a smaller learning rate might help",
                        *best.training, *last.training);
  }
  return text;
}

std::string equal_text(double training, double validation, bool dropout) {
  return fmt::format(
      "the validation loss, {:.4g}, is no more than 2 % above the training loss{}, {:.4g}: nothing is learned by "
      "heart, so the model is too small or was trained too short; more steps{} or a larger model might help",
      validation, dropout ? " (with dropout)" : "", training, dropout ? ", less dropout" : "");
}

bool is_equal(const LossPoint& point) {
  return point.training && point.validation <= kEqual * (*point.training - point.training_error);
}
bool is_far(const LossPoint& point) {
  return point.training && point.validation > kFar * (*point.training + point.training_error);
}

// Whether the validation loss was far above the training loss at the last evaluation before anything was read twice.
// The training loss is then one of data that the model had not seen either.
bool was_far_in_first_pass(std::span<const LossPoint> curve, double passes) {
  const double steps_of_pass = static_cast<double>(curve.back().step) / passes;
  const auto later = std::ranges::find_if(
      curve, [&](const LossPoint& point) { return static_cast<double>(point.step) > steps_of_pass; });
  return later != curve.begin() && is_far(*std::prev(later));
}

std::string far_text(std::span<const LossPoint> curve, double passes) {
  const double training = *curve.back().training, validation = curve.back().validation;
  return fmt::format(
      "the validation loss, {:.4g}, is {:.0f} % above the training loss, {:.4g}, after {:.1f} passes over the training "
      "data: {}",
      validation, 100 * (validation / training - 1), training, passes,
      was_far_in_first_pass(curve, passes)
          ? "the validation data is harder than the training data, or of another kind"
          : "the data is small for the model: more data or more dropout might help, a larger model would not");
}

}  // namespace

std::vector<std::string> training_verdict(std::span<const nlohmann::ordered_json> lines, const VerdictFacts& facts) {
  const auto earlier = [&](const auto& line) { return line["step"].template get<std::int64_t>() <= facts.terms_since; };
  const auto first = std::ranges::find_if_not(lines, earlier);
  const std::vector<LossPoint> curve = loss_curve({first, lines.end()});
  if (curve.empty() || facts.best_step == 0) return {};
  const LossPoint last = curve.back();
  if (const auto overfitting = find_overfitting(curve, facts.best_step)) return {overfitting_text(*overfitting)};
  const auto best = std::ranges::find(curve, facts.best_step, &LossPoint::step);
  if (best != curve.end() && last.validation > kRisen * best->validation) {
    return {risen_text(*best, last)};
  }
  std::vector<std::string> verdict;
  if (const std::string course = course_text(curve, cooling(lines)); !course.empty()) verdict.push_back(course);
  if (facts.generated || last.validation < kLearned) return verdict;
  if (is_equal(last)) {
    if (curve.size() > 1) verdict.push_back(equal_text(*last.training, last.validation, facts.dropout));
  } else if (is_far(last) && facts.passes) {
    verdict.push_back(far_text(curve, *facts.passes));
  }
  return verdict;
}

}  // namespace tapeformer
