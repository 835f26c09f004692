#include "autograd/tensor/tensor.h"

#include <algorithm>
#include <cstring>

#include "autograd/kernels/elementwise/bf16_numbers.h"
#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/tensor/allocator.h"
#include "autograd/tensor/strided_copy.h"

namespace tapeformer {

Storage::Storage(std::int64_t bytes) : bytes_(bytes), data_(detail::allocate(bytes)) {}
Storage::~Storage() { detail::deallocate(data_, bytes_); }

Tensor Tensor::empty(const Dims& sizes, DType dtype) {
  for (std::int64_t size : sizes) check(size >= 0, "empty: shape ", sizes, " has a negative size");
  check(dtype != DType::q8_0 || (!sizes.empty() && sizes.back() % kernels::kQ8Block == 0), "empty: shape ", sizes,
        " of q8_0: expected rows of blocks of ", kernels::kQ8Block);
  Tensor tensor;
  std::int64_t bytes = 16;  // more than those of any number, since the allocator rounds up
  for (std::int64_t size : sizes) {
    check(!__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes), "empty: shape ", sizes,
          " has more elements than a machine can address");
  }
  tensor.layout_ = Layout::contiguous(sizes);
  tensor.dtype_ = dtype;
  tensor.storage_ = std::make_shared<Storage>(tensor.bytes());
  return tensor;
}

Tensor Tensor::zeros(const Dims& sizes, DType dtype) { return full(sizes, dtype, 0); }

Tensor Tensor::full(const Dims& sizes, DType dtype, double value) {
  Tensor tensor = empty(sizes, dtype);
  tensor.fill(value);
  return tensor;
}

template <class T>
Tensor Tensor::from(std::span<const T> values, const Dims& sizes) {
  check(static_cast<std::int64_t>(values.size()) == sizes.product(), "from: ", values.size(), " values for shape ",
        sizes, ", which has ", sizes.product());
  Tensor tensor = empty(sizes, dtype_of<T>());
  std::copy(values.begin(), values.end(), tensor.data<T>());
  return tensor;
}
template Tensor Tensor::from(std::span<const float>, const Dims&);
template Tensor Tensor::from(std::span<const double>, const Dims&);
template Tensor Tensor::from(std::span<const std::int32_t>, const Dims&);

template <class T>
std::vector<T> Tensor::to_vector() const {
  std::vector<T> values(numel());
  check_dtype(dtype_of<T>());
  copy_to_contiguous(values.data(), storage_data<T>(), layout_);
  return values;
}
template std::vector<float> Tensor::to_vector() const;
template std::vector<double> Tensor::to_vector() const;
template std::vector<std::int32_t> Tensor::to_vector() const;
template std::vector<kernels::Bf16> Tensor::to_vector() const;
template std::vector<std::uint8_t> Tensor::to_vector() const;

kernels::Q8Rows Tensor::q8_rows() const {
  std::int8_t* const values = data<std::int8_t>();
  check(is_contiguous() && bytes() == storage_->bytes(), "q8_0: expected a whole tensor, got a part, ", sizes());
  return {values, reinterpret_cast<kernels::F16*>(values + numel())};
}

double Tensor::item() const {
  check(numel() == 1, "item: the tensor ", sizes(), " has ", numel(), " elements, expected 1");
  return dispatch_all(dtype_, [&](auto zero) { return static_cast<double>(*data<decltype(zero)>()); });
}

Tensor Tensor::view(const Layout& layout) const {
  Tensor view = *this;
  view.layout_ = layout;
  return view;
}

Tensor Tensor::reshape(const Dims& sizes) const {
  if (const auto layout = layout_.reshape(sizes)) return view(*layout);
  return clone().reshape(sizes);
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::clone() const {
  Tensor copy = empty(sizes(), dtype_);
  dispatch_stored(dtype_, [&](auto zero) {
    using T = decltype(zero);
    copy_to_contiguous(copy.data<T>(), storage_data<T>(), layout_);
  });
  return copy;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  const Tensor source = contiguous();
  Tensor converted = empty(sizes(), dtype);
  const auto is_coded = [](DType some) { return some == DType::bf16 || some == DType::q8_0; };
  if (is_coded(dtype_)) {
    if (dtype != DType::f32) return to(DType::f32).to(dtype);
    if (dtype_ == DType::bf16) kernels::widen_all(converted.data<float>(), source.data<kernels::Bf16>(), numel());
    if (dtype_ == DType::q8_0) kernels::dequantize_q8(converted.data<float>(), source.q8_rows(), numel());
    return converted;
  }
  if (is_coded(dtype)) {
    if (dtype_ != DType::f32) return to(DType::f32).to(dtype);
    if (dtype == DType::bf16)
      kernels::round_all_to_bf16(converted.data<kernels::Bf16>(), source.data<float>(), numel());
    if (dtype == DType::q8_0) kernels::quantize_q8(converted.q8_rows(), source.data<float>(), numel());
    return converted;
  }
  dispatch_all(dtype_, [&](auto from) {
    dispatch_all(dtype, [&](auto to) {
      std::ranges::transform(source.span<decltype(from)>(), converted.data<decltype(to)>(),
                             [](auto value) { return static_cast<decltype(to)>(value); });
    });
  });
  return converted;
}

void Tensor::fill(double value) const {
  check(is_contiguous(), "fill: the tensor ", sizes(), " is not contiguous");
  mark_changed();
  dispatch_stored(dtype_, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, kernels::Bf16> || std::is_same_v<T, std::uint8_t>) {
      check(value == 0, "fill: a tensor of ", dtype_, " can be filled with 0 only, got ", value);
      std::fill_n(data<T>(), numel(), T{0});
    } else {
      kernels::fill(data<T>(), static_cast<T>(value), numel());
    }
  });
}

void Tensor::copy_from(const Tensor& source) const {
  check(sizes() == source.sizes() && dtype_ == source.dtype_, "copy_from: expected ", sizes(), " ", dtype_, ", got ",
        source.sizes(), " ", source.dtype_);
  mark_changed();
  if (is_contiguous()) {
    dispatch_stored(dtype_,
                    [&]<class T>(T) { copy_to_contiguous(data<T>(), source.storage_data<T>(), source.layout_); });
  } else {
    dispatch_all(dtype_, [&]<class T>(T) {
      accumulate_strided(storage_data<T>(), layout_, source.contiguous().data<T>(), T{0});
    });
  }
}

void Tensor::add_from(const Tensor& source) const {
  check(sizes() == source.sizes() && dtype_ == source.dtype_, "add_from: expected ", sizes(), " ", dtype_, ", got ",
        source.sizes(), " ", source.dtype_);
  mark_changed();
  const Tensor values = source.contiguous();
  dispatch_floating(dtype_, [&](auto zero) {
    using T = decltype(zero);
    if (is_contiguous()) {
      kernels::add(data<T>(), data<T>(), values.data<T>(), numel());
    } else {
      accumulate_strided(storage_data<T>(), layout_, values.data<T>(), T{1});
    }
  });
}

}  // namespace tapeformer
