// Exponentials, logarithms and the functions behind activations, a vector at a time, for float and double. NaN gives
// NaN, infinities give the limits. The coefficients come from scripts/fit_vector_math.py.
#if defined(TAPEFORMER_VECTOR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEFORMER_VECTOR_MATH_INL_H
#undef TAPEFORMER_VECTOR_MATH_INL_H
#else
#define TAPEFORMER_VECTOR_MATH_INL_H
#endif

#include <limits>
#include <type_traits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// min(x, bound) and max(x, bound) that keep NaN; Highway's Min and Max may return the bound instead.
template <class V>
HWY_INLINE V at_most(V x, V bound) {
  return hn::IfThenElse(hn::Gt(x, bound), bound, x);
}
template <class V>
HWY_INLINE V at_least(V x, V bound) {
  return hn::IfThenElse(hn::Lt(x, bound), bound, x);
}

// c0 + c1·x + c2·x² + …
template <class D, class V, class C>
HWY_INLINE V polynomial(D d, V, C c0) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(c0));
}
template <class D, class V, class C, class... Cs>
HWY_INLINE V polynomial(D d, V x, C c0, Cs... cs) {
  return hn::MulAdd(polynomial(d, x, cs...), x, hn::Set(d, static_cast<hn::TFromD<D>>(c0)));
}

// e^x = 2·half_power·(1 + fraction), with half_power a power of two (or 0, below the smallest normal number).
template <class V>
struct ExpParts {
  V half_power, fraction;
};

// x = q·ln 2 + r with integer q and |r| <= ln 2/2. Adding 1.5·2^(mantissa bits) rounds x/ln 2 to q and leaves q plus
// the exponent's bias in the low bits: shifted to the place of the exponent they are 2^(q − 1).
template <class D, class V = hn::Vec<D>>
HWY_INLINE ExpParts<V> exp_parts(D d, V x) {
  using T = hn::TFromD<D>;
  constexpr bool kFloat = std::is_same_v<T, float>;
  constexpr int kMantissaBits = kFloat ? 23 : 52;
  const hn::RebindToSigned<D> di;
  const auto set = [d](double value) SIMD_LAMBDA { return hn::Set(d, static_cast<T>(value)); };

  // Beyond these the result overflows, or half_power is exactly 0.
  x = at_most(at_least(x, set(kFloat ? -87.2 : -708.4)), set(kFloat ? 89 : 710));
  const V shift = set(kFloat ? 0x1.8p23 + 126 : 0x1.8p52 + 1022);
  const V shifted = hn::MulAdd(x, set(1.4426950408889634), shift);
  const V q = hn::Sub(shifted, shift);
  const V half_power = hn::BitCast(d, hn::ShiftLeft<kMantissaBits>(hn::BitCast(di, shifted)));
  // ln 2 in two parts; the first has so few digits that q times it is exact.
  V r = hn::NegMulAdd(q, set(kFloat ? 0x1.63p-1 : 0x1.62e42fefap-1), x);
  r = hn::NegMulAdd(q, set(kFloat ? -2.1219444005469057e-4 : 1.6465949582897082e-12), r);

  // (e^r − 1 − r)/r²
  V rest;
  if constexpr (kFloat) {
    rest = polynomial(d, r, 0.499999933f, 0.166665208f, 0.0416684391f, 0.00836868778f, 0.00138111838f);
  } else {
    rest = polynomial(d, r, 0.50000000000000111, 0.16666666666666419, 0.041666666666530093, 0.0083333333334904124,
                      0.0013888888943638219, 0.00019841269515699563, 2.4801493100779154e-05, 2.7557578080731089e-06,
                      2.7630244407987264e-07, 2.5002701705221546e-08);
  }
  return {half_power, hn::MulAdd(hn::Mul(r, r), rest, r)};
}

// e^x. Results below the smallest normal number may be 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp(D d, V x) {
  const ExpParts<V> e = exp_parts(d, x);
  const V half = hn::Mul(e.half_power, hn::Add(e.fraction, hn::Set(d, 1)));
  return hn::Add(half, half);
}

// e^x − 1, accurate near 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V expm1(D d, V x) {
  const ExpParts<V> e = exp_parts(d, x);
  const V half = hn::MulAdd(e.half_power, e.fraction, hn::Sub(e.half_power, hn::Set(d, 0.5)));
  return hn::Add(half, half);
}

// Natural logarithm: −∞ at 0, NaN below.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log(D d, V x) {
  const V infinity = hn::Inf(d), zero = hn::Zero(d);
  const V special = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::Sqrt(x));
  return hn::IfThenElse(hn::And(hn::Gt(x, zero), hn::Lt(x, infinity)), hn::Log(d, x), special);
}

// tanh x = (e^2|x| − 1)/(e^2|x| + 1) with the sign of x.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanh(D d, V x) {
  const V magnitude = at_most(hn::Abs(x), hn::Set(d, 20));  // from there on tanh rounds to 1
  const V e = expm1(d, hn::Add(magnitude, magnitude));
  return hn::CopySign(hn::Div(e, hn::Add(e, hn::Set(d, 2))), x);
}

// 1/(1 + e^−x)
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1);
  return hn::Div(one, hn::Add(one, exp(d, hn::Neg(x))));
}

// The tail of the standard normal distribution: tail = Φ(−|x|) = erfc(|x|/√2)/2, with a small relative error even where
// it is tiny, and bell = e^(−x²/2). z = |x|, or a bound where |x| is larger.
template <class V>
struct NormalTail {
  V tail, bell, z;
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE NormalTail<V> normal_tail(D d, V x) {
  using T = hn::TFromD<D>;
  const V z = at_most(hn::Abs(x), hn::Set(d, std::is_same_v<T, float> ? 16 : 40));  // from there on bell is 0
  const V bell = exp(d, hn::Mul(hn::Mul(z, z), hn::Set(d, -0.5)));
  // Φ(−z)·e^(z²/2)
  V numerator, denominator;
  if constexpr (std::is_same_v<T, float>) {
    numerator = polynomial(d, z, 0.500000001f, 0.417703914f, 0.168354615f, 0.0357089763f, 0.00340695174f);
    denominator = polynomial(d, z, 1.f, 1.63329248f, 1.13988683f, 0.430237808f, 0.0895258812f, 0.008539544f);
  } else {
    numerator =
        polynomial(d, z, 0.5, 0.66923016620364528, 0.44601343158207241, 0.18666548364137395, 0.052963721303508328,
                   0.010375597560146064, 0.0013699966927275037, 0.00011192742162120572, 4.3734983691027019e-06);
    denominator = polynomial(d, z, 1.0, 2.1363448932101599, 2.0965834700064359, 1.2439516220997995, 0.49335103686404036,
                             0.13617227894868719, 0.026288338369035262, 0.0034450347538843443, 0.00028056044959913381,
                             1.0962734562947508e-05);
  }
  return {hn::Mul(bell, hn::Div(numerator, denominator)), bell, z};
}

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
