// The table that op_cases() makes, family by family. It is private to this folder.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autograd/gradcheck/op_cases.h"
#include "core/random.h"

namespace tapeformer {

using Inputs = std::span<const Variable>;

// Collects the rows. Every input has its own random stream.
class OpTable {
 public:
  std::vector<OpCase> rows;

  // An op, and the name under which a row is shown, where it is another one.
  struct Name {
    std::string op, shown = {};
    Name(const char* op) : op(op) {}  // NOLINT
    Name(const char* op, std::string shown) : op(op), shown(std::move(shown)) {}
  };

  void add(Name name, std::string label, std::vector<Tensor> inputs, TapeFunction function) {
    rows.push_back(
        {std::move(name.op), std::move(label), std::move(inputs), std::move(function), std::move(name.shown)});
  }

  Tensor normal(const Dims& sizes) { return random_normal(sizes, ++stream_); }
  // In [0.5, 2).
  Tensor positive(const Dims& sizes) {
    RandomStream random = next_stream();
    const Tensor tensor = Tensor::empty(sizes, DType::f64);
    for (double& value : tensor.span<double>()) value = 0.5 + 1.5 * random.uniform();
    return tensor;
  }
  // Values 0.1 apart in random order, at least 0.03 away from 0: away from the kinks of max and relu.
  Tensor distinct(const Dims& sizes) {
    RandomStream random = next_stream();
    const Tensor tensor = Tensor::empty(sizes, DType::f64);
    const std::span<double> values = tensor.span<double>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 0.1 * (static_cast<double>(i) - static_cast<double>(values.size() / 2)) + 0.03;
      std::swap(values[i], values[random.below(i + 1)]);
    }
    return tensor;
  }

 private:
  RandomStream next_stream() { return RandomStream(RandomKey{.stream = ++stream_}); }
  std::uint64_t stream_ = 0;
};

inline Tensor ids(std::initializer_list<std::int32_t> values, const Dims& sizes) { return Tensor::from(values, sizes); }

// elementwise_cases.cpp
void add_arithmetic(OpTable& t);
void add_functions(OpTable& t);
// view_cases.cpp
void add_views(OpTable& t);
void add_reductions(OpTable& t);
// layer_cases.cpp
void add_products(OpTable& t);
void add_layers(OpTable& t);
void add_convolutions(OpTable& t);
void add_recurrent(OpTable& t);
void add_losses(OpTable& t);
// attention_cases.cpp
void add_attention(OpTable& t);
void add_head_transforms(OpTable& t);
void add_value_widths(OpTable& t);
// tape_cases.cpp
void add_recompute(OpTable& t);
void add_hooks(OpTable& t);

}  // namespace tapeformer
