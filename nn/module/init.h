// Initial values of parameters.
#pragma once

#include <cmath>

#include "autograd/tensor/tensor.h"
#include "core/random.h"

namespace tapeformer {

// A distribution for the values of one parameter.
struct Init {
  enum class Kind { constant, normal, truncated_normal, uniform, xavier_uniform };
  // A number that is added to some elements, such as the forget gate's part of a bias.
  struct Shift {
    std::int64_t begin = 0, end = 0;
    double value = 0;
  };
  Kind kind = Kind::constant;
  double value = 0;  // the constant, the standard deviation, or the bound
  Shift shift = {};

  static Init constant(double value) { return {Kind::constant, value}; }
  static Init zeros() { return {Kind::constant, 0}; }
  static Init ones() { return {Kind::constant, 1}; }
  static Init normal(double standard_deviation) { return {Kind::normal, standard_deviation}; }
  // A normal distribution truncated at two standard deviations (Devlin et al. 2019). The standard deviation of the
  // truncated distribution is 0.88 times `standard_deviation`.
  static Init truncated_normal(double standard_deviation) { return {Kind::truncated_normal, standard_deviation}; }
  // Uniform in ±bound.
  static Init uniform(double bound) { return {Kind::uniform, bound}; }
  // Uniform in ±1/√fan_in, as in torch.nn.Linear.
  static Init uniform_fan_in(std::int64_t fan_in) { return uniform(1 / std::sqrt(static_cast<double>(fan_in))); }
  // Uniform in ±√(6/(fan_in + fan_out)) for a matrix (fan_out, fan_in) (Glorot & Bengio 2010).
  static Init xavier_uniform() { return {Kind::xavier_uniform, 0}; }
};

// Fills a contiguous tensor with values that depend only on the key, not on the number of threads.
void initialize(const Tensor& tensor, const Init& init, const RandomKey& key);

}  // namespace tapeformer
