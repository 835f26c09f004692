#include "tasks/analysis/scaling_law.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/random.h"

namespace tapeformer {
namespace {

constexpr double kHuber = 0.01;  // residuals up to this are squared
constexpr int kMostLawSteps = 300;
constexpr double kLawConverged = 1e-13;  // the relative decrease of the cost at which a fit ends
// Where the fits begin: shares of the least loss that are irreducible, and exponents.
constexpr double kIrreducibleStarts[] = {0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.97}, kExponentStarts[] = {0.1, 0.4, 1};
constexpr std::uint64_t kBootstrapStream = 0x7363616c696e6721;

double huber_loss(double r) { return std::abs(r) <= kHuber ? r * r / 2 : kHuber * (std::abs(r) - kHuber / 2); }

// Solves A x = b for a symmetric positive definite A, (n, n), by Gaussian elimination.
std::vector<double> solve_symmetric(std::vector<double> a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] / a[k * n + k];
      for (std::size_t j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k * n + j] * b[j];
    b[k] /= a[k * n + k];
  }
  return b;
}

// The problem with ln x centred, so that factors and exponents hardly depend on each other.
struct LawProblem {
  std::size_t terms = 0;
  std::vector<double> centres;  // (terms): means of ln x
  std::vector<double> z;        // (points, terms): ln x minus its mean
  std::vector<double> log_loss, loss;

  explicit LawProblem(std::span<const ScalingPoint> points) : terms(points.front().x.size()), centres(terms, 0) {
    for (const ScalingPoint& point : points) {
      for (std::size_t k = 0; k < terms; ++k)
        centres[k] += std::log(point.x[k]) / static_cast<double>(std::size(points));
      loss.push_back(point.loss);
      log_loss.push_back(std::log(point.loss));
    }
    for (const ScalingPoint& point : points) {
      for (std::size_t k = 0; k < terms; ++k) z.push_back(std::log(point.x[k]) - centres[k]);
    }
  }
  std::size_t points() const { return loss.size(); }
};

// The values that a fit changes: the irreducible loss, then the logarithm of the factor and the exponent of each term.
using LawValues = std::vector<double>;

double law_value(const LawProblem& problem, const LawValues& values, std::size_t i) {
  double sum = values[0];
  for (std::size_t k = 0; k < problem.terms; ++k) {
    sum += std::exp(values[1 + 2 * k] - values[2 + 2 * k] * problem.z[i * problem.terms + k]);
  }
  return sum;
}

double law_cost(const LawProblem& problem, const LawValues& values) {
  double sum = 0;
  for (std::size_t i = 0; i < problem.points(); ++i) {
    const double at = law_value(problem, values, i);
    if (!(at > 0) || !std::isfinite(at)) return std::numeric_limits<double>::infinity();
    sum += huber_loss(std::log(at) - problem.log_loss[i]);
  }
  return sum;
}

// The normal equations of the weighted least squares that approximate Huber's loss near `values`: A = JᵀWJ, g = JᵀWr,
// with the weights W = min(1, kHuber / |r|). LawValues before `first` are fixed.
struct NormalEquations {
  std::vector<double> a, g;

  NormalEquations(const LawProblem& problem, const LawValues& values, std::size_t first)
      : a((values.size() - first) * (values.size() - first), 0), g(values.size() - first, 0) {
    const std::size_t n = g.size();
    std::vector<double> slope(values.size());
    for (std::size_t i = 0; i < problem.points(); ++i) {
      const double at = law_value(problem, values, i), r = std::log(at) - problem.log_loss[i];
      const double weight = std::abs(r) <= kHuber ? 1 : kHuber / std::abs(r);
      slope[0] = 1 / at;
      for (std::size_t k = 0; k < problem.terms; ++k) {
        const double z = problem.z[i * problem.terms + k];
        const double share = std::exp(values[1 + 2 * k] - values[2 + 2 * k] * z) / at;
        slope[1 + 2 * k] = share;
        slope[2 + 2 * k] = -z * share;
      }
      for (std::size_t p = 0; p < n; ++p) {
        g[p] += weight * slope[first + p] * r;
        for (std::size_t q = 0; q < n; ++q) a[p * n + q] += weight * slope[first + p] * slope[first + q];
      }
    }
  }
};

struct LawMinimum {
  LawValues values;
  double cost = std::numeric_limits<double>::infinity();
};

// Minimises the cost from `values` by the method of Levenberg and Marquardt. The irreducible loss is fixed, or at least
// 0.
LawMinimum descend_law(const LawProblem& problem, LawValues values, bool fixed) {
  const std::size_t first = fixed ? 1 : 0;
  LawMinimum found{std::move(values)};
  found.cost = law_cost(problem, found.values);
  double damping = 1e-3;
  for (int iteration = 0; iteration < kMostLawSteps && damping < 1e12; ++iteration) {
    const NormalEquations equations(problem, found.values, first);
    const std::size_t n = equations.g.size();
    std::vector<double> damped = equations.a;
    for (std::size_t p = 0; p < n; ++p) damped[p * n + p] += damping * equations.a[p * n + p] + 1e-300;
    const std::vector<double> step = solve_symmetric(std::move(damped), equations.g);
    LawValues next = found.values;
    for (std::size_t p = 0; p < n; ++p) next[first + p] -= step[p];
    next[0] = std::max(next[0], 0.0);
    const double next_cost = law_cost(problem, next);
    if (!(next_cost < found.cost)) {
      damping *= 4;
      continue;
    }
    const bool converged = found.cost - next_cost <= kLawConverged * found.cost;
    found = {std::move(next), next_cost};
    damping = std::max(damping / 8, 1e-12);
    if (converged) break;
  }
  return found;
}

// Minimises the cost from `values`. If the irreducible loss ends at its bound, 0, minimises again with this value
// fixed, because the bound may have stopped the descent of the other values.
LawMinimum fit_law_from(const LawProblem& problem, const LawValues& values, bool fixed) {
  LawMinimum found = descend_law(problem, values, fixed);
  return !fixed && found.values[0] == 0 ? descend_law(problem, std::move(found.values), true) : found;
}

LawMinimum fit_from_all_starts(const LawProblem& problem, const std::optional<double>& irreducible) {
  const double least = std::ranges::min(problem.loss);
  double mean = 0;
  for (const double loss : problem.loss) mean += loss / static_cast<double>(problem.points());
  const auto combinations =
      static_cast<std::size_t>(std::pow(std::size(kExponentStarts), static_cast<double>(problem.terms)));
  LawMinimum best;
  for (const double share : kIrreducibleStarts) {
    for (std::size_t combination = 0; combination < combinations; ++combination) {
      LawValues start{irreducible.value_or(share * least)};
      const double above = std::log((mean - start[0]) / static_cast<double>(problem.terms));
      for (std::size_t k = 0, rest = combination; k < problem.terms; ++k, rest /= std::size(kExponentStarts)) {
        start.insert(start.end(), {above, kExponentStarts[rest % std::size(kExponentStarts)]});
      }
      LawMinimum found = fit_law_from(problem, start, irreducible.has_value());
      if (found.cost < best.cost) best = std::move(found);
    }
    if (irreducible) break;
  }
  check(std::isfinite(best.cost), "no scaling law fits these points");
  return best;
}

ScalingLaw law_of(const LawProblem& problem, const LawValues& values) {
  ScalingLaw law{.irreducible = values[0], .terms = {}};
  for (std::size_t k = 0; k < problem.terms; ++k) {
    const double exponent = values[2 + 2 * k];
    law.terms.push_back({values[1 + 2 * k] + exponent * problem.centres[k], exponent});
  }
  return law;
}

}  // namespace

double ScalingLaw::Term::scale() const { return std::exp(log_factor / exponent); }

double ScalingLaw::loss(std::span<const double> x) const {
  double sum = irreducible;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    sum += std::exp(terms[k].log_factor - terms[k].exponent * std::log(x[k]));
  }
  return sum;
}

ScalingFit::Interval ScalingFit::interval(const std::function<double(const ScalingLaw&)>& quantity) const {
  std::vector<double> values;
  for (const ScalingLaw& draw : draws) values.push_back(quantity(draw));
  if (values.empty()) values.push_back(quantity(law));
  std::ranges::sort(values);
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(std::round(share * static_cast<double>(values.size() - 1)))];
  };
  return {at(0.05), at(0.95)};
}

std::size_t scaling_parameters(std::size_t terms, const ScalingFitOptions& options) {
  return 2 * terms + (options.irreducible ? 0 : 1);
}

ScalingFit fit_scaling_law(std::span<const ScalingPoint> points, const ScalingFitOptions& options) {
  check(!points.empty(), "a scaling law: expected points, got none");
  const std::size_t parameters = scaling_parameters(points.front().x.size(), options);
  check(points.size() > parameters, "a scaling law: expected at least ", parameters + 1, " points, got ",
        points.size());
  LawProblem problem(points);
  const double least = std::ranges::min(problem.loss);
  check(least > options.irreducible.value_or(0), "a scaling law: expected losses above ",
        options.irreducible.value_or(0), ", the irreducible one, got ", least);
  const LawMinimum best = fit_from_all_starts(problem, options.irreducible);
  ScalingFit fit{.law = law_of(problem, best.values), .residual = 0, .draws = {}};

  const auto count = static_cast<double>(points.size());
  std::vector<double> fitted, residuals;
  for (std::size_t i = 0; i < points.size(); ++i) {
    fitted.push_back(std::log(law_value(problem, best.values, i)));
    residuals.push_back(problem.log_loss[i] - fitted[i]);
    fit.residual += residuals[i] * residuals[i] / count;
  }
  fit.residual = std::sqrt(fit.residual);
  const double widened = std::sqrt(count / (count - static_cast<double>(parameters)));
  for (int draw = 0; draw < options.draws; ++draw) {
    RandomStream random({.seed = options.seed, .step = static_cast<std::uint32_t>(draw), .stream = kBootstrapStream});
    for (std::size_t i = 0; i < points.size(); ++i) {
      problem.log_loss[i] = fitted[i] + widened * residuals[random.below(residuals.size())];
    }
    fit.draws.push_back(law_of(problem, fit_law_from(problem, best.values, options.irreducible.has_value()).values));
  }
  return fit;
}

}  // namespace tapeformer
