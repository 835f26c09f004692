#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "autograd/tensor/tensor.h"

using namespace tapeformer;

namespace {

// 0, 1, 2, …
template <class T = double>
Tensor counting(const Dims& sizes) {
  const Tensor tensor = Tensor::empty(sizes, dtype_of<T>());
  const std::span<T> values = tensor.span<T>();
  std::iota(values.begin(), values.end(), T{0});
  return tensor;
}

using Doubles = std::vector<double>;

}  // namespace

TEST_CASE("tensor: created from values, as zeros, or filled with one value") {
  CHECK(Tensor::from<float>({1, 2, 3, 4}, {2, 2}).to_vector<float>() == std::vector<float>{1, 2, 3, 4});
  CHECK(Tensor::zeros({3}, DType::f64).to_vector<double>() == Doubles{0, 0, 0});
  CHECK(Tensor::full({2, 1}, DType::i32, 7).to_vector<std::int32_t>() == std::vector<std::int32_t>{7, 7});
  CHECK(Tensor::scalar(2.5, DType::f32).sizes() == Dims{});
  CHECK(Tensor::scalar(2.5, DType::f32).item() == 2.5);
  CHECK(Tensor::from<std::int32_t>({-3}, {1, 1}).item() == -3);
  CHECK_FALSE(Tensor().defined());
  const Tensor tensor = Tensor::empty({2, 0, 3}, DType::f64);
  CHECK(tensor.defined());
  CHECK(tensor.numel() == 0);
  CHECK(tensor.to_vector<double>().empty());
  CHECK(counting({2, 3}).bytes() == 48);
  CHECK(counting({2, 3}).size(-1) == 3);
}

TEST_CASE("tensor: views share storage, copies do not") {
  const Tensor base = counting({2, 3, 4});
  const Tensor views[] = {
      base.transpose(0, 2),      base.permute({1, 2, 0}), base.slice(1, 0, 3, 2), base.slice(2, 1, 2),
      base.expand({5, 2, 3, 4}), base.reshape({6, 4}),    base.contiguous(),      base.transpose(0, 1).transpose(0, 1)};
  for (const Tensor& view : views) CHECK(view.shares_storage_with(base));
  const Tensor transposed = base.transpose(0, 2);
  for (const Tensor& copy :
       {base.clone(), transposed.clone(), transposed.contiguous(), transposed.reshape({24}), base.to(DType::f32)}) {
    CHECK_FALSE(copy.shares_storage_with(base));
    CHECK(copy.is_contiguous());
  }
  CHECK(base.to(DType::f64).shares_storage_with(base));
  // A value that is written through a view appears in the base.
  base.slice(0, 1, 2).slice(1, 2, 3).fill(-1);
  CHECK(base.slice(0, 1, 2).to_vector<double>() == Doubles{12, 13, 14, 15, 16, 17, 18, 19, -1, -1, -1, -1});
}

TEST_CASE("tensor: owns_storage_alone counts the handles of the storage") {
  Tensor tensor = counting({4});
  CHECK(tensor.owns_storage_alone());
  {
    const Tensor view = tensor.slice(0, 0, 1);
    CHECK_FALSE(tensor.owns_storage_alone());
  }
  CHECK(tensor.owns_storage_alone());
}

TEST_CASE("tensor: values of views in row-major order") {
  const Tensor base = counting({2, 3});
  CHECK(base.transpose(0, 1).to_vector<double>() == Doubles{0, 3, 1, 4, 2, 5});
  CHECK(base.slice(1, 0, 3, 2).to_vector<double>() == Doubles{0, 2, 3, 5});
  CHECK(base.slice(0, 1, 2).expand({2, 2, 3}).to_vector<double>() == Doubles{3, 4, 5, 3, 4, 5, 3, 4, 5, 3, 4, 5});
  CHECK(base.transpose(0, 1).reshape({2, 3}).to_vector<double>() == Doubles{0, 3, 1, 4, 2, 5});
  CHECK(base.slice(0, 1, 2).slice(1, 2, 3).item() == 5);
  CHECK(base.slice(0, 1, 2).data<double>() == base.data<double>() + 3);
  CHECK(base.slice(0, 1, 2).storage_data<double>() == base.data<double>());
}

TEST_CASE("tensor: large copies of every layout") {
  const Tensor base = counting({70, 33, 40});
  for (const Dims& order : {Dims{0, 1, 2}, Dims{2, 1, 0}, Dims{1, 0, 2}, Dims{2, 0, 1}, Dims{0, 2, 1}}) {
    const Tensor view = base.permute(order), copy = view.clone();
    const Dims strides = view.layout().strides;
    const double* values = copy.data<double>();
    int wrong = 0;
    for (std::int64_t i = 0; i < view.size(0); ++i) {
      for (std::int64_t j = 0; j < view.size(1); ++j) {
        for (std::int64_t k = 0; k < view.size(2); ++k) {
          wrong += *values++ != static_cast<double>(i * strides[0] + j * strides[1] + k * strides[2]);
        }
      }
    }
    CHECK(wrong == 0);
    const Tensor back = Tensor::zeros({70, 33, 40}, DType::f64);
    back.permute(order).copy_from(copy);
    CHECK(back.to_vector<double>() == base.to_vector<double>());
  }
}

TEST_CASE("tensor: copy_from and add_from write strided views and nothing else") {
  const Tensor base = Tensor::full({3, 4}, DType::f64, -1);
  const Tensor view = base.slice(0, 0, 3, 2).slice(1, 1, 4, 2).transpose(0, 1);  // (2, 2)
  view.copy_from(Tensor::from<double>({1, 2, 3, 4}, {2, 2}));
  CHECK(base.to_vector<double>() == Doubles{-1, 1, -1, 3, -1, -1, -1, -1, -1, 2, -1, 4});
  view.add_from(Tensor::from<double>({10, 30, 20, 40}, {2, 2}).transpose(0, 1));
  CHECK(base.to_vector<double>() == Doubles{-1, 11, -1, 33, -1, -1, -1, -1, -1, 22, -1, 44});
  base.add_from(Tensor::scalar(1, DType::f64).expand({3, 4}));
  CHECK(base.to_vector<double>() == Doubles{0, 12, 0, 34, 0, 0, 0, 0, 0, 23, 0, 45});
  base.copy_from(counting({4, 3}).transpose(0, 1));
  CHECK(base.to_vector<double>() == Doubles{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11});
  // NaN in the memory is overwritten and not read.
  const Tensor garbage = Tensor::full({2, 2}, DType::f64, NAN);
  garbage.transpose(0, 1).copy_from(counting({2, 2}));
  CHECK(garbage.to_vector<double>() == Doubles{0, 2, 1, 3});
  const Tensor ids = counting<std::int32_t>({2, 3});
  ids.slice(1, 0, 2).copy_from(ids.slice(1, 1, 3).clone());
  CHECK(ids.to_vector<std::int32_t>() == std::vector<std::int32_t>{1, 2, 2, 4, 5, 5});
}

TEST_CASE("tensor: conversion between dtypes") {
  const Tensor x = Tensor::from<double>({0.1, -2.75, 1e-300, 3}, {2, 2});
  CHECK(x.to(DType::f32).to_vector<float>() == std::vector<float>{0.1f, -2.75f, 0, 3});
  const Tensor rounded = x.to(DType::bf16);
  CHECK(rounded.to(DType::f32).to_vector<float>() == std::vector<float>{0.10009765625f, -2.75f, 0, 3});
  CHECK(rounded.transpose(0, 1).to(DType::f64).to_vector<double>() == std::vector<double>{0.10009765625, 0, -2.75, 3});
  CHECK(x.to(DType::i32).to_vector<std::int32_t>() == std::vector<std::int32_t>{0, -2, 0, 3});
  CHECK(x.transpose(0, 1).to(DType::f32).to_vector<float>() == std::vector<float>{0.1f, 0, -2.75f, 3});
  CHECK(counting<std::int32_t>({3}).to(DType::f64).to_vector<double>() == Doubles{0, 1, 2});
}

TEST_CASE("tensor: errors name the expected and the actual value") {
  const Tensor x = counting({2, 3});
  CHECK_THROWS_WITH_AS(Tensor::from<float>({1, 2}, {3}), "from: 2 values for shape (3), which has 3", Error);
  CHECK_THROWS_WITH_AS(Tensor::empty({2, -1}, DType::f32), "empty: shape (2, -1) has a negative size", Error);
  CHECK_THROWS_WITH_AS(x.item(), "item: the tensor (2, 3) has 6 elements, expected 1", Error);
  CHECK_THROWS_WITH_AS(x.data<float>(), "data: asked for f32, the tensor is f64", Error);
  CHECK_THROWS_WITH_AS(x.to_vector<std::int32_t>(), "data: asked for i32, the tensor is f64", Error);
  CHECK_THROWS_WITH_AS(Tensor().data<float>(), "data: the tensor is undefined", Error);
  CHECK_THROWS_WITH_AS(Tensor().to_vector<float>(), "data: the tensor is undefined", Error);
  CHECK_THROWS_WITH_AS(x.transpose(0, 1).span<double>(), "span: the tensor (3, 2) is not contiguous", Error);
  CHECK_THROWS_WITH_AS(x.transpose(0, 1).fill(1), "fill: the tensor (3, 2) is not contiguous", Error);
  CHECK_THROWS_WITH_AS(x.copy_from(counting({3, 2})), "copy_from: expected (2, 3) f64, got (3, 2) f64", Error);
  CHECK_THROWS_WITH_AS(x.copy_from(counting<float>({2, 3})), "copy_from: expected (2, 3) f64, got (2, 3) f32", Error);
  CHECK_THROWS_WITH_AS(x.add_from(counting({6})), "add_from: expected (2, 3) f64, got (6) f64", Error);
  CHECK_THROWS_AS(counting<std::int32_t>({2}).add_from(counting<std::int32_t>({2})), Error);
  CHECK_THROWS_AS(x.reshape({5}), Error);
  CHECK_THROWS_AS(Tensor().item(), Error);
  CHECK_THROWS_WITH_AS(Tensor().fill(0), "data: the tensor is undefined", Error);
  CHECK_THROWS_WITH_AS(Tensor().copy_from(Tensor()), "data: the tensor is undefined", Error);
  // The product of the sizes, or the bytes, would be 0 or a few in 64 bits.
  for (const Dims& sizes : {Dims{std::int64_t{1} << 32, std::int64_t{1} << 32}, Dims{(std::int64_t{1} << 62) + 4}}) {
    CHECK_THROWS_WITH_AS(Tensor::empty(sizes, DType::f32),
                         doctest::Contains("more elements than a machine can address"), Error);
  }
  CHECK_THROWS_AS(Tensor().clone(), Error);
}
