// Scaling laws are found again from points that were made by them.
#include <doctest/doctest.h>

#include <cmath>

#include "core/error.h"
#include "core/random.h"
#include "tasks/analysis/scaling_law.h"

using namespace tapeformer;
using doctest::Approx;

namespace {

// Points of L = irreducible + (scale / x)^exponent at x over five powers of ten, with relative noise of this standard
// deviation.
std::vector<ScalingPoint> points_of_power(double irreducible, double scale, double exponent, double noise,
                                          int count = 160, std::uint64_t seed = 7) {
  RandomStream random({.seed = seed});
  std::vector<ScalingPoint> points;
  for (int i = 0; i < count; ++i) {
    const double x = 1e3 * std::pow(10, 5.0 * i / count);
    points.push_back({{x}, (irreducible + std::pow(scale / x, exponent)) * std::exp(noise * random.normal())});
  }
  return points;
}

// Points of the joint law, with 0.5 % noise.
std::vector<ScalingPoint> points_of_both(double a, double alpha, double b, double beta) {
  RandomStream random({.seed = 8});
  std::vector<ScalingPoint> points;
  for (double n = 1e4; n < 2e8; n *= 2) {
    for (double d = 1e6; d < 2e10; d *= 2) {
      const double loss = 1.69 + a / std::pow(n, alpha) + b / std::pow(d, beta);
      points.push_back({{n, d}, loss * std::exp(0.005 * random.normal())});
    }
  }
  return points;
}

}  // namespace

TEST_CASE("scaling law: exact points give its numbers, with an irreducible loss and without") {
  for (const double irreducible : {0.0, 0.7}) {
    const ScalingFit fit = fit_scaling_law(points_of_power(irreducible, 2e4, 0.31, 0), {.draws = 10});
    CHECK(fit.law.irreducible == Approx(irreducible).epsilon(1e-6));
    CHECK(fit.law.terms[0].exponent == Approx(0.31).epsilon(1e-6));
    CHECK(fit.law.terms[0].scale() == Approx(2e4).epsilon(1e-5));
    CHECK(fit.residual < 1e-7);
    const double x = 1e9;
    CHECK(fit.law.loss(std::span(&x, 1)) == Approx(irreducible + std::pow(2e4 / 1e9, 0.31)).epsilon(1e-6));
  }
}

TEST_CASE("scaling law: exponents are recovered to 1 % from points with noise of 0.5 %") {
  struct Truth {
    double irreducible, scale, exponent;
  };
  // Kaplan's three exponents (with his scales), and steeper ones with an irreducible loss.
  for (const Truth& truth : {Truth{0, 8.8e13, 0.076}, Truth{0, 5.4e13, 0.095}, Truth{0, 3.1e8, 0.050},
                             Truth{0.7, 2e5, 0.31}, Truth{1.7, 1e6, 0.5}}) {
    CAPTURE(truth.exponent);
    const std::vector<ScalingPoint> points = points_of_power(truth.irreducible, truth.scale, truth.exponent, 0.005);
    for (const bool known : {true, false}) {
      ScalingFitOptions options{.draws = 0};
      if (known) options.irreducible = truth.irreducible;
      // Where no point comes near the floor, as in Kaplan's laws, the floor must be known.
      if (!known && truth.irreducible == 0) continue;
      const ScalingFit fit = fit_scaling_law(points, options);
      CHECK(fit.law.terms[0].exponent == Approx(truth.exponent).epsilon(0.01));
      CHECK(fit.residual == Approx(0.005).epsilon(0.3));
    }
  }
}

TEST_CASE("scaling law: nine of ten intervals have the true exponent, even from few points") {
  int covered = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const ScalingFit fit = fit_scaling_law(points_of_power(0.7, 2e5, 0.31, 0.005, 10, seed), {.draws = 100});
    const auto interval = fit.interval([](const ScalingLaw& law) { return law.terms[0].exponent; });
    covered += interval.low < 0.31 && 0.31 < interval.high ? 1 : 0;
  }
  CHECK(covered >= 82);
  CHECK(covered <= 97);
}

TEST_CASE("scaling law: the joint law of parameters and tokens") {
  const ScalingFit fit = fit_scaling_law(points_of_both(406.4, 0.34, 410.7, 0.28), {.draws = 20});
  CHECK(fit.law.irreducible == Approx(1.69).epsilon(0.01));
  CHECK(fit.law.terms[0].exponent == Approx(0.34).epsilon(0.01));
  CHECK(fit.law.terms[1].exponent == Approx(0.28).epsilon(0.01));
  // Chinchilla: 70 billion parameters, 1.4 trillion tokens.
  const double x[] = {70e9, 1.4e12};
  CHECK(fit.law.loss(x) == Approx(1.69 + 406.4 / std::pow(70e9, 0.34) + 410.7 / std::pow(1.4e12, 0.28)).epsilon(0.005));
}

TEST_CASE("scaling law: one bad training hardly moves it") {
  std::vector<ScalingPoint> points = points_of_power(0.7, 2e5, 0.31, 0.002);
  points[80].loss *= 1.5;
  CHECK(fit_scaling_law(points, {.draws = 0}).law.terms[0].exponent == Approx(0.31).epsilon(0.02));
}

TEST_CASE("scaling law: the same seed draws the same bootstrap") {
  const std::vector<ScalingPoint> points = points_of_power(0.7, 2e5, 0.31, 0.005);
  const auto low = [&](std::uint64_t seed) {
    return fit_scaling_law(points, {.draws = 50, .seed = seed})
        .interval([](const ScalingLaw& law) { return law.irreducible; })
        .low;
  };
  CHECK(low(1) == low(1));
  CHECK(low(1) != low(2));
}

TEST_CASE("scaling law: too few points, and losses at the floor, are refused") {
  const std::vector<ScalingPoint> points = points_of_power(0.7, 2e4, 0.31, 0);
  CHECK_THROWS_WITH_AS(fit_scaling_law(std::span(points).first(3)), "a scaling law: expected at least 4 points, got 3",
                       Error);
  CHECK_THROWS_WITH_AS(fit_scaling_law(std::span(points).first(2), {.irreducible = 0.7}),
                       "a scaling law: expected at least 3 points, got 2", Error);
  CHECK_THROWS_AS(fit_scaling_law(points, {.irreducible = 1}), Error);
}
