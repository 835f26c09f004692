// Initial values of parameters.
#pragma once

#include "autograd/tensor/tensor.h"
#include "core/random.h"

namespace tapeformer {

// A distribution for the values of one parameter.
struct Init {
  enum class Kind { constant, normal, xavier_uniform };
  Kind kind = Kind::constant;
  double value = 0;  // the constant, or the standard deviation

  static Init zeros() { return {Kind::constant, 0}; }
  static Init ones() { return {Kind::constant, 1}; }
  static Init normal(double standard_deviation) { return {Kind::normal, standard_deviation}; }
  // Uniform in ±√(6/(fan_in + fan_out)) for a matrix (fan_out, fan_in) (Glorot & Bengio 2010).
  static Init xavier_uniform() { return {Kind::xavier_uniform, 0}; }
};

// Fills a contiguous tensor with values that depend on the key alone, not on threads.
void initialize(const Tensor& tensor, const Init& init, const RandomKey& key);

}  // namespace tapeformer
