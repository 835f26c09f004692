// A strided, typed view of shared storage. Gradients belong to autograd/tape.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "autograd/tensor/dtype.h"
#include "autograd/tensor/layout.h"

namespace tapeformer {

// A block of memory from the caching allocator, 64-byte aligned and uninitialised. It is returned when the last Tensor
// that views it is gone.
class Storage {
 public:
  explicit Storage(std::int64_t bytes);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  void* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  // How often mark_changed() was called.
  std::int64_t version() const { return version_; }
  void mark_changed() { ++version_; }

 private:
  std::int64_t bytes_;
  void* data_;
  std::int64_t version_ = 0;
};

// The version of a tensor's storage at one moment. It does not keep the storage alive. An op that has saved a tensor
// for backward can tell by it whether the tensor was written since.
class StorageState {
 public:
  StorageState() = default;
  explicit StorageState(const std::shared_ptr<Storage>& storage)
      : storage_(storage), version_(storage ? storage->version() : 0) {}
  // False too if the storage is gone: then nobody has saved it.
  bool changed() const {
    const std::shared_ptr<Storage> storage = storage_.lock();
    return storage && storage->version() != version_;
  }

 private:
  std::weak_ptr<Storage> storage_;
  std::int64_t version_ = 0;
};

// A handle: copying a Tensor copies no elements, and views (transpose, slice, …) share the storage. So `const` protects
// the handle (which storage, which layout) and not the elements, as in PyTorch or a const shared_ptr: a const Tensor
// can be written through data() and fill().
class Tensor {
 public:
  Tensor() = default;  // undefined: no storage
  // Uninitialised. Throws Error for q8_0 if a row has no whole blocks, and if the bytes are too many for an int64.
  static Tensor empty(const Dims& sizes, DType dtype);
  static Tensor zeros(const Dims& sizes, DType dtype);
  static Tensor full(const Dims& sizes, DType dtype, double value);
  static Tensor scalar(double value, DType dtype) { return full({}, dtype, value); }
  // Copies the values in row-major order. Throws Error when their number does not fit.
  template <class T>
  static Tensor from(std::span<const T> values, const Dims& sizes);
  template <class T>
  static Tensor from(std::initializer_list<T> values, const Dims& sizes) {
    return from(std::span<const T>(values.begin(), values.size()), sizes);
  }

  bool defined() const { return storage_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Layout& layout() const { return layout_; }
  const Dims& sizes() const { return layout_.sizes; }
  // The size of an axis, counted from the end when negative.
  std::int64_t size(int axis) const { return layout_.sizes[layout_.axis(axis, "size")]; }
  int rank() const { return layout_.rank(); }
  std::int64_t numel() const { return layout_.numel(); }
  std::int64_t bytes() const { return bytes_of(dtype_, numel()); }
  bool is_contiguous() const { return layout_.is_contiguous(); }

  // The first element of the view. Throws Error when T is not the dtype.
  template <class T>
  T* data() const {
    check_dtype(dtype_of<T>());
    return static_cast<T*>(storage_->data()) + layout_.offset;
  }
  // The start of the storage, for kernels that take a Layout with its offset.
  template <class T>
  T* storage_data() const {
    check_dtype(dtype_of<T>());
    return static_cast<T*>(storage_->data());
  }
  // The elements of a tensor of q8_0. Throws Error for a part of one.
  kernels::Q8Rows q8_rows() const;
  // The elements of a contiguous tensor.
  template <class T>
  std::span<T> span() const {
    check(is_contiguous(), "span: the tensor ", sizes(), " is not contiguous");
    return {data<T>(), static_cast<std::size_t>(numel())};
  }
  template <class T>
  std::vector<T> to_vector() const;  // a copy in row-major order
  double item() const;               // the value of a tensor of one element, which is f32, f64 or i32

  // Views. Errors as in Layout.
  Tensor view(const Layout& layout) const;
  Tensor transpose(int a, int b) const { return view(layout_.transpose(a, b)); }
  Tensor permute(const Dims& order) const { return view(layout_.permute(order)); }
  Tensor slice(int axis, std::int64_t start, std::int64_t stop, std::int64_t step = 1) const {
    return view(layout_.slice(axis, start, stop, step));
  }
  Tensor expand(const Dims& sizes) const { return view(layout_.expand(sizes)); }
  // A view where the layout allows it, a copy otherwise.
  Tensor reshape(const Dims& sizes) const;
  Tensor contiguous() const;  // itself when contiguous, a copy otherwise
  Tensor clone() const;       // always a contiguous copy
  // Converts the elements; from and to bf16 and q8_0 by way of f32.
  Tensor to(DType dtype) const;

  // Sets every element of a contiguous tensor; those of bf16 and u8 can only be set to 0.
  void fill(double value) const;
  // Copies the elements of a tensor of the same sizes and dtype into this view, which is contiguous for bf16 and u8.
  void copy_from(const Tensor& source) const;
  // Adds the elements of such a tensor to this view, in which no two elements may share a place. Floating dtypes only.
  void add_from(const Tensor& source) const;

  // Must be called by code that writes through data() into a tensor that others may have saved. fill(), copy_from() and
  // add_from() call it.
  void mark_changed() const {
    check(storage_ != nullptr, "data: the tensor is undefined");
    storage_->mark_changed();
  }
  StorageState storage_state() const { return StorageState(storage_); }

  bool shares_storage_with(const Tensor& other) const { return storage_ == other.storage_; }
  // No other Tensor holds this storage: writing in place disturbs nobody.
  bool owns_storage_alone() const { return storage_.use_count() == 1; }

 private:
  void check_dtype(DType expected) const {
    check(storage_ != nullptr, "data: the tensor is undefined");
    check(expected == dtype_, "data: asked for ", expected, ", the tensor is ", dtype_);
  }

  std::shared_ptr<Storage> storage_;
  Layout layout_;
  DType dtype_ = DType::f32;
};

}  // namespace tapeformer
