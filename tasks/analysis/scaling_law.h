// Scaling laws: how the loss falls with the parameters, the tokens and the operations of a training.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tapeformer {

// L(x) = irreducible + Σ_k (scale_k / x_k)^exponent_k. With one term this is L(N), L(D) or L(C) of Kaplan et al. 2020
// ("Scaling Laws for Neural Language Models") with an irreducible loss; with the terms N and D it is the joint law of
// Hoffmann et al. 2022 ("Training Compute-Optimal Large Language Models", equation 2), where A = scale^exponent.
struct ScalingLaw {
  struct Term {
    double log_factor = 0, exponent = 0;  // the term is exp(log_factor − exponent · ln x)
    double scale() const;                 // the x at which the term is 1
  };
  double irreducible = 0;
  std::vector<Term> terms;

  // `x` has one value, above 0, for each term.
  double loss(std::span<const double> x) const;
};

// A training that was measured.
struct ScalingPoint {
  std::vector<double> x;  // above 0
  double loss = 0;        // above 0
};

struct ScalingFitOptions {
  std::optional<double> irreducible = {};  // nullopt: it is fitted, and at least 0
  int draws = 1000;                        // of the bootstrap
  std::uint64_t seed = 1;
};

struct ScalingFit {
  ScalingLaw law;
  double residual = 0;            // root mean square of ln L(x) − ln loss
  std::vector<ScalingLaw> draws;  // the laws of the bootstrap

  struct Interval {
    double low, high;
  };
  // Where 90 % of the draws have this quantity: from its 5th to its 95th percentile.
  Interval interval(const std::function<double(const ScalingLaw&)>& quantity) const;
};

// Returns the number of values that a fit of a law with `terms` terms determines.
std::size_t scaling_parameters(std::size_t terms, const ScalingFitOptions& options);

// Fits the law to points with equally many x. It minimises the sum of the Huber losses of ln L(x) − ln loss, which are
// quadratic below 0.01 (1 % of the loss) and linear above (Hoffmann et al. 2022, section 3.3, with a smaller bound), by
// the Levenberg–Marquardt method from several starts. The bootstrap draws the residuals, widened by
// √(points / (points − parameters)), and fits each time again.
// Throws Error for fewer points than scaling_parameters() and one more, and for a loss that is not above the given
// irreducible one.
ScalingFit fit_scaling_law(std::span<const ScalingPoint> points, const ScalingFitOptions& options = {});

}  // namespace tapeformer
